// ACKs and NAKs: ACK-04, RSP-02, RSP-03, RSP-07, RSP-12, RNR-01, N-07, RDR-11.
#include "conformance/judge/context.hpp"

namespace veriroce::judge {
namespace {

using flow::Class;
using flow::Extent;

enum class Kind : std::uint8_t { Ack, SequenceNak, RnrNak, FatalNak, Data };

Kind kind_of(const flow::Packet& packet) {
    if (packet.info().operation != wire::Operation::Acknowledge) return Kind::Data;
    const wire::Syndrome syndrome = packet.transport.aeth.syndrome;
    if (syndrome.kind() == wire::AckKind::RnrNak) return Kind::RnrNak;
    if (syndrome.kind() != wire::AckKind::Nak) return Kind::Ack;
    return syndrome.nak_code() == wire::NakCode::PsnSequence ? Kind::SequenceNak : Kind::FatalNak;
}

// Whether a request that was sent again may be what the response answers: anything since the PSN
// was first sent, since a repetition may have overtaken the response on the way to the capture.
bool answers_repetition(const Context& context) {
    const Notes& notes = *context.notes;
    const auto index = context.stream().index_of(context.packet.psn());
    return notes.repeat && index &&
           notes.repeat->number > context.stream().extents()[*index].first_number;
}

// A response to a PSN that was never sent. In a capture that may lack packets this is how loss of
// the request by the capture looks.
bool judge_unsent(const Context& context, Kind kind) {
    if (context.seen.kind != Class::Unsolicited) return false;
    if (context.notes->unfollowed || !context.stream().started()) return true;
    // judge_arrivals can say why.
    const AtPort* port = context.notes->at_port.get();
    if (kind == Kind::SequenceNak && port != nullptr && port->arrivals.known()) return true;
    std::string_view rule;
    switch (kind) {
    case Kind::Ack:
    case Kind::FatalNak: rule = "ACK-04"; break;
    case Kind::SequenceNak: rule = "RSP-02"; break;
    case Kind::RnrNak: rule = "RNR-01"; break;
    case Kind::Data: rule = "RDR-02"; break;
    }
    if (kind != Kind::SequenceNak && context.stream().damaged_ahead(context.packet.psn())) {
        context.report("CRC-07", kUnseenOrOvertaken, Evidence(context.packet.number),
                       {phrase({"it answers ", context.packet.psn(),
                                ", which arrived only with a wrong ICRC"}),
                        "only requests that arrived may be answered"});
        return true;
    }
    context.report(rule, kUnseenOrOvertaken, Evidence(context.packet.number),
                   {phrase({"it has ", context.packet.psn(), ", which was not sent"}),
                    phrase({"only PSNs before ", context.stream().next().value(), " were sent"})});
    return true;
}

std::string what_of(const Extent& gap) {
    if (!gap.damaged) return ", which did not arrive";
    if (gap.span == 1) return ", which arrived only with a wrong ICRC";
    return phrase({" and ", gap.span - 1, " more, which did not come or only with a wrong ICRC"});
}

// An ACK says that everything up to its PSN arrived in order, a NAK that everything before it did.
void judge_gap_below(const Context& context, bool refuses) {
    const flow::Stream& stream = context.stream();
    const auto& extents = stream.extents();
    const auto last = stream.index_of(context.packet.psn() - (refuses ? 1 : 0));
    if (!last || !context.notes->acknowledged) return;
    for (std::size_t i = *last + 1; i-- > 0;) {
        const Extent& extent = extents[i];
        if (wire::distance(*context.notes->acknowledged, extent.last_psn()) < 0) return;
        if (!extent.missing) continue;
        // A READ's PSNs are a guess before the path MTU is known: this one may be among them.
        if (i > 0 && !extents[i - 1].span_known) return;
        const std::string_view rule = refuses ? "RSP-02" : "ACK-04";
        context.report(extent.damaged ? "CRC-07" : rule, kUnseenOrOvertaken,
                       Evidence(context.packet.number),
                       {phrase({"it acknowledges ", extent.psn, what_of(extent)}),
                        "only requests that arrived may be acknowledged"});
        return;
    }
}

// ACK-04: ACKs do not go back, save in the answer to a duplicate. Repeating the last is lawful.
void judge_going_back(const Context& context) {
    const Notes& notes = *context.notes;
    if (!notes.acknowledged || answers_repetition(context)) return;
    const wire::Psn psn = context.packet.psn();
    if (wire::distance(psn + 1, *notes.acknowledged) <= 0) return;
    if (!context.stream().index_of(psn)) return; // beyond the history
    constexpr Excuses kOrder{Excuse::CaptureLoss, Excuse::NetworkOrder, Excuse::NetworkCopy,
                             Excuse::NewLife, Excuse::WrongPair};
    context.report("ACK-04", kOrder, Evidence(context.packet.number, notes.acknowledged_number),
                   {phrase({"the ACK goes back to ", psn, ", and no request was sent again"}),
                    phrase({*notes.acknowledged - 1, " was acknowledged before"})});
}

// Whether the requester must wait out this RNR NAK. Behind an unanswered READ or atomic it
// counts as an implied NAK (RNR-12), and one with a wrong UDP checksum may be dropped (ENC-06). A
// resend under way that has not come to the refused request yet may go on, and one that a sequence
// NAK asked for before may have begun.
bool must_wait(const Context& context) {
    if (context.packet.integrity != flow::Integrity::Good) return false;
    const Notes& notes = *context.notes;
    if (notes.in_resend && wire::distance(notes.repeat->psn, context.packet.psn()) > 0)
        return false;
    if (notes.at_port && notes.at_port->resume &&
        wire::distance(notes.at_port->resume->psn, context.packet.psn()) >= 0)
        return false;
    const flow::Stream& stream = context.stream();
    const auto refused = stream.index_of(context.packet.psn());
    const auto data = stream.last_before(refused.value_or(0), &Extent::asks_for_data);
    if (!data) return true;
    const Extent& extent = stream.extents()[*data];
    const auto at = stream.message_index(extent.message);
    // Of a READ with a hole the last response need not have been taken (REQ-09), nor the answer to
    // what was asked for again: an earlier hole may be the reason (REQ-08).
    return at && extent.copies == 1 && stream.message(*at).answered &&
           stream.message(*at).lost_responses == 0;
}

// RDR-11: a READ is answered before what comes behind it is acknowledged. Only where the responses
// were recorded as they left: anywhere else the network may have lost them.
void judge_unanswered_read(const Context& context) {
    if (!context.recorded_at(context.packet.source)) return;
    // Responses that came before the two QPs were found to be a pair are in nobody's history.
    if (context.connection->pairing != flow::Pairing::Known) return;
    const flow::Stream& stream = context.stream();
    const auto last = stream.index_of(context.packet.psn());
    if (!last) return;
    const auto read = stream.last_before(*last + 1, &Extent::read);
    if (!read) return;
    const Extent& extent = stream.extents()[*read];
    const auto at = stream.message_index(extent.message);
    // RDR-04: of one that was asked for again, the first answer may have been whole.
    if (!at || stream.message(*at).answered || extent.copies > 1) return;
    // One that was overtaken may not have been followed when it came.
    if (*read < *last) {
        const std::uint64_t next_seen = stream.extents()[*read + 1].first_number;
        if (next_seen != 0 && next_seen < extent.first_number) return;
    }
    context.report("RDR-11", kUnseenOrOvertaken,
                   Evidence(context.packet.number, extent.first_number),
                   {phrase({"it acknowledges ", context.packet.psn()}),
                    phrase({"the READ at ", extent.psn, " must be answered first"})});
}

// RSP-02: the PSN of a sequence NAK is the expected one, and something ahead of it arrived.
void judge_sequence_nak(const Context& context) {
    const Notes& notes = *context.notes;
    const flow::Packet& packet = context.packet;
    const flow::Stream& stream = context.stream();
    const wire::Psn psn = packet.psn();
    if (notes.acknowledged && wire::distance(psn, *notes.acknowledged) > 0) {
        constexpr Excuses kLate{Excuse::NetworkOrder, Excuse::NetworkCopy, Excuse::NewLife,
                                Excuse::WrongPair};
        context.report("RSP-02", kLate, Evidence(packet.number, notes.acknowledged_number),
                       {phrase({"the NAK expects ", psn, ", which was acknowledged before"}),
                        phrase({"it must expect ", *notes.acknowledged, " or later"})});
        return;
    }
    if (context.recorded_at(packet.source)) return; // judge_arrivals knows better
    const auto index = stream.index_of(psn);
    const bool nothing_ahead =
        psn == stream.next() || (index && *index + 1 == stream.extents().size());
    if (nothing_ahead && !notes.unfollowed) {
        context.report(
            "RSP-02", kUnseenOrOvertaken, Evidence(packet.number),
            {phrase({"the NAK expects ", psn}), "nothing ahead of it was sent, so no NAK is due"});
    }
}

// RSP-03, RSP-07: one sequence NAK until the expected PSN arrives, and after that another PSN is
// expected. Between duplicates a device may NAK once more; an RNR NAK is another matter (RNR-04).
void judge_second_nak(const Context& context) {
    const Notes& notes = *context.notes;
    const flow::Packet& packet = context.packet;
    if (context.out_of_order(packet.source)) return; // it has other reasons
    if (!notes.sequence_nak || notes.sequence_nak->psn != packet.psn()) return;
    if (notes.last_rnr_number > notes.sequence_nak->number || notes.duplicate_below_nak) return;
    constexpr Excuses kAgain{Excuse::CaptureLoss, Excuse::NetworkCopy, Excuse::NewLife,
                             Excuse::WrongPair};
    const bool resent = notes.sequence_nak->resent;
    context.report(resent ? "RSP-07" : "RSP-03", kAgain,
                   Evidence(packet.number, notes.sequence_nak->number),
                   {phrase({"a second NAK expects ", packet.psn()}),
                    resent ? "one NAK is allowed, and that PSN was sent again since"
                           : "one NAK is allowed until that PSN arrives"});
}

// A fatal NAK ends the QP: it says nothing more, but READ responses may still be on their way.
void judge_after_death(const Context& context, Kind kind) {
    Notes& notes = *context.notes;
    if (!notes.fatal_nak || notes.fatal_reported || kind == Kind::Data) return;
    notes.fatal_reported = true;
    constexpr Excuses kAlive{Excuse::NetworkOrder, Excuse::NetworkCopy, Excuse::Reconnect,
                             Excuse::WrongPair};
    context.report("N-07", kAlive, Evidence(context.packet.number, notes.fatal_nak->number),
                   {"the QP still answers", "it must be silent after its fatal NAK"});
}

void judge_fatal_nak(const Context& context) {
    const Notes& notes = *context.notes;
    const wire::Psn psn = context.packet.psn();
    if (!notes.acknowledged || wire::distance(psn, *notes.acknowledged) <= 0) return;
    constexpr Excuses kLate{Excuse::NetworkOrder, Excuse::NetworkCopy, Excuse::NewLife,
                            Excuse::WrongPair};
    context.report("RSP-12", kLate, Evidence(context.packet.number, notes.acknowledged_number),
                   {phrase({"the NAK refuses ", psn, ", which was acknowledged before"}),
                    phrase({"it may refuse ", *notes.acknowledged, " or later"})});
}

void note(const Context& context, Kind kind) {
    Notes& notes = *context.notes;
    const flow::Packet& packet = context.packet;
    const Refusal refusal{.psn = packet.psn(),
                          .number = packet.number,
                          .time = packet.time,
                          .code = packet.transport.aeth.syndrome.code(),
                          .resent = false};
    wire::Psn arrived = packet.psn(); // the first that was not acknowledged
    // REQ-18: a NAK for what was acknowledged is nobody's.
    const bool stale = notes.acknowledged && wire::distance(packet.psn(), *notes.acknowledged) > 0;
    // Whatever else is said of the refused request, or of what is behind it, may end the wait.
    const bool ends_wait = notes.rnr_nak && wire::distance(notes.rnr_nak->psn, packet.psn()) >= 0;
    if (ends_wait && kind != Kind::RnrNak) notes.rnr_nak->waits = false;
    switch (kind) {
    case Kind::Ack:
    case Kind::Data: arrived = packet.psn() + 1; break;
    case Kind::SequenceNak:
        notes.sequence_nak = refusal;
        // One that was sent again before the NAK came may still reach the responder behind it.
        notes.duplicate_below_nak =
            notes.lowest_repeat && wire::distance(*notes.lowest_repeat, packet.psn()) > 0;
        notes.lowest_repeat.reset();
        break;
    case Kind::RnrNak:
        // A requester that waits already may go on when that wait is over, or begin a new one.
        if (!notes.rnr_nak || notes.rnr_nak->psn != packet.psn()) {
            notes.rnr_nak = refusal;
            notes.rnr_nak->waits = must_wait(context) && !stale;
        }
        notes.last_rnr_number = packet.number;
        break;
    case Kind::FatalNak:
        if (!notes.fatal_nak) notes.fatal_nak = refusal;
        break;
    }
    if (!notes.acknowledged || wire::distance(*notes.acknowledged, arrived) > 0) {
        notes.acknowledged = arrived;
        notes.acknowledged_number = packet.number;
    }
}

} // namespace

void judge_acknowledge(const Context& context) {
    const Kind kind = kind_of(context.packet);
    judge_after_death(context, kind);
    if (judge_unsent(context, kind)) return;
    if (context.seen.kind == Class::Forgotten) return;
    switch (kind) {
    case Kind::Ack:
        judge_gap_below(context, false);
        judge_going_back(context);
        judge_unanswered_read(context);
        break;
    case Kind::SequenceNak:
        judge_gap_below(context, true);
        judge_sequence_nak(context);
        judge_second_nak(context);
        break;
    case Kind::FatalNak: judge_fatal_nak(context); break;
    case Kind::RnrNak:
    case Kind::Data: break;
    }
    note(context, kind);
}

} // namespace veriroce::judge
