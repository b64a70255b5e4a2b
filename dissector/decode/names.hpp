// Words for values that several readers print alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "dissector/wire/bytes.hpp"

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

// IP protocols and IPv6 next headers (IANA).
constexpr std::string_view ip_protocol_name(std::uint64_t value) {
    switch (value) {
    case 1: return "ICMP";
    case 4: return "IPv4";
    case 6: return "TCP";
    case 17: return "UDP";
    case 41: return "IPv6";
    case 43: return "IPv6 Routing";
    case 44: return "IPv6 Fragment";
    case 47: return "GRE";
    case 51: return "Authentication Header";
    case 58: return "ICMPv6";
    case 60: return "IPv6 Destination Options";
    default: return {};
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
    case 0x8864: return "PPPoE session";
    case 0x88A8: return "802.1ad";
    case 0x88BE: return "ERSPAN";
    case 0x8915: return "RoCEv1";
    case 0x892F: return "HSR";
    case 0x894F: return "NSH";
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

// What a Terminate message of RDMAP says (RFC 5040 4.8, RFC 5041 7.1, RFC 5044 8).
constexpr std::string_view terminate_layer_name(std::uint64_t layer) {
    switch (layer) {
    case 0: return "RDMAP";
    case 1: return "DDP";
    case 2: return "LLP";
    default: return {};
    }
}
constexpr std::string_view terminate_rdma_type_name(std::uint64_t type) {
    switch (type) {
    case 0: return "Local Catastrophic Error";
    case 1: return "Remote Protection Error";
    case 2: return "Remote Operation Error";
    default: return {};
    }
}
constexpr std::string_view terminate_ddp_type_name(std::uint64_t type) {
    switch (type) {
    case 0: return "Local Catastrophic Error";
    case 1: return "Tagged Buffer Error";
    case 2: return "Untagged Buffer Error";
    case 3: return "of the LLP";
    default: return {};
    }
}
constexpr std::string_view terminate_llp_type_name(std::uint64_t type) {
    return type == 0 ? "MPA Error" : std::string_view{};
}
constexpr std::string_view terminate_rdma_code_name(std::uint64_t code) {
    switch (code) {
    case 0x00: return "Invalid STag";
    case 0x01: return "Base or Bounds Violation";
    case 0x02: return "Access Rights Violation";
    case 0x03: return "STag not Associated with RDMAP Stream";
    case 0x04: return "Tagged Offset Wrap";
    case 0x05: return "Invalid RDMAP Version";
    case 0x06: return "Unexpected Opcode";
    case 0x07: return "Catastrophic Error of the Stream";
    case 0x08: return "Catastrophic Error, Global";
    case 0x09: return "STag cannot be Invalidated";
    case 0xFF: return "Unspecified Error";
    default: return {};
    }
}
constexpr std::string_view terminate_tagged_code_name(std::uint64_t code) {
    switch (code) {
    case 0: return "Invalid STag";
    case 1: return "Base or Bounds Violation";
    case 2: return "STag not Associated with DDP Stream";
    case 3: return "Tagged Offset Wrap";
    case 4: return "Invalid DDP Version";
    default: return {};
    }
}
constexpr std::string_view terminate_untagged_code_name(std::uint64_t code) {
    switch (code) {
    case 1: return "Invalid Queue Number";
    case 2: return "Invalid MSN, no Buffer Available";
    case 3: return "Invalid MSN, out of Range";
    case 4: return "Invalid Message Offset";
    case 5: return "Message too Long for its Buffer";
    case 6: return "Invalid DDP Version";
    default: return {};
    }
}
constexpr std::string_view terminate_llp_code_name(std::uint64_t code) {
    switch (code) {
    case 1: return "TCP Connection Closed, Terminated or Lost";
    case 2: return "MPA CRC Error";
    case 3: return "MPA Marker and Length do not Match";
    case 4: return "Invalid MPA Request or Reply Frame";
    default: return {};
    }
}

// How a Terminate message begins.
struct TerminateControl {
    std::uint8_t layer_and_type = 0;
    std::uint8_t code = 0;

    [[nodiscard]] constexpr unsigned layer() const { return layer_and_type >> 4U; }
    [[nodiscard]] constexpr unsigned type() const { return layer_and_type & 0xFU; }
    static constexpr std::optional<TerminateControl> decode(wire::Bytes bytes) {
        if (bytes.size() < 2) return std::nullopt;
        return TerminateControl{.layer_and_type = wire::load_u8(bytes, 0),
                                .code = wire::load_u8(bytes, 1)};
    }
};

// Which codes the second byte of a Terminate message is one of, by its first, layer and type.
enum class TerminateWords : std::uint8_t { None, Rdma, DdpTagged, DdpUntagged, Llp };
constexpr TerminateWords terminate_words(std::uint8_t layer_and_type) {
    switch (layer_and_type >> 4) {
    case 0: return TerminateWords::Rdma;
    case 1:
        if (layer_and_type == 0x11) return TerminateWords::DdpTagged;
        return layer_and_type == 0x12 ? TerminateWords::DdpUntagged : TerminateWords::None;
    case 2: return TerminateWords::Llp;
    default: return TerminateWords::None;
    }
}
constexpr std::string_view terminate_type_name(std::uint8_t layer_and_type) {
    const unsigned type = layer_and_type & 0xFU;
    switch (layer_and_type >> 4) {
    case 0: return terminate_rdma_type_name(type);
    case 1: return terminate_ddp_type_name(type);
    case 2: return terminate_llp_type_name(type);
    default: return {};
    }
}
constexpr std::string_view terminate_code_name(std::uint8_t layer_and_type, std::uint8_t code) {
    switch (terminate_words(layer_and_type)) {
    case TerminateWords::None: return {};
    case TerminateWords::Rdma: return terminate_rdma_code_name(code);
    case TerminateWords::DdpTagged: return terminate_tagged_code_name(code);
    case TerminateWords::DdpUntagged: return terminate_untagged_code_name(code);
    case TerminateWords::Llp: return terminate_llp_code_name(code);
    }
    return {};
}

} // namespace veriroce::decode
