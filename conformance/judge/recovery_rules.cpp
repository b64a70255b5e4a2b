// What a requester does about a loss that it was told of: REQ-08, REQ-09, REQ-11. Judged only where
// its own port was recorded, so that what it was told is known.
#include "conformance/judge/case_at_hand.hpp"

namespace veriroce::judge {
namespace {

using flow::Class;
using flow::Extent;

// REQ-11: on a sequence NAK the requester sends again from its PSN. New packets that were on their
// way are tolerated, and so is a resend that was under way when the NAK came.
void judge_resume(const Case& at_hand) {
    Notes& notes = *at_hand.notes;
    const flow::Packet& packet = at_hand.packet;
    if (!notes.resume || !again(at_hand.seen.kind)) return;
    const bool from_there = wire::distance(notes.resume->psn, packet.psn()) <= 0;
    if (!from_there) {
        at_hand.report("REQ-11", kUnseen, Evidence(packet.number, notes.resume->number),
                       "the NAK expects " + text_of(notes.resume->psn) +
                           ", the requester goes on from " + text_of(packet.psn()));
    }
    notes.resume.reset();
}

// REQ-08, REQ-09: a READ or atomic whose answer is missing is asked for again after four timeouts
// at the latest. A requester that still begins new messages then is alive, and has forgotten it.
void judge_forgotten_read(const Case& at_hand) {
    Notes& notes = *at_hand.notes;
    const flow::Packet& packet = at_hand.packet;
    if (!notes.unanswered) return;
    if (again(at_hand.seen.kind)) {
        notes.unanswered.reset(); // whatever it begins with, a resend comes to it
        return;
    }
    const auto& timeout = at_hand.connection->ends[at_hand.seen.from].attributes.timeout;
    const auto longest = timeout ? wire::ack_timeout(*timeout) : std::nullopt;
    if (!longest || !packet.time || at_hand.seen.kind != Class::New) return;
    if (*packet.time - notes.unanswered->since <= 4 * *longest + at_hand.knowledge.clock_error) {
        return;
    }
    at_hand.report(notes.hole ? "REQ-09" : "REQ-08", kUnseen,
                   Evidence(packet.number, notes.unanswered->number),
                   text_of(notes.unanswered->psn) +
                       " is not answered as a whole, and is not asked for again");
    notes.unanswered.reset();
}

// The newest READ or atomic up to the response's PSN that lacks its answer, or a part of it.
void note_unanswered(const Case& at_hand) {
    Notes& notes = *at_hand.notes;
    const flow::Packet& packet = at_hand.packet;
    const flow::Stream& stream = at_hand.stream();
    const auto last = stream.index_of(packet.psn());
    if (notes.unanswered || !last || !packet.time) return;
    const auto newest = stream.last_before(*last + 1, &Extent::asks_for_data);
    if (!newest) return;
    const Extent& extent = stream.extents()[*newest];
    const auto at = stream.message_index(extent.message);
    if (!at) return;
    const flow::Message& message = stream.message(*at);
    const bool behind = wire::distance(extent.last_psn(), packet.psn()) > 0;
    const bool hole = message.lost_responses > 0 && message.retransmissions == 0;
    if (!hole && (message.answered || !behind)) return;
    notes.unanswered = Notes::Debt{extent.psn, packet.number, *packet.time};
    notes.hole = hole;
}

} // namespace

void judge_recovery(const Case& at_hand) {
    if (!at_hand.recorded_at(at_hand.packet.source)) return;
    judge_resume(at_hand);
    judge_forgotten_read(at_hand);
}

void note_told(const Case& at_hand) {
    if (!at_hand.recorded_at(at_hand.packet.destination)) return;
    if (at_hand.seen.kind == Class::Unsolicited || at_hand.seen.kind == Class::Forgotten) return;
    Notes& notes = *at_hand.notes;
    const flow::Packet& packet = at_hand.packet;
    const bool nak = packet.transport.headers.has(wire::Header::Aeth) &&
                     packet.transport.aeth.syndrome.nak_code() == wire::NakCode::PsnSequence;
    // REQ-18: what the network held back until later PSNs were acknowledged asks for nothing.
    const bool stale =
        nak && notes.acknowledged && wire::distance(packet.psn(), *notes.acknowledged) > 0;
    if (stale) return;
    if (nak && !notes.in_resend) {
        notes.resume = Notes::Refusal{.psn = packet.psn(), .number = packet.number};
    } else if (notes.resume && wire::distance(notes.resume->psn, packet.psn()) >= 0) {
        notes.resume.reset(); // it is acknowledged, or another matter now
    }
    const bool refused = packet.transport.headers.has(wire::Header::Aeth) &&
                         packet.transport.aeth.syndrome.kind() != wire::AckKind::Ack;
    if (!refused) note_unanswered(at_hand);
}

} // namespace veriroce::judge
