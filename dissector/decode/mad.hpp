// Management datagrams as a RoCEv2 network has them: the common header's fields that decide what
// follows, and the names of classes, methods and communication management messages.
//
// Source: rules N-30, N-31, CM-01..CM-09; the values are those of Linux's ib_mad.h and ib_cm.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "dissector/decode/dissection.hpp"

#include "dissector/wire/management.hpp"

namespace veriroce::decode {

inline constexpr std::size_t kMadHeaderBytes = 24;
inline constexpr std::uint8_t kSaClass = 0x03;
inline constexpr std::uint16_t kPathRecordAttribute = 0x35;

// The fields of the common header that decide what follows, and the transaction.
struct MadHeader {
    std::uint8_t base_version = 0;
    std::uint8_t management_class = 0;
    std::uint8_t method = 0;
    std::uint64_t transaction = 0;
    std::uint16_t attribute = 0;

    // The first kMadHeaderBytes of `bytes`, which are there.
    static MadHeader read(wire::Bytes bytes) {
        return {.base_version = wire::load_u8(bytes, 0),
                .management_class = wire::load_u8(bytes, 1),
                .method = wire::load_u8(bytes, 3),
                .transaction = wire::load_u64(bytes, 8),
                .attribute = wire::load_u16(bytes, 16)};
    }
};

// Whether the packet carries a management datagram. QP 0 is of native InfiniBand only (BTH-03).
inline bool is_management(const wire::Bth& bth, Protocol protocol) {
    if (wire::opcode_info(bth.opcode).service != wire::Service::Ud) return false;
    return bth.dest_qp == wire::kGsiQpn ||
           (bth.dest_qp == wire::kSmiQpn && protocol == Protocol::InfiniBand);
}

// One message of connection management: which it is, and how many bytes come before its private
// data.
struct CmLayout {
    std::uint16_t attribute = 0;
    LayerKind layer = LayerKind::MadData;
    std::uint16_t bytes = 0;
    std::string_view name; // as Wireshark calls it: "ConnectRequest"
};
// Nothing for an attribute that is not such a message.
const CmLayout* cm_layout(std::uint16_t attribute);

// Why a connection was refused, and the answers of MRA, SIDR_REP and APR; empty for a value without
// a name.
std::string_view cm_reject_reason(std::uint64_t reason);
std::string_view cm_message_answered(std::uint64_t message); // of MRA and REJ
std::string_view cm_sidr_status(std::uint64_t status);
std::string_view cm_alternate_path_status(std::uint64_t status);

// A class in words; "Reserved" for one that no range is for.
std::string_view mad_class_name(std::uint8_t management_class);
// How the standard begins the names of the class's messages: "SubnAdm" of "SubnAdmGet()".
std::string_view mad_class_prefix(std::uint8_t management_class);
// Empty for values without a name.
std::string_view mad_method_name(std::uint8_t method);
// Messages of connection management are in cm_layout.
std::string_view mad_attribute_name(std::uint8_t management_class, std::uint16_t attribute);

} // namespace veriroce::decode
