// What every packet must pass before its role is asked for.
#include "transport/engine/checks.hpp"

namespace veriroce::engine::packet_check {

// BTH-01
bool transport_version(const PacketView& view) {
    return view.packet.bth.version == 0;
}

// BTH-05: bits 7:5 of the opcode are the service; reserved codes inside a service pass. A CNP
// belongs to every service.
bool service(const PacketView& view) {
    if (view.packet.bth.opcode == wire::kCnpOpcode) return true;
    const unsigned bits = view.packet.bth.opcode >> 5U;
    switch (view.connection.type) {
    case QpType::Rc: return bits == 0;
    case QpType::Uc: return bits == 1;
    case QpType::Ud: return bits == 3;
    }
    return false;
}

// BTH-07: the low 15 bits are equal and not zero, and one side at least is a full member.
bool pkey(const PacketView& view) {
    constexpr std::uint16_t key_bits = 0x7FFF;
    constexpr std::uint16_t full_member = 0x8000;
    const std::uint16_t theirs = view.packet.bth.pkey.value;
    const std::uint16_t ours = view.connection.pkey.value;
    return (theirs & key_bits) == (ours & key_bits) && (theirs & key_bits) != 0 &&
           ((theirs | ours) & full_member) != 0;
}

// ENC-14: a connected QP hears its peer only.
bool source_address(const PacketView& view) {
    return view.connection.type == QpType::Ud ||
           view.envelope.source == view.connection.address.destination;
}

// ENC-13, ENC-14: and at its own address only.
bool destination_address(const PacketView& view) {
    return view.connection.type == QpType::Ud ||
           view.envelope.destination == view.connection.address.source;
}

} // namespace veriroce::engine::packet_check
