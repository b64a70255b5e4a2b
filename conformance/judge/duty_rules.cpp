// What a responder owes: ACK-01, RSP-02, RSP-10. Judged only where its own port was recorded
// completely, so that what arrived is known, and where it is known how long it may take.
#include "conformance/judge/case_at_hand.hpp"

namespace veriroce::judge {
namespace {

using flow::Class;
using flow::Extent;

const flow::End& responder(const Case& at_hand) {
    return at_hand.connection->ends[1 - at_hand.seen.asking()];
}

// The first PSN that did not arrive and is not acknowledged either.
const Extent* first_missing(const Case& at_hand) {
    const auto& extents = at_hand.stream().extents();
    const auto& acknowledged = at_hand.notes->acknowledged;
    for (std::size_t i = 0; i < extents.size(); ++i) {
        const bool open =
            !acknowledged || wire::distance(*acknowledged, extents[i].last_psn()) >= 0;
        if (extents[i].missing && open) return &extents[i];
    }
    return nullptr;
}

// RSP-10: a duplicate that asks for an answer gets one within three repeats.
constexpr std::uint32_t kRepeats = 3;

void judge_repeat(const Case& at_hand) {
    Notes& notes = *at_hand.notes;
    const flow::Packet& packet = at_hand.packet;
    const bool executed =
        notes.acknowledged && wire::distance(packet.psn(), *notes.acknowledged) > 0;
    if (at_hand.seen.kind != Class::Retransmission || !packet.transport.bth.ack_request) return;
    if (!executed || notes.repeated_psn != packet.psn()) notes.repeated_unanswered = 0;
    notes.repeated_psn = packet.psn();
    if (!executed || ++notes.repeated_unanswered <= kRepeats || notes.fatal_nak) return;
    at_hand.report_of(responder(at_hand), "RSP-10", kUnseen, Evidence(packet.number),
                      "the duplicate at " + text_of(packet.psn()) +
                          " asks for an answer again, and none came to those before");
    notes.repeated_unanswered = 0;
}

void note_request(const Case& at_hand) {
    judge_repeat(at_hand);
    Notes& notes = *at_hand.notes;
    const flow::Packet& packet = at_hand.packet;
    const Notes::Debt debt{packet.psn(), packet.number, *packet.time};
    const Extent* missing = first_missing(at_hand);
    if (missing == nullptr) {
        notes.nak_due.reset();
    } else if (!notes.nak_due || notes.nak_due->psn != missing->psn) {
        // RSP-03, RNR-04: with another NAK outstanding there is none for this.
        const bool paid = notes.nak_paid == missing->psn.value() + 1UL;
        const bool refused = notes.rnr_nak.has_value();
        notes.nak_due.reset();
        if (!paid && !refused) notes.nak_due = Notes::Debt{missing->psn, debt.number, debt.since};
    }
    const bool in_order = missing == nullptr || wire::distance(packet.psn(), missing->psn) > 0;
    const wire::OpcodeInfo& info = packet.info();
    const bool asks = packet.transport.bth.ack_request ||
                      info.operation == wire::Operation::RdmaReadRequest ||
                      info.headers.has(wire::Header::AtomicEth); // N-17
    // A duplicate may be ignored while another is answered: only new ones are owed an answer.
    if (in_order && asks && at_hand.seen.kind == Class::New && !notes.answer_due) {
        notes.answer_due = debt;
    }
}

void note_response(const Case& at_hand) {
    Notes& notes = *at_hand.notes;
    notes.repeated_unanswered = 0;
    const wire::Psn psn = at_hand.packet.psn();
    const bool covers = notes.answer_due && wire::distance(notes.answer_due->psn, psn) >= 0;
    const bool refuses = at_hand.packet.transport.headers.has(wire::Header::Aeth) &&
                         at_hand.packet.transport.aeth.syndrome.kind() != wire::AckKind::Ack;
    if (covers || refuses) notes.answer_due.reset();
    if (refuses) notes.nak_paid = psn.value() + 1UL;
    if (refuses && notes.nak_due && notes.nak_due->psn == psn) notes.nak_due.reset();
}

} // namespace

void note_duties(const Case& at_hand) {
    if (!at_hand.knowledge.patience || !at_hand.packet.time) return;
    if (at_hand.packet.info().service != wire::Service::Rc) return;
    if (!at_hand.recorded_at(responder(at_hand).address)) return;
    if (at_hand.seen.kind == Class::Forgotten) return;
    if (at_hand.response()) {
        note_response(at_hand);
    } else {
        note_request(at_hand);
    }
}

void judge_duties(const Case& at_hand, wire::Instant now) {
    Notes& notes = *at_hand.notes;
    const auto& patience = at_hand.knowledge.patience;
    if (!patience || notes.fatal_nak) return; // N-07: the QP is silent
    const auto late = [&](const std::optional<Notes::Debt>& debt) {
        return debt && now - debt->since > *patience;
    };
    if (late(notes.nak_due)) {
        at_hand.report_of(responder(at_hand), "RSP-02", kUnseen, Evidence(notes.nak_due->number),
                          "no NAK asks for " + text_of(notes.nak_due->psn) +
                              ", which is missing before this packet");
        notes.nak_paid = notes.nak_due->psn.value() + 1UL;
        notes.nak_due.reset();
    }
    if (late(notes.answer_due)) {
        at_hand.report_of(responder(at_hand), "ACK-01", kUnseen, Evidence(notes.answer_due->number),
                          "the request at " + text_of(notes.answer_due->psn) +
                              " asks for an answer, and none came");
        notes.answer_due.reset();
    }
}

} // namespace veriroce::judge
