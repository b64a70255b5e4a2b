// Datagrams in: what passes the checks fills the oldest receive WQE, behind its 40 bytes of GRH.
#include "transport/engine/grh.hpp"
#include "transport/engine/responder.hpp"
#include "transport/engine/scatter.hpp"
#include "transport/engine/unreliable.hpp"

namespace veriroce::engine {

namespace datagram_check {

// STA-01, STA-02, STA-07; a failed send queue hinders no receiving.
bool state(const DatagramView& view) {
    return receives(view.connection.state);
}

bool known_opcode(const DatagramView& view) {
    return view.info.operation == wire::Operation::Send &&
           view.packet.headers.has(wire::Header::Deth);
}

// BTH-12, EXT-05: nothing larger than the port's MTU.
bool shape(const DatagramView& view) {
    return !view.packet.pad_exceeds_body() && view.packet.payload().size() <= view.port_mtu;
}

// EXT-05
bool qkey(const DatagramView& view) {
    return view.packet.deth.qkey == view.connection.qkey;
}

bool receive_ready(const DatagramView& view) {
    return view.receive_ready;
}

// EXT-05: a datagram longer than its buffer is dropped, and the QP stays usable.
bool receive_room(const DatagramView& view) {
    return kGrhBytes + view.packet.payload().size() <= view.receive_bytes;
}

} // namespace datagram_check

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
    if (refused_by || !ready) { // the latter if a planted defect let it through
        ++device.counters.dropped;
        return;
    }
    take(device, qp, packet, packet.packet.header_bytes() + packet.packet.body.size());
}

} // namespace veriroce::engine
