// The responder's packets: acknowledges, atomic results and READ responses, which are made when
// they are sent.
#include <algorithm>

#include "transport/engine/responder.hpp"

namespace veriroce::engine {

namespace {

using wire::Position;

// BTH-19: to the peer, without AckReq and SE.
wire::Packet& reply_packet(Device& device, const Qp& qp, std::uint8_t opcode, const Reply& reply) {
    wire::Packet& packet = packet_to_peer(device, qp, opcode, reply.psn);
    packet.aeth = {.syndrome = reply.syndrome, .msn = reply.msn};
    return packet;
}

void finish(Qp& qp, bool fresh) {
    qp.replies.pop();
    if (fresh && qp.inbound.replies > 0) --qp.inbound.replies;
}

bool readable(const Device& device, const Qp& qp, const Reply& reply, std::uint64_t bytes) {
    if (bytes == 0) return true;
    const Region& region = device.memory.slot(reply.rkey.value);
    return region.live && region.key == reply.rkey.value &&
           region.open_to(qp.connection.pd, qp.connection.qpn) && region.access.remote_read &&
           region.covers(reply.address, bytes);
}

Position position_of(bool begins, bool ends) {
    if (begins) return ends ? Position::Only : Position::First;
    return ends ? Position::Last : Position::Middle;
}

// RDR-03
wire::Msn msn_of(const Device& device, const Qp& qp, const Reply& reply) {
    const bool current = device.config.behaviour.response_msn == ResponseMsn::Current;
    return current ? qp.inbound.msn : reply.msn;
}

// RDR-01, RDR-02
Transmit* read_packet(Device& device, Qp& qp, Reply& reply, std::uint64_t bytes) {
    const bool ends = reply.packets == 1;
    const Position position = position_of(reply.begins, ends);
    wire::Packet& packet = reply_packet(
        device, qp, device.opcodes.read_response[static_cast<std::size_t>(position)], reply);
    packet.bth.pad = wire::pad_of(bytes);
    packet.aeth.msn = msn_of(device, qp, reply);
    const bool old = device.config.behaviour.first_msn == FirstMsn::Old; // N-01
    if (old && reply.fresh && position == Position::First) packet.aeth.msn = packet.aeth.msn + -1;
    wire::Bytes payload;
    if (bytes != 0) payload = device.memory.slot(reply.rkey.value).at(reply.address, bytes);
    reply.psn += 1;
    --reply.packets;
    reply.address += bytes;
    reply.left -= bytes;
    reply.begins = false;
    if (ends) finish(qp, reply.fresh);
    return transmit(device, qp, packet, payload);
}

// RDR-13, RDR-14: the key went away while the READ was answered; the NAK stands in the response's
// place and is the QP's last word.
Transmit* refuse_rest(Device& device, Qp& qp) {
    const LostKey choice = device.config.behaviour.lost_key;
    const bool access = choice != LostKey::NakRemoteOperational;
    Reply nak = qp.replies.front();
    nak.syndrome = wire::Syndrome::nak(access ? wire::NakCode::RemoteAccess
                                              : wire::NakCode::RemoteOperational);
    nak.msn = qp.inbound.msn;
    qp.replies.clear();
    device.raise(EventType::QpAccessErr, qp);
    enter_error(device, qp);
    if (choice == LostKey::Silent) return nullptr;
    return transmit(device, qp, reply_packet(device, qp, device.opcodes.acknowledge, nak), {});
}

} // namespace

Transmit* next_reply(Device& device, Qp& qp) {
    while (!qp.replies.empty()) {
        Reply& reply = qp.replies.front();
        const Reply now = reply;
        if (now.kind == ReplyKind::Acknowledge) {
            qp.replies.pop();
            return transmit(device, qp, reply_packet(device, qp, device.opcodes.acknowledge, now),
                            {});
        }
        if (now.kind == ReplyKind::Atomic) {
            wire::Packet& packet = reply_packet(device, qp, device.opcodes.atomic_acknowledge, now);
            packet.aeth.msn = msn_of(device, qp, now);
            packet.atomic_ack = {.original = now.original};
            finish(qp, now.fresh);
            return transmit(device, qp, packet, {});
        }
        const auto bytes = std::min<std::uint64_t>(now.left, wire::bytes_of(qp.connection.mtu));
        if (readable(device, qp, now, bytes)) return read_packet(device, qp, reply, bytes);
        if (now.fresh) return refuse_rest(device, qp);
        qp.replies.pop(); // RSP-12: a duplicate's fault is silent
    }
    return nullptr;
}

} // namespace veriroce::engine
