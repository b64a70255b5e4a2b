// What a responder does not answer: ACK-01, RSP-02, RSP-06, RSP-09, RSP-10. Judged only where its
// port was recorded completely, so that what arrived is known, and where it is known how long it
// may take.
//
// A QP may end without a word: its application closes it, its own requests fail. So silence is held
// against a device only when the same QP says something afterwards.
#include "conformance/judge/context.hpp"

namespace veriroce::judge {
namespace {

using flow::Class;

const flow::End& responder(const Context& context) {
    return context.connection->ends[1 - context.seen.asking()];
}

// RSP-10: a duplicate that asks for an answer gets one within three repeats.
constexpr std::uint32_t kRepeats = 3;

void note_repeat(const Context& context) {
    Notes& notes = *context.notes;
    const flow::Packet& packet = context.packet;
    const bool executed =
        notes.acknowledged && wire::distance(packet.psn(), *notes.acknowledged) > 0;
    const bool counts = context.seen.kind == Class::Retransmission &&
                        packet.transport.bth.ack_request &&
                        packet.integrity == flow::Integrity::Good;
    if (!counts) return;
    if (!executed || notes.at_port->repeated_psn != packet.psn())
        notes.at_port->repeated_unanswered = 0;
    notes.at_port->repeated_psn = packet.psn();
    if (!executed || ++notes.at_port->repeated_unanswered <= kRepeats) return;
    notes.at_port->repeat_due = Pending{packet.psn(), packet.number, *packet.time};
    notes.at_port->repeated_unanswered = 0;
}

void note_gap(Notes& notes, const flow::Packet& packet) {
    if (notes.at_port->nak_due &&
        wire::distance(notes.at_port->nak_due->psn, notes.at_port->arrivals.sure()) > 0) {
        notes.at_port->nak_due.reset(); // RSP-16: it came before the NAK left
    }
    const auto expected = notes.at_port->arrivals.expected();
    if (!notes.at_port->arrived.ahead || !expected || notes.at_port->nak_due) return;
    // RSP-03: with that NAK outstanding there is none again.
    if (notes.at_port->nak_done == expected->value() + 1UL) return;
    notes.at_port->nak_due = Pending{*expected, packet.number, *packet.time};
    notes.at_port->nak_due_wraps = packet.psn().value() < expected->value();
}

void note_request(const Context& context) {
    Notes& notes = *context.notes;
    const flow::Packet& packet = context.packet;
    note_repeat(context);
    note_gap(notes, packet);
    const wire::OpcodeInfo& info = packet.info();
    const bool asks = packet.transport.bth.ack_request ||
                      info.operation == wire::Operation::RdmaReadRequest ||
                      info.headers.has(wire::Header::AtomicEth); // N-17
    // A duplicate may be ignored while another is answered: only new ones must be answered.
    if (notes.at_port->arrived.taken && asks && !notes.at_port->answer_due) {
        notes.at_port->answer_due = Pending{packet.psn(), packet.number, *packet.time};
    }
}

void note_response(const Context& context) {
    Notes& notes = *context.notes;
    notes.at_port->repeated_unanswered = 0;
    notes.at_port->repeat_due.reset();
    const wire::Psn psn = context.packet.psn();
    const bool covers =
        notes.at_port->answer_due && wire::distance(notes.at_port->answer_due->psn, psn) >= 0;
    const bool refused = refuses(context.packet);
    if (covers || refused) notes.at_port->answer_due.reset();
    if (refused) notes.at_port->nak_done = psn.value() + 1UL;
    // RNR-04: what is behind a request that was not taken draws no NAK.
    if (refused) notes.at_port->nak_due.reset();
}

// Which rule a gap without its NAK breaks: the PSNs wrapped, or it was not the first one.
std::string_view rule_of_gap(const Notes& notes) {
    if (notes.at_port->nak_due_wraps) return "RSP-09";
    return notes.sequence_nak ? "RSP-06" : "RSP-02";
}

void note_late(Notes& notes, wire::Duration patience, wire::Instant now) {
    const auto late = [now, patience](const std::optional<Pending>& pending) {
        return pending && now - pending->since > patience;
    };
    if (late(notes.at_port->nak_due)) {
        notes.at_port->overdue_nak = Overdue{rule_of_gap(notes), notes.at_port->nak_due->psn,
                                             notes.at_port->nak_due->number};
        notes.at_port->nak_done = notes.at_port->nak_due->psn.value() + 1UL;
        notes.at_port->nak_due.reset();
    }
    if (late(notes.at_port->repeat_due)) {
        notes.at_port->overdue_repeat =
            Overdue{"RSP-10", notes.at_port->repeat_due->psn, notes.at_port->repeat_due->number};
        notes.at_port->repeat_due.reset();
    }
    if (late(notes.at_port->answer_due)) {
        notes.at_port->overdue_answer =
            Overdue{"ACK-01", notes.at_port->answer_due->psn, notes.at_port->answer_due->number};
        notes.at_port->answer_due.reset();
    }
}

void report_silence(const Context& context, Excuses excuses) {
    Notes& notes = *context.notes;
    const auto report = [&](std::optional<Overdue>& overdue, std::string_view before,
                            std::string_view behind, std::string_view answer) {
        if (!overdue) return;
        context.report_of(responder(context), overdue->rule, excuses, Evidence(overdue->number),
                          {phrase({before, overdue->psn, behind}),
                           phrase({answer, " must come within ", *context.assumptions.patience})});
        overdue.reset();
    };
    report(notes.at_port->overdue_nak, "no NAK came for ", ", which is missing before this packet",
           "it");
    report(notes.at_port->overdue_answer, "the request at ", " asks for an answer, and none came",
           "it");
    report(notes.at_port->overdue_repeat, "the duplicate at ",
           " asks for an answer; it and the 3 before it got none", "one");
}

} // namespace

void note_pending(const Context& context) {
    if (!context.assumptions.patience || !context.packet.time) return;
    if (context.packet.info().service != wire::Service::Rc) return;
    if (!context.recorded_at(responder(context).address)) return;
    if (context.seen.kind == Class::Forgotten) return;
    context.open_port();
    if (context.response()) {
        note_response(context);
    } else {
        note_request(context);
    }
}

void judge_silence(const Context& context, wire::Instant now, Sign sign) {
    Notes& notes = *context.notes;
    if (!context.assumptions.patience || !notes.at_port) return;
    if (notes.fatal_nak) { // N-07: the QP is silent
        notes.at_port->nak_due.reset();
        notes.at_port->answer_due.reset();
        notes.at_port->repeat_due.reset();
        notes.at_port->overdue_nak.reset();
        notes.at_port->overdue_answer.reset();
        notes.at_port->overdue_repeat.reset();
        return;
    }
    note_late(notes, *context.assumptions.patience, now);
    if (sign == Sign::Alive) report_silence(context, kUnseen);
    if (sign == Sign::Last) report_silence(context, kUnseenOrClosed);
}

} // namespace veriroce::judge
