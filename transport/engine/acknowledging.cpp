// When a responder acknowledges what it carried out, and with how many credits.
#include "transport/engine/responder.hpp"

namespace veriroce::engine {

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
    if (!device.config.behaviour.credits || qp.srq != nullptr)
        return wire::Syndrome::ack(wire::kNoCredits);
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

} // namespace veriroce::engine
