#include "transport/engine/send_completion.hpp"

#include <algorithm>

#include "transport/engine/qp_states.hpp"

namespace veriroce::engine {

namespace {

// Takes the oldest work out of the queue and reports it. False if the QP did not survive it.
bool complete_oldest(Device& device, Qp& qp, WcStatus status) {
    const SendWork& work = qp.sends.front();
    const bool data = brings_data(work.request.opcode);
    Completion completion{
        .id = work.request.id, .status = status, .opcode = completion_opcode(work.request.opcode)};
    if (data && status == WcStatus::Success) {
        completion.byte_len = static_cast<std::uint32_t>(work.length);
    }
    const bool reported = work.signaled || status != WcStatus::Success; // REQ-03
    qp.sends.pop();
    if (qp.drain_works > 0) --qp.drain_works;
    if (qp.cursor.work > 0) {
        --qp.cursor.work;
    } else {
        qp.cursor.packet = 0; // REQ-33: acknowledged packets are not sent again
    }
    return !reported || deliver(device, qp, Queue::Send, completion);
}

// A request that sent nothing is done when it is the oldest (N-20). False if the QP did not survive
// it.
bool complete_local(Device& device, Qp& qp) {
    while (!qp.sends.empty() && qp.sends.front().started &&
           is_local(qp.sends.front().request.opcode)) {
        if (!complete_oldest(device, qp, WcStatus::Success)) return false;
    }
    return true;
}

// All before this PSN is acknowledged. REQ-14, RNR-11: progress gives all tries back.
void note_progress(Qp& qp, wire::Psn acknowledged_before) {
    const std::uint32_t ahead = forward(qp.outbound.unacked_psn, acknowledged_before);
    if (ahead == 0 || ahead > forward(qp.outbound.unacked_psn, qp.outbound.next_psn)) return;
    qp.outbound.unacked_psn = acknowledged_before;
    qp.outbound.retries = 0;
    qp.outbound.rnr_retries = 0;
    qp.outbound.early_resends = 0;
    qp.implied_nak_taken = false;
    qp.one_message = false;
}

} // namespace

void acknowledge_through(Device& device, Qp& qp, wire::Psn psn) {
    const wire::Psn oldest = qp.outbound.unacked_psn;
    // How much of a work the peer has, counted from the oldest unacknowledged PSN.
    const std::uint32_t reach = forward(oldest, psn) + 1;
    while (!qp.sends.empty() && qp.sends.front().started) {
        SendWork& work = qp.sends.front();
        if (is_local(work.request.opcode)) {
            if (!complete_local(device, qp)) return;
            continue;
        }
        if (wants_response(work.request.opcode) && !work.answered) {
            note_progress(qp, work.expected_response);
            break;
        }
        const wire::Psn behind = work.last() + 1;
        if (forward(oldest, behind) > reach) {
            note_progress(qp, psn + 1); // REQ-04: a part of it, and no completion
            if (qp.cursor.work == 0 && work.holds(psn)) {
                const std::uint32_t done = forward(work.first, psn) + 1;
                qp.cursor.packet = std::max(qp.cursor.packet, done);
            }
            break;
        }
        note_progress(qp, behind);
        if (!complete_oldest(device, qp, WcStatus::Success)) return;
    }
    settle_oldest(device, qp);
}

void complete_sent(Device& device, Qp& qp) {
    if (complete_oldest(device, qp, WcStatus::Success)) settle_oldest(device, qp);
}

void fail_oldest(Device& device, Qp& qp, WcStatus status) {
    if (!qp.sends.empty() && !complete_oldest(device, qp, status)) return;
    if (qp.connection.type == QpType::Rc) { // STA-08
        enter_error(device, qp);
    } else {
        enter_send_error(device, qp);
    }
}

void settle_oldest(Device& device, Qp& qp) {
    if (!complete_local(device, qp)) return;
    if (!qp.sends.empty() && qp.sends.front().fault) {
        const WcStatus status = *qp.sends.front().fault;
        fail_oldest(device, qp, status);
        return;
    }
    const bool idle = qp.sends.empty() || (!qp.sends.front().started && qp.drain_works == 0);
    if (qp.drain_pending && idle && qp.connection.state == QpState::Sqd) {
        qp.drain_pending = false;
        if (qp.connection.sqd_async_notify) device.raise(EventType::SqDrained, qp);
    }
}

} // namespace veriroce::engine
