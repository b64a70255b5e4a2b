// What a requester does about a loss: REQ-08, REQ-09, REQ-11, TMO-01. Judged only where
// its own port was recorded, so that what it was told is known.
#include "conformance/judge/context.hpp"

namespace veriroce::judge {
namespace {

using flow::Class;
using flow::Extent;

// REQ-11: on a sequence NAK the requester sends again from its PSN. New packets that were on their
// way are tolerated, and so is a resend that was under way when the NAK came.
void judge_resume(const Context& context) {
    Notes& notes = *context.notes;
    const flow::Packet& packet = context.packet;
    if (!notes.at_port->resume || !again(context.seen.kind)) return;
    const bool from_there = wire::distance(notes.at_port->resume->psn, packet.psn()) <= 0;
    if (!from_there) {
        context.report("REQ-11", kUnseen, Evidence(packet.number, notes.at_port->resume->number),
                       {phrase({"the requester continues from ", packet.psn()}),
                        phrase({"the NAK expects ", notes.at_port->resume->psn})});
    }
    notes.at_port->resume.reset();
}

// REQ-08, REQ-09, TMO-01: what is not answered is sent again after four timeouts at the latest,
// whether a NAK, a hole or silence asks for it. A requester that says something later is alive.
void judge_overdue(const Context& context, wire::Duration longest, const Evidence& shown,
                   Excuses excuses) {
    Notes& notes = *context.notes;
    const flow::End& requester = context.connection->ends[context.seen.asking()];
    const auto within = [longest] {
        return phrase({"it must be sent again within ", longest, ", four timeouts"});
    };
    if (notes.at_port->unanswered) {
        context.report_of(requester, notes.at_port->hole ? "REQ-09" : "REQ-08", excuses, shown,
                          {phrase({"the request at ", notes.at_port->unanswered->psn,
                                   " has no complete answer, and was not sent again"}),
                           within()});
        notes.at_port->unanswered.reset();
    } else if (wire::distance(context.stream().unacknowledged(), notes.at_port->timer->psn) >= 0) {
        context.report_of(requester, "TMO-01", excuses, shown,
                          {phrase({context.stream().unacknowledged(),
                                   " is not acknowledged, and was not sent again"}),
                           within()});
    }
    notes.at_port->timer.reset();
}

// The timer begins with the last request that asks for an answer; what comes in may begin it anew
// (TMO-04), and the intervals after a resend may grow.
void note_timer(Notes& notes, const Context& context) {
    const flow::Packet& packet = context.packet;
    if (context.response()) {
        const bool new_said = context.seen.kind == Class::New;
        if (notes.at_port->timer) notes.at_port->timer->since = *packet.time;
        if (new_said && !refuses(packet)) notes.at_port->sent_again = false;
        return;
    }
    const bool asks = packet.transport.bth.ack_request ||
                      packet.info().operation == wire::Operation::RdmaReadRequest ||
                      packet.info().headers.has(wire::Header::AtomicEth);
    if (again(context.seen.kind)) {
        notes.at_port->sent_again = true;
        notes.at_port->unanswered.reset(); // whatever it begins with, a resend comes to it
    }
    if (asks) notes.at_port->timer = Pending{packet.psn(), packet.number, *packet.time};
}

// What answers it came late, overtaken by the response that showed it.
void note_late_answer(const Context& context) {
    Notes& notes = *context.notes;
    if (!notes.at_port->unanswered || !context.packet.info().response()) return;
    const auto index = context.stream().index_of(notes.at_port->unanswered->psn);
    if (!index || !context.stream().extents()[*index].asks_for_data()) return;
    const Extent& extent = context.stream().extents()[*index];
    const wire::Psn psn = context.packet.psn();
    const bool ack = context.packet.info().operation == wire::Operation::Acknowledge;
    const bool inside =
        wire::distance(extent.psn, psn) >= 0 && wire::distance(psn, extent.last_psn()) >= 0;
    if (ack || !inside) return;
    notes.at_port->answered_late = notes.at_port->unanswered->psn;
    notes.at_port->unanswered.reset();
}

// The newest READ or atomic up to the response's PSN that lacks its answer, or a part of it.
void note_unanswered_read(const Context& context) {
    Notes& notes = *context.notes;
    const flow::Packet& packet = context.packet;
    const flow::Stream& stream = context.stream();
    const auto last = stream.index_of(packet.psn());
    if (!last || !packet.time) return;
    const auto newest = stream.last_before(*last + 1, &Extent::asks_for_data);
    if (!newest) return;
    const Extent& extent = stream.extents()[*newest];
    const auto at = stream.message_index(extent.message);
    if (!at) return;
    const flow::Message& message = stream.message(*at);
    const bool behind = wire::distance(extent.last_psn(), packet.psn()) > 0;
    const bool hole = message.lost_responses > 0 && extent.copies == 1;
    if (!hole && (message.answered || !behind)) return;
    if (notes.at_port->unanswered || notes.at_port->answered_late == extent.psn) return;
    notes.at_port->unanswered = Pending{extent.psn, packet.number, *packet.time};
    notes.at_port->hole = hole;
}

} // namespace

void judge_recovery(const Context& context) {
    if (!context.recorded_at(context.packet.source)) return;
    context.open_port();
    judge_resume(context);
    if (context.packet.time) note_timer(*context.notes, context);
}

// Of the end that asks: what it has not done by now.
void judge_timer(const Context& context, wire::Instant now, Sign sign) {
    Notes& notes = *context.notes;
    const flow::End& requester = context.connection->ends[context.seen.asking()];
    if (sign == Sign::None || !notes.at_port || !notes.at_port->timer ||
        !context.recorded_at(requester.address))
        return;
    // RNR-10: no timeout ends the wait that an RNR NAK asks for.
    if (notes.at_port->sent_again || notes.rnr_nak || notes.fatal_nak) return;
    const auto& timeout = requester.attributes.timeout;
    const auto one = timeout ? wire::ack_timeout(*timeout) : std::nullopt;
    if (!one) return;
    const wire::Duration longest = 4 * *one;
    if (now - notes.at_port->timer->since <= longest + context.assumptions.clock_error) return;
    Excuses excuses = kUnseen;
    if (sign == Sign::Last) excuses = kUnseenOrClosed;
    judge_overdue(context, longest, Evidence(notes.at_port->timer->number), excuses);
}

void note_told(const Context& context) {
    if (!context.recorded_at(context.packet.destination)) return;
    context.open_port();
    if (context.packet.time) note_timer(*context.notes, context);
    if (context.seen.kind == Class::Unsolicited || context.seen.kind == Class::Forgotten) return;
    Notes& notes = *context.notes;
    const flow::Packet& packet = context.packet;
    const bool nak = packet.transport.headers.has(wire::Header::Aeth) &&
                     packet.transport.aeth.syndrome.nak_code() == wire::NakCode::PsnSequence;
    notes.at_port->told = packet.time;
    // REQ-18: what the network held back until later PSNs were acknowledged asks for nothing; nor
    // does a NAK of what was never asked.
    const auto is_before = [&](wire::Psn psn) { return wire::distance(packet.psn(), psn) > 0; };
    const bool stale = nak && (is_before(context.stream().unacknowledged()) ||
                               (notes.acknowledged && is_before(*notes.acknowledged)));
    if (stale) return;
    if (nak && !notes.in_resend) {
        notes.at_port->resume = Refusal{.psn = packet.psn(), .number = packet.number};
    } else if (notes.at_port->resume &&
               wire::distance(notes.at_port->resume->psn, packet.psn()) >= 0) {
        notes.at_port->resume.reset(); // it is acknowledged, or another matter now
    }
    if (refuses(packet)) return;
    note_late_answer(context);
    note_unanswered_read(context);
}

} // namespace veriroce::judge
