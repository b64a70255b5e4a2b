#include "transport/engine/datagram.hpp"

#include "transport/engine/grh.hpp"
#include "transport/engine/qp_states.hpp"
#include "transport/engine/scatter.hpp"

namespace veriroce::engine {

namespace {

void take(Device& device, Qp& qp, const PacketView& packet, std::size_t transport_bytes) {
    const ReceiveWork& work = *next_receive(qp);
    const PdId domain = receive_domain(qp);
    const wire::Bytes payload = packet.packet.payload();
    const std::uint64_t bytes = kGrhBytes + payload.size();
    const auto grh = grh_of(packet.envelope, transport_bytes);
    const bool placed =
        reachable(device.memory, domain, work.sges, 0, bytes, Direction::ToMemory) &&
        scatter(device.memory, domain, work.sges, 0, grh) &&
        scatter(device.memory, domain, work.sges, kGrhBytes, payload);
    if (!placed) { // KEY-12
        fail_receive(device, qp, WcStatus::LocProtErr);
        enter_error(device, qp);
        return;
    }
    Completion completion{.id = take_receive(device, qp)->id,
                          .opcode = WcOpcode::Recv,
                          .byte_len = static_cast<std::uint32_t>(bytes),
                          .source_qp = packet.packet.deth.source_qp,
                          .vlan = packet.envelope.vlan,
                          .grh = true};
    if (packet.info.immediate()) completion.imm = packet.packet.imm.value;
    deliver(device, qp, Queue::Receive, completion, packet.packet.bth.solicited);
}

} // namespace

void handle_datagram(Device& device, Qp& qp, const PacketView& packet) {
    const ReceiveWork* const work = next_receive(qp);
    const bool ready = work != nullptr;
    const DatagramView view{packet, ready, ready ? work->bytes : 0,
                            wire::bytes_of(device.config.port_mtu)};
    const auto refused_by = device.checks.refused_by(view);
    if (refused_by == DatagramCheck::Qkey) ++device.counters.bad_qkey;
    if (refused_by) {
        device.drop(*refused_by, packet.packet.bth, packet.now);
        return;
    }
    if (!ready) { // a planted defect let it through
        device.drop(DropReason::NoReceiveLeft, packet.packet.bth, packet.now);
        return;
    }
    take(device, qp, packet, packet.packet.header_bytes() + packet.packet.body.size());
}

namespace {

// The datagram as this QP receives it. It does not cause a CNP, because CNPs go from QP to QP.
void handle_copy(Device& device, Qp& qp, const wire::Envelope& envelope, const wire::Packet& packet,
                 wire::Instant now) {
    const PacketView view{envelope,
                          packet,
                          packet.info(),
                          qp.connection,
                          device.config.behaviour,
                          device.config.pkeys,
                          now};
    if (const auto refused_by = device.checks.refused_by(view)) {
        if (*refused_by == PacketCheck::Pkey) ++device.counters.bad_pkey;
        device.drop(*refused_by, packet.bth, now);
        return;
    }
    handle_datagram(device, qp, view);
}

} // namespace

void handle_multicast(Device& device, const wire::Envelope& envelope, const wire::Packet& packet,
                      wire::Instant now) {
    bool heard = false;
    if (packet.info().service == wire::Service::Ud) { // BTH-04
        device.groups.for_each_of(envelope.destination, [&](QpId qp) {
            heard = true;
            handle_copy(device, *device.find(qp), envelope, packet, now); // attached QPs exist
        });
    }
    if (!heard) device.drop(DropReason::UnknownGroup, packet.bth, now);
}

} // namespace veriroce::engine
