#include "dissector/print/flow_notes.hpp"

#include "dissector/decode/flow_facts.hpp"
#include "dissector/print/append.hpp"
#include "dissector/wire/duration_text.hpp"

namespace veriroce::print {
namespace {

using decode::Dissection;
using decode::FlowFacts;

bool is_read(const Dissection& d) {
    return d.info().operation == wire::Operation::RdmaReadRequest;
}

bool is_nak(const Dissection& d) {
    return d.packet.headers.has(wire::Header::Aeth) &&
           d.packet.aeth.syndrome.kind() != wire::AckKind::Ack;
}

std::string_view cause_text(std::string_view cause) {
    if (cause == "sequence-nak") return ", sequence NAK";
    if (cause == "rnr-nak") return ", RNR NAK";
    if (cause == "implied-nak") return ", implied NAK";
    return {}; // a timeout, unless the capture lacks the NAK
}

std::string time_text(std::int64_t ns) {
    return wire::short_time(wire::Duration(ns));
}

void append_repetition(std::string& out, const Dissection& d, const FlowFacts& facts) {
    if (facts.retransmission) {
        out += " [Retransmission";
        if (facts.again_of != 0) append<" of {}">(out, facts.again_of);
        if (facts.again_after_ns) append<" after {}">(out, time_text(*facts.again_after_ns));
        append<"{}{}]">(out, cause_text(facts.cause),
                        facts.again_of != 0 ? "" : ", no intact copy before");
    }
    if (facts.duplicate) {
        append<" [Duplicate{} {}]">(out, is_read(d) ? " READ of" : " of", facts.again_of);
    }
    if (facts.reordered) out += " [Reordered]";
    if (facts.behind) out += " [Before the first PSN seen]";
    if (facts.changed) out += " [Contents changed]";
    if (facts.gap > 0) {
        append<" [PSN gap: {}{} missing{}]">(out, facts.gap_at_most ? "at most " : "", facts.gap,
                                             facts.gap_damaged ? " or damaged" : "");
    }
    if (facts.jump > 0) append<" [PSN jump: {} ahead]">(out, facts.jump);
}

// ", 35 us"
void append_latency(std::string& out, const FlowFacts& facts) {
    if (!facts.latency_ns) return;
    append<", {}">(out, time_text(*facts.latency_ns));
}

// "ACKs 118-123 and 2 PSNs not captured"; false if it acknowledges nothing new.
bool append_acknowledged(std::string& out, const FlowFacts& facts) {
    if (facts.acks_first == 0 && facts.acks_unseen == 0) return false;
    out += " [ACKs ";
    if (facts.acks_first != 0) {
        append<"{}">(out, facts.acks_first);
        if (facts.acks_last != facts.acks_first) append<"-{}">(out, facts.acks_last);
        if (facts.acks_unseen > 0) out += " and ";
    }
    if (facts.acks_unseen > 0) {
        append<"{} PSN{} not captured">(out, facts.acks_unseen, facts.acks_unseen == 1 ? "" : "s");
    }
    return true;
}

void append_nak(std::string& out, const Dissection& d, const FlowFacts& facts) {
    const bool sequence = d.packet.aeth.syndrome.nak_code() == wire::NakCode::PsnSequence;
    if (sequence && facts.kind != "new") return;
    if (sequence && facts.response_to == 0) {
        append<" [Asks for a PSN that {}]">(out, facts.damaged ? "came damaged" : "was not seen");
    } else if (sequence) {
        append<" [Asks for {} again]">(out, facts.response_to);
    } else if (facts.response_to != 0) {
        append<" [NAK of {}">(out, facts.response_to);
        append_latency(out, facts);
        out += ']';
    }
}

void append_answer(std::string& out, const Dissection& d, const FlowFacts& facts) {
    const bool acknowledge = d.info().operation == wire::Operation::Acknowledge;
    const bool nak = is_nak(d);
    if (append_acknowledged(out, facts)) {
        if (acknowledge && !nak) append_latency(out, facts);
        out += ']';
    }
    if (nak) return append_nak(out, d, facts);
    if (facts.response_gap > 0) append<" [PSN gap: {} missing]">(out, facts.response_gap);
    if (facts.unanswered > 0) append<" [{} not completed]">(out, facts.unanswered);
    if (facts.nothing_new) out += " [ACKs nothing new]";
    if (acknowledge || facts.response_to == 0) return;
    if (facts.duplicate) {
        append<" [Duplicate response to {}]">(out, facts.response_to);
    } else if (facts.perhaps_late) {
        append<" [Late or repeated response to {}]">(out, facts.response_to);
    } else {
        append<" [Response to {}{}">(out, facts.response_to,
                                     facts.to_earlier_copy ? " or an earlier copy" : "");
        append_latency(out, facts);
        out += ']';
    }
}

} // namespace

void append_flow_notes(std::string& out, const Dissection& dissection) {
    if (!dissection.layers.has(decode::LayerKind::Flow)) return;
    const FlowFacts& facts = *dissection.flow;
    if (facts.role == "responder") {
        append_answer(out, dissection, facts);
    } else {
        append_repetition(out, dissection, facts);
    }
}

} // namespace veriroce::print
