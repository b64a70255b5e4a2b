// Messages of connection management, as filters see them leave. Inside the room only.
//
// Source: rules N-30, CM-01, CM-06, CM-09.
#pragma once

#include <cstdint>

#include "dissector/wire/bytes.hpp"
#include "dissector/wire/connection_message.hpp"
#include "dissector/wire/management.hpp"
#include "dissector/wire/packet.hpp"
#include "transport/engine/surface_filter.hpp"

namespace veriroce::mutants {

// A transaction ID of 32 bits: the upper half is zero in messages with one of these attributes; in
// all of QP 1 if none is given.
template <std::uint16_t... Attributes>
void lose_upper_half_of_transaction(const wire::Packet& packet, engine::OwnedDatagram& datagram) {
    const bool management = packet.info().service == wire::Service::Ud &&
                            packet.deth.source_qp == wire::kGsiQpn &&
                            packet.body.size() == wire::kMadBytes;
    if (!management) return;
    if constexpr (sizeof...(Attributes) > 0) {
        if (wire::load_u8(packet.body, wire::cm::kClassAt) != wire::kCmClass) return;
        const std::uint16_t attribute = wire::cm::attribute_of(packet.body);
        if (((attribute != Attributes) && ...)) return;
    }
    wire::store_be<4>(datagram.bytes, packet.header_bytes() + wire::cm::kTransactionAt, 0);
}

} // namespace veriroce::mutants
