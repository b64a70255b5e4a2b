#include "conformance/judge/judged_rules.hpp"

#include <array>

namespace veriroce::judge {
namespace {

constexpr auto kRules = std::to_array<std::string_view>(
    {"ENC-02", "CRC-01", "CRC-07", "CRC-10", "BTH-08", "BTH-09",  "BTH-10",  "BTH-14", "BTH-16",
     "BTH-19", "RSP-02", "RSP-03", "RSP-06", "RSP-07", "RSP-09",  "RSP-10",  "RSP-12", "OPC-03",
     "OPC-04", "OPC-05", "OPC-10", "LEN-01", "LEN-02", "LEN-03",  "LEN-04",  "LEN-05", "LEN-07",
     "LEN-10", "RNR-01", "RNR-04", "RNR-08", "RDR-01", "RDR-02",  "RDR-03",  "RDR-05", "RDR-11",
     "ATM-02", "ATM-04", "ATM-10", "ACK-01", "ACK-04", "ACK-06",  "ACK-07",  "ACK-08", "REQ-01",
     "REQ-02", "REQ-08", "REQ-09", "REQ-10", "REQ-11", "REQ-27",  "REQ-31",  "TMO-01", "CNP-01",
     "CNP-02", "CNP-12", "CM-01",  "CM-02",  "CM-03",  "CM-09",   "CM-13",   "EXT-05", "ROB-04",
     "N-07",   "N-30",   "N-36",   "CA17-3", "CA17-7", "CA17-21", "CA17-35", "CA17-37"});

} // namespace

std::span<const std::string_view> judged_rules() {
    return kRules;
}

} // namespace veriroce::judge
