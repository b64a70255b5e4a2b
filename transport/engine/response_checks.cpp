#include "transport/engine/response_checks.hpp"

namespace veriroce::engine::response_check {

using wire::AckKind;
using wire::Operation;
using enum ResponseVerdict;

namespace {

ResponseVerdict refuse_if(bool wrong, ResponseVerdict verdict) {
    return wrong ? verdict : Take;
}

// REQ-23..25
ResponseVerdict unexpected(const ResponseView& view) {
    return view.behaviour.unexpected_response == UnexpectedResponse::Ignore ? Drop : BadResponse;
}

bool is_read_response(const ResponseView& view) {
    return view.info.operation == Operation::RdmaReadResponse;
}

} // namespace

// STA-05, STA-07
ResponseVerdict state(const ResponseView& view) {
    const QpState state = view.connection.state;
    return refuse_if(state != QpState::Rts && state != QpState::Sqd, Drop);
}

// N-19: an acknowledge with a body, data under a NAK, more pad than bytes.
ResponseVerdict shape(const ResponseView& view) {
    const bool has_data = !view.packet.body.empty();
    const bool nak = view.packet.headers.has(wire::Header::Aeth) &&
                     view.packet.aeth.syndrome.kind() != AckKind::Ack;
    if (view.packet.pad_exceeds_body()) return Drop;
    if (view.info.operation == Operation::Acknowledge) return refuse_if(has_data, Drop);
    if (view.info.operation == Operation::AtomicAcknowledge) {
        return refuse_if(has_data || nak, Drop);
    }
    return refuse_if(!is_read_response(view) || nak, Drop);
}

// REQ-17: reserved kinds and codes say nothing.
ResponseVerdict known_syndrome(const ResponseView& view) {
    if (view.info.operation != Operation::Acknowledge) return Take;
    const wire::Syndrome syndrome = view.packet.aeth.syndrome;
    switch (syndrome.kind()) {
    case AckKind::Ack:
    case AckKind::RnrNak: return Take;
    case AckKind::Reserved: return Drop;
    case AckKind::Nak: break;
    }
    const auto code = syndrome.nak_code();
    return refuse_if(!code || *code == wire::NakCode::InvalidRdRequest, Drop);
}

// REQ-06, REQ-18, N-38: nothing that is done already; REQ-07: nothing that was never sent.
ResponseVerdict window(const ResponseView& view) {
    const wire::Psn oldest = view.outbound.unacked_psn;
    const bool inside =
        forward(oldest, view.packet.bth.psn) < forward(oldest, view.outbound.next_psn);
    return refuse_if(!inside || !view.request, Drop);
}

// REQ-08, N-11: a response after an unanswered READ or atomic means that its response is lost.
ResponseVerdict implied_nak(const ResponseView& view) {
    if (!view.request) return Drop;
    if (!view.request->behind_unanswered) return Take;
    return view.behaviour.implied_nak == ImpliedNak::AtOnce ? Retry : Drop;
}

// REQ-20: an ACK does not answer a READ or atomic. REQ-24, REQ-25: data answers nothing else.
ResponseVerdict fits_request(const ResponseView& view) {
    if (!view.request) return Drop;
    const WrOpcode opcode = view.request->opcode;
    // EXT-02: an empty READ response answers a FLUSH or an ATOMIC WRITE.
    if (is_read_response(view)) {
        return refuse_if(!wants_response(opcode) || is_atomic(opcode), unexpected(view));
    }
    if (view.info.operation == Operation::AtomicAcknowledge) {
        return refuse_if(!is_atomic(opcode), unexpected(view));
    }
    const bool ack = view.packet.aeth.syndrome.kind() == AckKind::Ack;
    const bool retried = view.behaviour.acknowledged_read == AcknowledgedRead::Retried;
    return refuse_if(ack && wants_response(opcode), retried ? Retry : Drop);
}

// REQ-09: after a gap no response is accepted; the requester requests them again.
ResponseVerdict read_order(const ResponseView& view) {
    if (!is_read_response(view)) return Take;
    if (!view.request) return Drop;
    const auto ahead = wire::distance(view.request->expected_response, view.packet.bth.psn);
    if (ahead < 0) return Drop;
    if (ahead == 0) return Take;
    return view.behaviour.implied_nak == ImpliedNak::AtOnce ? Retry : Drop;
}

// REQ-23. Where a READ was asked for again its response may begin or go on (RDR-06).
ResponseVerdict read_position(const ResponseView& view) {
    if (!is_read_response(view)) return Take;
    if (!view.request) return Drop;
    const PendingRequest& request = *view.request;
    const wire::Psn psn = view.packet.bth.psn;
    const bool begins = view.info.starts_message();
    const bool may_begin = psn == request.first || psn == request.asked_from;
    const bool may_go_on = psn != request.first;
    const bool fits = begins ? may_begin : may_go_on;
    return refuse_if(!fits || view.info.ends_message() != (psn == request.last), unexpected(view));
}

// REQ-21, REQ-22
ResponseVerdict read_length(const ResponseView& view) {
    if (!is_read_response(view)) return Take;
    if (!view.request) return Drop;
    const PendingRequest& request = *view.request;
    const std::uint64_t full = wire::bytes_of(view.connection.mtu);
    const std::uint64_t offset = forward(request.first, view.packet.bth.psn) * full;
    const std::uint64_t due = view.packet.bth.psn == request.last ? request.length - offset : full;
    const bool dropped = view.behaviour.bad_read_length == BadReadLength::Dropped;
    return refuse_if(view.packet.payload().size() != due, dropped ? Drop : LengthError);
}

} // namespace veriroce::engine::response_check
