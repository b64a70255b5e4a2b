#include "conformance/cases/without_case.hpp"

#include <array>

namespace veriroce::cases {
namespace {

constexpr std::array kRows{
    WithoutCase{"messages of connection management that hosts hardly send: options of vendors, "
                "suggestions of alternate paths",
                "CM-14 CA17-38"},
    WithoutCase{
        "more load than the `load` cases make: storms, thousands of QPs, messages of 2^31 bytes",
        "LEN-11 REQ-02 ROB-06 ROB-07 ROB-08"},
    WithoutCase{"a figure to hold a device to: the data sheet measures what CNPs do to a sender",
                "CA17-46"},
    WithoutCase{"nothing: `veriroce test --explore` mutates flows from a seed and shrinks failures",
                "ROB-09"},
    WithoutCase{"nothing: the judge checks these rules in the traffic of every case",
                "CRC-01 CRC-10 ROB-04"},
    WithoutCase{"nothing: the model checks the flags of each IP header (CA17-8)", "LEN-13"},
    WithoutCase{"nothing: the model checks these rules in every case", "ACK-10 ENC-02"},
    WithoutCase{"a look at the device's memory at the instant of an ACK: an agent is too slow",
                "ACK-05"},
    WithoutCase{"nothing: the rule about unexpected responses says the same", "STA-05"},
    WithoutCase{"the device's ACK delay as a number that a line can compare", "TMO-07"},
    WithoutCase{"nothing: without it no case would understand a packet",
                "CA17-1 CA17-10 CA17-16 CA17-25"},
    WithoutCase{"nothing: they name checks that have rules of their own (ENC, CRC, BTH)",
                "CA17-23 CA17-39"},
    WithoutCase{"a host: they are about GID tables, verbs, and QPs that no RC packet reaches",
                "CA17-26 CA17-28 CA17-30 CA17-31 CA17-32 CA17-40 CA17-42 CA17-43"},
};

} // namespace

std::span<const WithoutCase> rules_without_case() {
    return kRows;
}

} // namespace veriroce::cases
