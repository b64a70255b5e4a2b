#include "transport/engine/retry.hpp"

#include <algorithm>

#include "transport/engine/migration.hpp"
#include "transport/engine/responder_replies.hpp"
#include "transport/engine/send_completion.hpp"

namespace veriroce::engine {

void rewind(Device& device, Qp& qp) {
    qp.cursor = {};
    qp.rewound = true;
    if (!qp.sends.empty() && qp.sends.front().started) {
        const SendWork& work = qp.sends.front();
        if (!wants_response(work.request.opcode)) {
            qp.cursor.packet = forward(work.first, qp.outbound.unacked_psn);
        }
    }
    device.mark_ready(qp);
}

namespace {

// After a loss: as rewind(), and slowly on devices that begin with one packet.
void recover(Device& device, Qp& qp) {
    rewind(device, qp);
    if (device.config.behaviour.after_loss == AfterLoss::OnePacket) {
        qp.recovers_to = qp.outbound.next_psn;
    }
}

} // namespace

void retry(Device& device, Qp& qp) {
    if (qp.sends.empty()) return;
    const SendView view{qp.connection, qp.outbound, device.config.behaviour,
                        qp.sends.front().request};
    if (!device.checks.allows(SendCheck::RetryLeft, view)) {
        if (qp.connection.migration == MigState::Armed) { // TMO-03: tried again on the other path
            migrate(device, qp);
            qp.outbound.retries = 0;
            rewind(device, qp);
            return;
        }
        fail_oldest(device, qp, WcStatus::RetryExcErr);
        return;
    }
    ++qp.outbound.retries;
    recover(device, qp);
}

namespace {

// TMO-08: the interval of an adaptive timer that has not grown to T yet.
std::optional<wire::Duration> adaptive_interval(const Device& device, const Qp& qp) {
    const wire::Duration first = device.config.behaviour.adaptive_timeout;
    if (first.count() == 0 || !qp.ack_interval) return std::nullopt;
    const wire::Duration grown = first * (std::int64_t{1} << qp.outbound.early_resends);
    return grown < *qp.ack_interval ? std::optional(grown) : std::nullopt;
}

} // namespace

void arm_ack_timer(Device& device, Qp& qp, wire::Instant now) {
    if (!qp.ack_interval) return; // TMO-02
    if (const auto early = adaptive_interval(device, qp)) {
        device.deadlines.arm(Device::index_of(qp), Timer::Ack, now + *early);
        return;
    }
    // TMO-01, TMO-08: the first interval is as it was set; no further one is above 64 times it.
    constexpr int most_doublings = 6;
    const int doublings = device.config.behaviour.timeout_grows
                              ? std::min<int>(qp.outbound.retries, most_doublings)
                              : 0;
    device.deadlines.arm(Device::index_of(qp), Timer::Ack,
                         now + *qp.ack_interval * (1 << doublings));
}

void handle_timer(Device& device, Qp& qp, Timer timer, wire::Instant now) {
    switch (timer) {
    case Timer::Rnr:
        qp.waits_for_rnr = false;
        qp.one_message = device.config.behaviour.after_rnr == AfterRnr::OneMessage;
        rewind(device, qp);
        if (qp.outbound.unacked_psn != qp.outbound.next_psn) arm_ack_timer(device, qp, now);
        return;
    case Timer::Pace: device.mark_ready(qp); return;
    case Timer::AckDelay: send_deferred_ack(device, qp); return;
    case Timer::Ack:
        ++device.counters.local_ack_timeout;
        qp.implied_nak_taken = false;
        if (!qp.sends.empty() && adaptive_interval(device, qp)) {
            ++qp.outbound.early_resends;
            recover(device, qp);
        } else {
            retry(device, qp);
        }
        if (device.config.behaviour.timeout_restart == TimeoutRestart::Message) {
            qp.cursor.packet = 0; // TMO-06
        }
        if (qp.connection.state != QpState::Err) arm_ack_timer(device, qp, now);
        return;
    }
}

} // namespace veriroce::engine
