#include "conformance/model/checked_rules.hpp"

#include <array>

namespace veriroce::model {
namespace {

constexpr auto kRules = std::to_array<std::string_view>(
    {"ENC-02",  "ENC-05",  "ENC-11",  "ENC-12",  "ENC-13",  "ENC-14",  "CRC-07",  "BTH-01",
     "BTH-05",  "BTH-06",  "BTH-07",  "BTH-08",  "BTH-09",  "BTH-14",  "BTH-15",  "BTH-16",
     "BTH-18",  "BTH-19",  "STA-02",  "STA-03",  "STA-04",  "STA-06",  "STA-07",  "STA-08",
     "STA-09",  "STA-12",  "RSP-01",  "RSP-02",  "RSP-15",  "OPC-03",  "OPC-04",  "OPC-05",
     "OPC-10",  "LEN-01",  "LEN-02",  "LEN-03",  "LEN-04",  "LEN-05",  "LEN-06",  "LEN-10",
     "KEY-01",  "KEY-02",  "KEY-03",  "KEY-04",  "KEY-05",  "KEY-12",  "KEY-13",  "KEY-14",
     "RNR-01",  "RNR-07",  "RNR-08",  "RNR-09",  "RDR-01",  "RDR-02",  "RDR-03",  "RDR-11",
     "RDR-14",  "ATM-01",  "ATM-02",  "ATM-04",  "ATM-10",  "ACK-01",  "ACK-04",  "ACK-06",
     "ACK-07",  "ACK-08",  "ACK-10",  "REQ-01",  "REQ-03",  "REQ-11",  "REQ-16",  "REQ-20",
     "REQ-27",  "REQ-28",  "REQ-31",  "REQ-34",  "TMO-01",  "TMO-02",  "TMO-03",  "TMO-06",
     "CNP-01",  "CNP-02",  "CNP-04",  "CNP-06",  "CNP-10",  "CM-05",   "EXT-03",  "EXT-05",
     "EXT-06",  "N-03",    "N-05",    "N-07",    "N-13",    "N-15",    "N-16",    "N-18",
     "N-20",    "N-21",    "N-24",    "N-25",    "N-30",    "CA17-2",  "CA17-3",  "CA17-5",
     "CA17-6",  "CA17-7",  "CA17-8",  "CA17-9",  "CA17-11", "CA17-12", "CA17-14", "CA17-15",
     "CA17-17", "CA17-18", "CA17-19", "CA17-21", "CA17-29", "CA17-45"});

} // namespace

std::span<const std::string_view> checked_rules() {
    return kRules;
}

} // namespace veriroce::model
