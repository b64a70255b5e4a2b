#include "transport/engine/notification.hpp"

#include <algorithm>

#include "transport/engine/device.hpp"

namespace veriroce::engine {

namespace {

constexpr std::size_t kCnpBodyBytes = 16;
constexpr std::array<std::byte, kCnpBodyBytes> kCnpBody{}; // CNP-02: reserved, zero

// CNP-04
bool due(Device& device, Qp& qp, const PacketView& view, wire::Instant now) {
    const NotificationPoint& point = device.config.behaviour.congestion.notification;
    bool yes = false;
    switch (point.scope) {
    case CnpScope::Qp:
        yes = !qp.last_cnp || now - *qp.last_cnp >= point.interval;
        if (yes) qp.last_cnp = now;
        break;
    case CnpScope::Destination:
        yes = device.notifications.destination_due(view.envelope.source, point.interval, now);
        break;
    case CnpScope::Port: yes = device.notifications.port_due(point.interval, now); break;
    }
    return yes;
}

bool is_odd(const wire::Packet& packet) {
    return !packet.bth.becn || packet.bth.fecn || !std::ranges::equal(packet.body, kCnpBody);
}

} // namespace

bool NotificationQueue::destination_due(const wire::IpAddress& address, wire::Duration interval,
                                        wire::Instant now) {
    // Entries older than the interval have no effect any more.
    while (!destinations_.empty() && now - destinations_.front().last >= interval)
        destinations_.pop();
    for (std::size_t i = 0; i < destinations_.size(); ++i) {
        if (destinations_[i].address == address) return false;
    }
    if (destinations_.full()) return false;
    destinations_.push({.address = address, .last = now});
    return true;
}

bool NotificationQueue::port_due(wire::Duration interval, wire::Instant now) {
    if (port_last_ && now - *port_last_ < interval) return false;
    port_last_ = now;
    return true;
}

void note_mark(Device& device, Qp& qp, const PacketView& view, wire::Instant now) {
    const NotificationPoint& point = device.config.behaviour.congestion.notification;
    if (view.envelope.ecn != wire::kCongestionExperienced) return; // CNP-03
    if (!point.enabled || !receives(qp.connection.state)) return;
    if (view.info.response() && !point.for_responses) return; // CNP-07
    if (device.notifications.full() || !due(device, qp, view, now)) return;
    const bool datagram = qp.connection.type == QpType::Ud; // N-35
    device.notifications.push(
        {.qp = qp.id,
         .dest_qp = datagram ? view.packet.deth.source_qp : qp.connection.peer,
         .pkey = view.packet.bth.pkey,
         .source = view.envelope.destination,
         .destination = view.envelope.source,
         .vlan = view.envelope.vlan});
}

void handle_cnp(Device& device, Qp& qp, const PacketView& view, wire::Instant now) {
    const ReactionPoint& point = device.config.behaviour.congestion.reaction;
    if (!receives(qp.connection.state)) { // CNP-10: a QP that does not send cannot slow down
        device.drop(DropReason::CnpState, view.packet.bth, now);
        return;
    }
    if (point.odd_cnp == OddCnp::Ignore && is_odd(view.packet)) { // CNP-11
        device.drop(DropReason::OddCnp, view.packet.bth, now);
        return;
    }
    ++device.counters.cnp_handled;
    if (qp.limiter) qp.limiter->congested(now);
}

Transmit* next_cnp(Device& device) {
    const NotificationPoint& point = device.config.behaviour.congestion.notification;
    while (!device.notifications.empty()) {
        const PendingCnp cnp = device.notifications.pop();
        const Qp* const qp = device.find(cnp.qp);
        if (qp == nullptr) continue; // destroyed meanwhile
        // CNP-02. BECN is what receivers look for, though the annex does not list it.
        wire::Packet packet;
        packet.bth = {
            .opcode = wire::kCnpOpcode, .pkey = cnp.pkey, .becn = true, .dest_qp = cnp.dest_qp};
        Transmit* const made = transmit(device, *qp, packet, kCnpBody);
        made->envelope.source = cnp.source;
        made->envelope.destination = cnp.destination;
        made->envelope.vlan = cnp.vlan;
        made->envelope.dscp = point.dscp; // CNP-06
        made->envelope.ecn = point.ecn;
        ++device.counters.cnp_sent;
        return made;
    }
    return nullptr;
}

void take_reaction_point(const Device& device, Qp& qp) {
    const ReactionPoint& point = device.config.behaviour.congestion.reaction;
    qp.limiter = point.enabled ? std::make_unique<RateLimiter>(point.dcqcn) : nullptr;
}

bool held_back(Device& device, Qp& qp, wire::Instant now) {
    // A QP that has ended sends what it still has at once (N-07).
    if (!qp.limiter || qp.connection.state == QpState::Err) return false;
    const wire::Instant next = qp.limiter->next_send(now);
    if (next <= now) return false;
    const bool waits = qp.cursor.work < qp.sends.size() || !qp.replies.empty();
    if (waits) device.deadlines.arm(Device::index_of(qp), Timer::Pace, next);
    return true;
}

void charge(Qp& qp, const Transmit& packet, wire::Instant now) {
    if (!qp.limiter || packet.payload.empty()) return;
    qp.limiter->sent(wire::outer_bytes(packet.envelope) + packet.headers.size() +
                         packet.payload.size() + packet.pad + wire::kIcrcBytes,
                     now);
}

} // namespace veriroce::engine
