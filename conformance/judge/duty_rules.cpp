// What a responder owes: ACK-01, RSP-02, RSP-06, RSP-09, RSP-10. Judged only where its own port was
// recorded completely, so that what arrived is known, and where it is known how long it may take.
//
// A QP may end without a word: its application closes it, its own requests fail. So silence is held
// against a device only when the same QP says something afterwards.
#include "conformance/judge/case_at_hand.hpp"

namespace veriroce::judge {
namespace {

using flow::Class;

const flow::End& responder(const Case& at_hand) {
    return at_hand.connection->ends[1 - at_hand.seen.asking()];
}

// RSP-10: a duplicate that asks for an answer gets one within three repeats.
constexpr std::uint32_t kRepeats = 3;

void note_repeat(const Case& at_hand) {
    Notes& notes = *at_hand.notes;
    const flow::Packet& packet = at_hand.packet;
    const bool executed =
        notes.acknowledged && wire::distance(packet.psn(), *notes.acknowledged) > 0;
    const bool counts = at_hand.seen.kind == Class::Retransmission &&
                        packet.transport.bth.ack_request &&
                        packet.integrity == flow::Integrity::Good;
    if (!counts) return;
    if (!executed || notes.at_port->repeated_psn != packet.psn())
        notes.at_port->repeated_unanswered = 0;
    notes.at_port->repeated_psn = packet.psn();
    if (!executed || ++notes.at_port->repeated_unanswered <= kRepeats) return;
    notes.at_port->repeat_due = Debt{packet.psn(), packet.number, *packet.time};
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
    if (notes.at_port->nak_paid == expected->value() + 1UL) return;
    notes.at_port->nak_due = Debt{*expected, packet.number, *packet.time};
    notes.at_port->nak_due_wraps = packet.psn().value() < expected->value();
}

void note_request(const Case& at_hand) {
    Notes& notes = *at_hand.notes;
    const flow::Packet& packet = at_hand.packet;
    note_repeat(at_hand);
    note_gap(notes, packet);
    const wire::OpcodeInfo& info = packet.info();
    const bool asks = packet.transport.bth.ack_request ||
                      info.operation == wire::Operation::RdmaReadRequest ||
                      info.headers.has(wire::Header::AtomicEth); // N-17
    // A duplicate may be ignored while another is answered: only new ones are owed an answer.
    if (notes.at_port->arrived.taken && asks && !notes.at_port->answer_due) {
        notes.at_port->answer_due = Debt{packet.psn(), packet.number, *packet.time};
    }
}

void note_response(const Case& at_hand) {
    Notes& notes = *at_hand.notes;
    notes.at_port->repeated_unanswered = 0;
    notes.at_port->repeat_due.reset();
    const wire::Psn psn = at_hand.packet.psn();
    const bool covers =
        notes.at_port->answer_due && wire::distance(notes.at_port->answer_due->psn, psn) >= 0;
    const bool refuses = at_hand.packet.transport.headers.has(wire::Header::Aeth) &&
                         at_hand.packet.transport.aeth.syndrome.kind() != wire::AckKind::Ack;
    if (covers || refuses) notes.at_port->answer_due.reset();
    if (refuses) notes.at_port->nak_paid = psn.value() + 1UL;
    // RNR-04: what is behind a request that was not taken draws no NAK.
    if (refuses) notes.at_port->nak_due.reset();
}

// Which rule a gap without its NAK breaks: the PSNs wrapped, or it was not the first one.
std::string_view rule_of_gap(const Notes& notes) {
    if (notes.at_port->nak_due_wraps) return "RSP-09";
    return notes.sequence_nak ? "RSP-06" : "RSP-02";
}

void note_late(Notes& notes, wire::Duration patience, wire::Instant now) {
    const auto late = [now, patience](const std::optional<Debt>& debt) {
        return debt && now - debt->since > patience;
    };
    if (late(notes.at_port->nak_due)) {
        notes.at_port->overdue_nak = Silence{rule_of_gap(notes), notes.at_port->nak_due->psn,
                                             notes.at_port->nak_due->number};
        notes.at_port->nak_paid = notes.at_port->nak_due->psn.value() + 1UL;
        notes.at_port->nak_due.reset();
    }
    if (late(notes.at_port->repeat_due)) {
        notes.at_port->overdue_repeat =
            Silence{"RSP-10", notes.at_port->repeat_due->psn, notes.at_port->repeat_due->number};
        notes.at_port->repeat_due.reset();
    }
    if (late(notes.at_port->answer_due)) {
        notes.at_port->overdue_answer =
            Silence{"ACK-01", notes.at_port->answer_due->psn, notes.at_port->answer_due->number};
        notes.at_port->answer_due.reset();
    }
}

void report_silence(const Case& at_hand, Excuses excuses) {
    Notes& notes = *at_hand.notes;
    const auto report = [&](std::optional<Silence>& silence, std::string_view before,
                            std::string_view behind) {
        if (!silence) return;
        at_hand.report_of(responder(at_hand), silence->rule, excuses, Evidence(silence->number),
                          std::string(before) + text_of(silence->psn) + std::string(behind));
        silence.reset();
    };
    report(notes.at_port->overdue_nak, "no NAK asks for ", ", which is missing before this packet");
    report(notes.at_port->overdue_answer, "the request at ", " asks for an answer, and none came");
    report(notes.at_port->overdue_repeat, "the duplicate at ",
           " asks for an answer again, and none came to those before");
}

} // namespace

void note_duties(const Case& at_hand) {
    if (!at_hand.knowledge.patience || !at_hand.packet.time) return;
    if (at_hand.packet.info().service != wire::Service::Rc) return;
    if (!at_hand.recorded_at(responder(at_hand).address)) return;
    if (at_hand.seen.kind == Class::Forgotten) return;
    at_hand.open_port();
    if (at_hand.response()) {
        note_response(at_hand);
    } else {
        note_request(at_hand);
    }
}

void judge_duties(const Case& at_hand, wire::Instant now, Sign sign) {
    Notes& notes = *at_hand.notes;
    if (!at_hand.knowledge.patience || !notes.at_port) return;
    if (notes.fatal_nak) { // N-07: the QP is silent
        notes.at_port->nak_due.reset();
        notes.at_port->answer_due.reset();
        notes.at_port->repeat_due.reset();
        notes.at_port->overdue_nak.reset();
        notes.at_port->overdue_answer.reset();
        notes.at_port->overdue_repeat.reset();
        return;
    }
    note_late(notes, *at_hand.knowledge.patience, now);
    if (sign == Sign::Alive) report_silence(at_hand, kUnseen);
    if (sign == Sign::Last) report_silence(at_hand, kUnseenOrClosed);
}

} // namespace veriroce::judge
