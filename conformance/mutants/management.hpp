// Messages of connection management, as filters see them leave. Inside the room only.
//
// Source: rules N-30, CM-01, CM-06, CM-09.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dissector/wire/bytes.hpp"
#include "dissector/wire/management.hpp"
#include "dissector/wire/packet.hpp"
#include "transport/engine/surface_filter.hpp"

namespace veriroce::mutants {

// Attributes of messages that answer others.
inline constexpr std::uint16_t kMra = 0x11;
inline constexpr std::uint16_t kRej = 0x12;
inline constexpr std::uint16_t kRep = 0x13;
inline constexpr std::uint16_t kDrep = 0x16;
inline constexpr std::uint16_t kSidrRep = 0x18;

// A transaction ID of 32 bits: the upper half is zero in messages with one of these attributes; in
// all of QP 1 if none is given.
template <std::uint16_t... Attributes>
void lose_upper_half_of_transaction(const wire::Packet& packet, engine::OwnedDatagram& datagram) {
    constexpr std::size_t class_at = 1;
    constexpr std::size_t transaction_at = 8;
    constexpr std::size_t attribute_at = 16;
    const bool management = packet.info().service == wire::Service::Ud &&
                            packet.deth.source_qp == wire::kGsiQpn &&
                            packet.body.size() == wire::kMadBytes;
    if (!management) return;
    if constexpr (sizeof...(Attributes) > 0) {
        if (wire::load_u8(packet.body, class_at) != wire::kCmClass) return;
        const std::uint16_t attribute = wire::load_u16(packet.body, attribute_at);
        if (((attribute != Attributes) && ...)) return;
    }
    wire::store_be<4>(datagram.bytes, packet.header_bytes() + transaction_at, 0);
}

} // namespace veriroce::mutants
