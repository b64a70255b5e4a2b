#include "transport/engine/requester_responses.hpp"

#include <cstring>

#include "transport/engine/retry.hpp"
#include "transport/engine/scatter.hpp"
#include "transport/engine/send_completion.hpp"

namespace veriroce::engine {

namespace {

using wire::Operation;

// The index of the started work that this PSN belongs to, counted from the oldest.
std::optional<std::size_t> work_holding(const Qp& qp, wire::Psn psn) {
    for (std::size_t i = 0; i < qp.sends.size() && qp.sends[i].started; ++i) {
        if (qp.sends[i].holds(psn)) return i;
    }
    return std::nullopt;
}

std::optional<PendingRequest> pending(const Qp& qp, wire::Psn psn) {
    const auto at = work_holding(qp, psn);
    if (!at) return std::nullopt;
    const SendWork& work = qp.sends[*at];
    PendingRequest request{.opcode = work.request.opcode,
                           .first = work.first,
                           .last = work.last(),
                           .expected_response = work.expected_response,
                           .asked_from = work.asked_from,
                           .length = brings_data(work.request.opcode) ? work.length : 0};
    for (std::size_t i = 0; i < *at; ++i) {
        const SendWork& earlier = qp.sends[i];
        request.behind_unanswered |= wants_response(earlier.request.opcode) && !earlier.answered;
    }
    return request;
}

// The oldest work has all its data.
void answered(Device& device, Qp& qp, SendWork& work) {
    work.answered = true;
    if (qp.outbound.outstanding_rd_atomic > 0) --qp.outbound.outstanding_rd_atomic;
    acknowledge_through(device, qp, work.last());
}

void take_read(Device& device, Qp& qp, const ResponseView& view) {
    SendWork& work = qp.sends.front();
    const wire::Psn psn = view.packet.bth.psn;
    const std::uint64_t offset =
        std::uint64_t{forward(work.first, psn)} * wire::bytes_of(qp.connection.mtu);
    if (!scatter(device.memory, qp.connection.pd, work.request.sges, offset,
                 view.packet.payload())) {
        fail_oldest(device, qp, WcStatus::LocProtErr); // N-22, REQ-22
        return;
    }
    work.expected_response = psn + 1;
    if (psn == work.last()) {
        answered(device, qp, work);
    } else {
        acknowledge_through(device, qp, psn);
    }
}

// ATM-01. The result is written as a number of the host, as in the verbs.
void take_atomic(Device& device, Qp& qp, const ResponseView& view) {
    SendWork& work = qp.sends.front();
    std::array<std::byte, sizeof(std::uint64_t)> original{};
    std::memcpy(original.data(), &view.packet.atomic_ack.original, original.size());
    if (!scatter(device.memory, qp.connection.pd, work.request.sges, 0, original)) {
        fail_oldest(device, qp, WcStatus::LocProtErr);
        return;
    }
    work.expected_response = work.last() + 1;
    answered(device, qp, work);
}

void take_rnr(Device& device, Qp& qp, const ResponseView& view, wire::Instant now) {
    const SendView send{qp.connection, qp.outbound, device.config.behaviour,
                        qp.sends.front().request};
    if (!device.checks.allows(SendCheck::RnrRetryLeft, send)) {
        fail_oldest(device, qp, WcStatus::RnrRetryExcErr);
        return;
    }
    const std::uint32_t index = Device::index_of(qp);
    ++qp.outbound.rnr_retries;
    qp.waits_for_rnr = true; // RNR-13
    qp.rnr_psn = view.packet.bth.psn;
    // RNR-10: no ACK timeout shortens the wait. RNR-08: it is at least as long as was asked for.
    device.deadlines.disarm(index, Timer::Ack);
    constexpr int sixteenths = 16;
    const wire::Duration asked = wire::rnr_time(view.packet.aeth.syndrome.code());
    device.deadlines.arm(index, Timer::Rnr,
                         now + asked * device.config.behaviour.rnr_wait_sixteenths / sixteenths);
}

void take_nak(Device& device, Qp& qp, const ResponseView& view) {
    const auto code = view.packet.aeth.syndrome.nak_code();
    if (!code) return;
    switch (*code) {
    case wire::NakCode::PsnSequence: {
        // REQ-15: nothing was sent since the last one.
        const bool again = device.config.behaviour.repeated_nak == RepeatedNak::Restarts;
        if ((!qp.rewound || again) && !qp.waits_for_rnr) retry(device, qp);
        return;
    }
    // REQ-16
    case wire::NakCode::InvalidRequest: fail_oldest(device, qp, WcStatus::RemInvReqErr); return;
    case wire::NakCode::RemoteAccess: fail_oldest(device, qp, WcStatus::RemAccessErr); return;
    case wire::NakCode::RemoteOperational: fail_oldest(device, qp, WcStatus::RemOpErr); return;
    case wire::NakCode::InvalidRdRequest: return;
    }
}

void take_acknowledge(Device& device, Qp& qp, const ResponseView& view, wire::Instant now) {
    const wire::Psn psn = view.packet.bth.psn;
    const wire::AckKind kind = view.packet.aeth.syndrome.kind();
    if (kind == wire::AckKind::Ack) {
        acknowledge_through(device, qp, psn); // REQ-03
        return;
    }
    // REQ-11, RNR-12: a NAK acknowledges everything before it.
    if (psn != qp.outbound.unacked_psn) acknowledge_through(device, qp, psn - 1);
    const bool oldest =
        !qp.sends.empty() && qp.sends.front().started && qp.sends.front().holds(psn); // REQ-19
    if (!oldest) return;
    if (kind == wire::AckKind::RnrNak) take_rnr(device, qp, view, now);
    if (kind == wire::AckKind::Nak) take_nak(device, qp, view);
}

void take(Device& device, Qp& qp, const ResponseView& view, wire::Instant now) {
    const Operation operation = view.info.operation;
    if (operation == Operation::Acknowledge) {
        take_acknowledge(device, qp, view, now);
        return;
    }
    // REQ-26: data acknowledges everything before its request.
    const wire::Psn first = view.request->first;
    if (first != qp.outbound.unacked_psn && !qp.sends.front().holds(view.packet.bth.psn)) {
        acknowledge_through(device, qp, first - 1);
    }
    const bool oldest = !qp.sends.empty() && qp.sends.front().started &&
                        qp.sends.front().holds(view.packet.bth.psn) &&
                        wants_response(qp.sends.front().request.opcode);
    if (!oldest) return;
    if (operation == Operation::RdmaReadResponse) take_read(device, qp, view);
    if (operation == Operation::AtomicAcknowledge) take_atomic(device, qp, view);
}

// A response that is useless by itself still acknowledges everything before its request.
void note_arrival(Device& device, Qp& qp, const ResponseView& view) {
    const wire::Psn first = view.request->first;
    const bool behind = forward(qp.outbound.unacked_psn, first) <
                        forward(qp.outbound.unacked_psn, qp.outbound.next_psn);
    if (behind && first != qp.outbound.unacked_psn) acknowledge_through(device, qp, first - 1);
}

void act(Device& device, Qp& qp, const ResponseView& view, const ResponseRuling& ruling,
         wire::Instant now) {
    // A response to no request may come this far in a device with a planted defect.
    const RefusedBy by = ruling.by.value_or(ResponseCheck::Window);
    const bool placed = view.request && (!ruling.by || *ruling.by > ResponseCheck::Window);
    const wire::Bth& bth = view.packet.bth;
    if (!placed) {
        device.drop(by, bth, now);
        return;
    }
    if (ruling.verdict != ResponseVerdict::Take) note_arrival(device, qp, view);
    const auto fail = [&](WcStatus status) {
        device.note_refusal(by, RefusalOutcome::RequestFailed, bth, now);
        fail_oldest(device, qp, status);
    };
    switch (ruling.verdict) {
    case ResponseVerdict::Take: take(device, qp, view, now); break;
    case ResponseVerdict::Drop: device.drop(by, bth, now); break;
    case ResponseVerdict::Retry:
        device.note_refusal(by, RefusalOutcome::ImpliedNak, bth, now);
        // One retry for a gap; the responses that follow were on their way already.
        if (!qp.implied_nak_taken && !qp.waits_for_rnr) {
            qp.implied_nak_taken = true;
            retry(device, qp);
        }
        break;
    case ResponseVerdict::LengthError: fail(WcStatus::LocLenErr); break;
    case ResponseVerdict::BadResponse: fail(WcStatus::BadRespErr); break;
    }
}

// REQ-29: from a response that is taken, and from one that repeats the last acknowledge to tell of
// new credits (ACK-11, REQ-06).
void hear_credits(Qp& qp, const ResponseView& view, const ResponseRuling& ruling) {
    if (!view.packet.headers.has(wire::Header::Aeth)) return;
    const bool readable = !ruling.by || *ruling.by >= ResponseCheck::Window;
    const bool again = view.packet.bth.psn == qp.outbound.unacked_psn - 1;
    if (readable && (view.request || again)) qp.outbound.credits.hear(view.packet.aeth);
}

// TMO-04: progress restarts the timer, and ends a wait for something that has been answered.
void after_progress(Device& device, Qp& qp, wire::Instant now) {
    const std::uint32_t index = Device::index_of(qp);
    if (qp.recovers_to && wire::distance(*qp.recovers_to, qp.outbound.unacked_psn) >= 0) {
        qp.recovers_to.reset();
    }
    if (qp.waits_for_rnr && wire::distance(qp.rnr_psn, qp.outbound.unacked_psn) > 0) {
        qp.waits_for_rnr = false;
        device.deadlines.disarm(index, Timer::Rnr);
        rewind(device, qp);
    }
    if (qp.outbound.unacked_psn == qp.outbound.next_psn) {
        device.deadlines.disarm(index, Timer::Ack);
    } else if (!qp.waits_for_rnr) {
        arm_ack_timer(device, qp, now);
    }
}

} // namespace

void handle_response(Device& device, Qp& qp, const PacketView& packet, wire::Instant now) {
    const ResponseView view{packet, qp.outbound, pending(qp, packet.packet.bth.psn)};
    const wire::Psn before = qp.outbound.unacked_psn;
    const ResponseRuling ruling = device.checks.judge(view);
    hear_credits(qp, view, ruling);
    act(device, qp, view, ruling, now);
    if (qp.connection.state == QpState::Err) return;
    if (qp.outbound.unacked_psn != before) after_progress(device, qp, now);
    device.mark_ready(qp);
}

} // namespace veriroce::engine
