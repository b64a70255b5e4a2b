// Words for values that several readers print alike.
#pragma once

#include <cstdint>
#include <string_view>

namespace veriroce::decode {

// What a NAK code says, in Wireshark's words: "Remote Access Error"; "Reserved" for codes above 4.
constexpr std::string_view nak_text(std::uint64_t code) {
    switch (code) {
    case 0: return "PSN Sequence Error";
    case 1: return "Invalid Request";
    case 2: return "Remote Access Error";
    case 3: return "Remote Operational Error";
    case 4: return "Invalid RD Request";
    default: return "Reserved";
    }
}

constexpr std::string_view ether_type_name(std::uint64_t type) {
    switch (type) {
    case 0x0800: return "IPv4";
    case 0x0806: return "ARP";
    case 0x22EB: return "ERSPAN III";
    case 0x6558: return "Transparent Ethernet Bridging";
    case 0x8100: return "802.1Q";
    case 0x86DD: return "IPv6";
    case 0x8808: return "MAC control";
    case 0x8847: return "MPLS";
    case 0x8848: return "MPLS multicast";
    case 0x88A8: return "802.1ad";
    case 0x88BE: return "ERSPAN";
    case 0x8915: return "RoCEv1";
    default: return {};
    }
}

// RDMAP's operation (RFC 5040, RFC 7306).
constexpr std::string_view rdmap_opcode_name(std::uint64_t opcode) {
    switch (opcode) {
    case 0: return "Write";
    case 1: return "Read Request";
    case 2: return "Read Response";
    case 3: return "Send";
    case 4: return "Send with Invalidate";
    case 5: return "Send with SE";
    case 6: return "Send with SE and Invalidate";
    case 7: return "Terminate";
    case 8: return "Immediate Data";
    case 9: return "Immediate Data with SE";
    case 10: return "Atomic Request";
    case 11: return "Atomic Response";
    default: return {};
    }
}

} // namespace veriroce::decode
