#include "transport/engine/packet_checks.hpp"

#include "dissector/wire/management.hpp"

#include <algorithm>

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

namespace {

constexpr std::uint16_t kFullMember = 0x8000;

// The low 15 bits are equal and not zero, and one side at least is a full member.
bool members(wire::Pkey a, wire::Pkey b) {
    constexpr std::uint16_t key_bits = 0x7FFF;
    return (a.value & key_bits) == (b.value & key_bits) && (a.value & key_bits) != 0 &&
           ((a.value | b.value) & kFullMember) != 0;
}

} // namespace

// BTH-07. N-30: QP1 accepts every P_Key that matches one of the port.
bool pkey(const PacketView& view) {
    const wire::Pkey theirs = view.packet.bth.pkey;
    const wire::Pkey ours =
        view.by_alternate() ? view.connection.alternate->pkey : view.connection.pkey;
    if (view.behaviour.pkey_match == PkeyMatch::Exact) return theirs == ours;
    if (view.connection.qpn == wire::kGsiQpn && !view.pkeys.empty()) {
        return std::ranges::any_of(view.pkeys,
                                   [theirs](wire::Pkey one) { return members(one, theirs); });
    }
    return members(ours, theirs);
}

// ENC-14: a connected QP hears its peer only.
bool source_address(const PacketView& view) {
    return view.connection.type == QpType::Ud || view.envelope.source == view.path().destination;
}

// ENC-13, ENC-14: and at its own address only.
bool destination_address(const PacketView& view) {
    return view.connection.type == QpType::Ud || view.envelope.destination == view.path().source;
}

// N-05: and in its own VLAN only; VLAN 0 is a priority and no VLAN.
bool vlan(const PacketView& view) {
    if (view.connection.type == QpType::Ud || !view.behaviour.vlan_checked) return true;
    constexpr wire::VlanId none;
    return view.envelope.vlan.value_or(none).id == view.path().vlan.value_or(none).id;
}

} // namespace veriroce::engine::packet_check
