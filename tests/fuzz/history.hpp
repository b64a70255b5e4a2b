// Any bytes are a history: each twenty of them a packet of one of a few QPs, with any opcode, PSN,
// length, syndrome and MSN.
#pragma once

#include <algorithm>
#include <vector>

#include "dissector/flow/packet.hpp"

namespace veriroce::fuzz {

inline constexpr std::size_t kPacketBytes = 20;
inline constexpr std::size_t kMaxPackets = 2000;

inline flow::Packet packet_of(wire::Bytes bytes, std::uint64_t number, wire::Bytes body) {
    flow::Packet packet;
    const std::uint8_t flags = wire::load_u8(bytes, 1);
    packet.number = number;
    packet.time = wire::Instant(std::chrono::microseconds(number * wire::load_u8(bytes, 2)));
    packet.source = wire::IpAddress::from_v4(1 + (flags & 1));
    packet.destination = wire::IpAddress::from_v4(2 - (flags & 1));
    packet.source_port = flags >> 7;
    packet.integrity = static_cast<flow::Integrity>((flags >> 1 & 3) % 3);
    wire::Packet& transport = packet.transport;
    transport.bth.opcode = wire::load_u8(bytes, 0);
    transport.headers = transport.info().headers;
    transport.bth.dest_qp = {static_cast<std::uint32_t>(flags >> 3 & 3)};
    transport.bth.psn = wire::Psn(wire::load_u24(bytes, 3));
    transport.bth.ack_request = (flags & 0x20) != 0;
    transport.bth.pad = flags >> 5 & 3;
    transport.aeth = {.syndrome = {wire::load_u8(bytes, 6)}, .msn = {wire::load_u24(bytes, 7)}};
    transport.reth = {.virtual_address = wire::load_u16(bytes, 10),
                      .rkey = {wire::load_u8(bytes, 12)},
                      .dma_length = wire::load_u32(bytes, 13)};
    transport.atomic.virtual_address = transport.reth.virtual_address;
    transport.atomic_ack.original = wire::load_u8(bytes, 12);
    packet.body_bytes = wire::load_u16(bytes, 17) & 0x1FFF;
    transport.body =
        body.first(std::min<std::size_t>(packet.body_bytes, wire::load_u8(bytes, 19) * 8));
    return packet;
}

// All packets of a history, one after the other.
template <typename Take>
std::uint64_t each_packet(wire::Bytes bytes, Take take) {
    static const std::vector<std::byte> body(0x2000, std::byte{7});
    std::uint64_t number = 0;
    for (; bytes.size() >= kPacketBytes && number < kMaxPackets;
         bytes = bytes.subspan(kPacketBytes)) {
        take(packet_of(bytes.first(kPacketBytes), ++number, body));
    }
    return number;
}

} // namespace veriroce::fuzz
