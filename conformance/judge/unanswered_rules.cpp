// ACK-01, N-17: requests without an answer when the capture ends, wherever it was recorded.
// silence_rules.cpp knows more where the responder's own port was recorded and its expected PSN is
// known; this file also sees a responder that says nothing from the first request on.
//
// The network may have lost the request, the answer may take another way, the QP may have ended: so
// the violation is possible. It is certain only if the capture is complete and was recorded at the
// responder's own port, if the caller says how long the device may take, and if the QP shows that
// it lives: it sends a request of its own after the answer was due, or is known to stay open.
#include "conformance/judge/context.hpp"

namespace veriroce::judge {
namespace {

using flow::Class;

constexpr Excuses kSilence{Excuse::CaptureLoss, Excuse::NetworkLoss, Excuse::NewLife,
                           Excuse::WrongPair,   Excuse::Closed,      Excuse::Slow};

bool asks(const flow::Packet& packet) {
    return packet.transport.bth.ack_request ||
           packet.info().operation == wire::Operation::RdmaReadRequest ||
           packet.info().headers.has(wire::Header::AtomicEth); // N-17
}

void note_request(Notes& notes, const flow::Packet& packet) {
    // RSP-10: a duplicate of what was acknowledged may be ignored.
    const bool old = notes.acknowledged && wire::distance(packet.psn(), *notes.acknowledged) > 0;
    if (!asks(packet) || old) return;
    std::optional<Unanswered>& waiting = notes.unanswered;
    const Pending asked{packet.psn(), packet.number, *packet.time};
    if (!waiting) {
        waiting = Unanswered{.oldest = asked, .latest = asked, .packets = 1};
        return;
    }
    ++waiting->packets;
    if (wire::distance(waiting->latest.psn, asked.psn) >= 0) waiting->latest = asked;
}

// Each response starts the wait again. After a NAK the requester must send again.
void note_response(Notes& notes, const flow::Packet& packet) {
    std::optional<Unanswered>& waiting = notes.unanswered;
    if (!waiting) return;
    const bool all = wire::distance(waiting->latest.psn, packet.psn()) >= 0;
    if (refuses(packet) || all) return waiting.reset();
    if (wire::distance(waiting->oldest.psn, packet.psn()) >= 0) {
        waiting->oldest = waiting->latest;
        waiting->packets = 1;
    }
    waiting->oldest.since = std::max(waiting->oldest.since, *packet.time);
}

} // namespace

void note_unanswered(const Context& context) {
    const flow::Packet& packet = context.packet;
    if (!context.assumptions.longest_silence || !packet.time) return;
    if (packet.info().service != wire::Service::Rc || context.seen.kind == Class::Forgotten) return;
    // READ responses may still leave a QP that has ended (STA-07).
    if (packet.info().operation != wire::Operation::RdmaReadResponse) {
        context.path->said = packet.time;
    }
    if (context.response()) {
        note_response(*context.notes, packet);
    } else {
        note_request(*context.notes, packet);
    }
}

void judge_unanswered(const Context& context, const Notes& responder, wire::Instant end) {
    const Notes& notes = *context.notes;
    const Unanswered& waiting = *notes.unanswered;
    const Assumptions& assumptions = context.assumptions;
    const wire::Duration longest = assumptions.patience.value_or(*assumptions.longest_silence);
    const wire::Duration silence = end - waiting.oldest.since;
    if (notes.fatal_nak || silence <= longest + assumptions.clock_error) return;
    const bool judged_by_arrivals =
        assumptions.patience && notes.at_port && notes.at_port->arrivals.known();
    if (judged_by_arrivals && context.recorded_at(context.packet.source)) return;
    Excuses excuses = kSilence;
    if (assumptions.patience) excuses = excuses.without(Excuse::Slow);
    const bool lives = responder.said && *responder.said - waiting.oldest.since > longest;
    if (lives) excuses = excuses.without(Excuse::Closed);
    const bool several = waiting.packets > 1;
    context.report("ACK-01", excuses, Evidence(waiting.oldest.number, waiting.latest.number),
                   {phrase({"the request at ", waiting.oldest.psn,
                            several ? phrase({" and ", waiting.packets - 1, " more ask"})
                                    : std::string(" asks"),
                            " for an answer, and none came within ", silence}),
                    phrase({"an answer must come within ", longest})});
}

} // namespace veriroce::judge
