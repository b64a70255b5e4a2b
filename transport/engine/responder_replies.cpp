#include "transport/engine/responder_replies.hpp"

#include <algorithm>

#include "transport/engine/qp_states.hpp"

namespace veriroce::engine {

// --- when, and with which syndrome

namespace {

// ACK-03, TMO-07: an ACK that waits for more to acknowledge, or for its time.
void defer(Device& device, Qp& qp, wire::Instant now) {
    const Behaviour& behaviour = device.config.behaviour;
    if (qp.deferred_acks == 0) {
        device.deadlines.arm(Device::index_of(qp), Timer::AckDelay, now + behaviour.ack_delay);
    }
    ++qp.deferred_acks;
    if (behaviour.ack_policy == AckPolicy::EveryNth && qp.deferred_acks >= behaviour.ack_every) {
        send_deferred_ack(device, qp);
    }
}

} // namespace

wire::Syndrome ack_syndrome(const Device& device, const Qp& qp) {
    const bool grants = device.config.behaviour.credits || qp.connection.flow_control;
    if (!grants || qp.srq != nullptr) return wire::Syndrome::ack(wire::kNoCredits);
    const std::size_t held = qp.inbound.receive_taken ? 1 : 0; // ACK-10
    return wire::Syndrome::ack(
        wire::credit_code_of(static_cast<std::uint32_t>(qp.receives.size() - held)));
}

void acknowledge(Device& device, Qp& qp, wire::Psn psn, wire::Syndrome syndrome) {
    drop_deferred_ack(device, qp); // this one says as much
    const bool coalesce = device.config.behaviour.ack_policy == AckPolicy::Coalesced;
    qp.out_of_credits = syndrome == wire::Syndrome::ack(0);
    const Reply reply{.psn = psn, .syndrome = syndrome, .msn = qp.inbound.msn};
    qp.replies.add(reply, coalesce);
    device.mark_ready(qp);
}

void acknowledge_request(Device& device, Qp& qp, const RequestView& view) {
    if (qp.connection.type != QpType::Rc) return; // EXT-06
    const bool asked = view.packet.bth.ack_request;
    bool at_once = asked; // ACK-01, ACK-02
    switch (device.config.behaviour.ack_policy) {
    case AckPolicy::EveryRequest:
    case AckPolicy::Coalesced: break;
    case AckPolicy::LastOfMessage: at_once |= view.info.ends_message(); break;
    case AckPolicy::EveryPacket: at_once = true; break;
    case AckPolicy::EveryNth:
    case AckPolicy::Delayed:
        if (asked) defer(device, qp, view.now);
        return;
    }
    if (at_once) acknowledge(device, qp, view.packet.bth.psn, ack_syndrome(device, qp));
}

void send_deferred_ack(Device& device, Qp& qp) {
    if (qp.deferred_acks == 0) return;
    acknowledge(device, qp, qp.last_acked, ack_syndrome(device, qp));
}

void drop_deferred_ack(Device& device, Qp& qp) {
    if (qp.deferred_acks == 0) return;
    qp.deferred_acks = 0;
    device.deadlines.disarm(Device::index_of(qp), Timer::AckDelay);
}

void note_posted_receive(Device& device, Qp& qp) {
    // ACK-11: the last ACK's PSN once more.
    const bool told_of_none = qp.out_of_credits && receives(qp.connection.state);
    if (!device.config.behaviour.unsolicited_credits || !told_of_none) return;
    // ACK-04: behind the answer to a READ or atomic it would go back.
    if (qp.last_acked + 1 != qp.inbound.expected_psn) return;
    acknowledge(device, qp, qp.last_acked, ack_syndrome(device, qp));
}

wire::Syndrome rnr_syndrome(const Device& device, const Qp& qp) {
    constexpr std::uint8_t codes = 32;
    const wire::Duration asked = wire::rnr_time(qp.connection.min_rnr_timer);
    const wire::Duration least = device.config.behaviour.shortest_rnr_wait;
    if (asked >= least) return wire::Syndrome::rnr(qp.connection.min_rnr_timer);
    // RNR-07: the shortest time that is long enough; code 0 is the longest of all.
    std::uint8_t best = 0;
    for (std::uint8_t code = 0; code < codes; ++code) {
        const wire::Duration time = wire::rnr_time(code);
        if (time >= least && time < wire::rnr_time(best)) best = code;
    }
    return wire::Syndrome::rnr(best);
}

// --- packets

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

// RDR-03
wire::Msn msn_of(const Device& device, const Qp& qp, const Reply& reply) {
    const bool current = device.config.behaviour.response_msn == ResponseMsn::Current;
    return current ? qp.inbound.msn : reply.msn;
}

// RDR-01, RDR-02
Transmit* read_packet(Device& device, Qp& qp, Reply& reply, std::uint64_t bytes) {
    const bool ends = reply.packets == 1;
    const Position position = wire::position_of(reply.begins, ends);
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

// RDR-13, RDR-14: the key became invalid while the READ was answered; the NAK takes the response's
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
