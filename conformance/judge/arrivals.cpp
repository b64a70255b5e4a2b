#include "conformance/judge/arrivals.hpp"

#include <algorithm>

#include "conformance/judge/context.hpp"

namespace veriroce::judge {
namespace {

bool behind(wire::Psn psn, wire::Psn other) {
    return wire::distance(psn, other) > 0;
}

} // namespace

void Arrivals::begin_at(wire::Psn psn) {
    *this = Arrivals();
    known_ = true;
    sure_ = most_ = psn;
}

Arrivals::Effect Arrivals::request(wire::Psn psn, std::uint32_t span, bool sure) {
    Effect effect;
    if (!known_) return effect;
    const wire::Psn end = psn + span;
    effect.ahead = sure && behind(most_, psn);
    if (behind(psn, sure_)) {
        if (!again_) again_ = Range{.low = psn, .high = psn};
        if (behind(psn, again_->low)) again_->low = psn;
        if (behind(again_->high, psn)) again_->high = psn;
    }
    if (behind(sure_, psn)) {
        remember({.low = sure_, .high = behind(most_, psn) ? most_ : psn + -1});
    }
    if (!behind(most_, psn) && behind(most_, end)) most_ = end;
    if (sure && !waits_ && psn == sure_) {
        effect.taken = true;
        sure_ = end;
    }
    return effect;
}

void Arrivals::acknowledged(wire::Psn before, wire::Psn sent) {
    if (!known_) {
        const bool unplaced = unplaced_;
        begin_at(before);
        most_ = behind(before, sent) ? sent : before;
        if (unplaced) remember({.low = sure_, .high = most_});
        return;
    }
    if (again_ && behind(again_->low, before)) again_->low = before;
    if (again_ && behind(again_->high, before)) again_.reset();
    if (waits_ ? !behind(before, sure_) && before != sure_ : behind(sure_, before)) {
        sure_ = before;
        waits_ = false;
    }
    if (behind(most_, sure_)) most_ = sure_;
}

void Arrivals::not_ready(wire::Psn psn) {
    const bool retried = again_ && !behind(psn, again_->low);
    sure_ = psn;
    waits_ = true;
    if (behind(most_, sure_)) most_ = sure_;
    // What came behind the retry met one that had dropped the packets between (RNR-04).
    if (retried && behind(psn + 1, most_)) remember({.low = psn + 1, .high = most_ + -1});
    again_.reset();
}

std::optional<wire::Psn> Arrivals::expected() const {
    if (!known_ || waits_ || sure_ != most_) return std::nullopt;
    return sure_;
}

bool Arrivals::may_have_missed(wire::Psn psn) const {
    return std::any_of(missed_.begin(), missed_.begin() + missed_count_, [psn](Range range) {
        return !behind(psn, range.low) && !behind(range.high, psn);
    });
}

// Where there is no room the oldest two become one, with all that lies between them.
void Arrivals::remember(Range range) {
    if (missed_count_ > 0) {
        const Range& last = missed_[missed_count_ - 1];
        if (last.low == range.low && last.high == range.high) return;
    }
    if (missed_count_ == missed_.size()) {
        if (behind(missed_[0].low, missed_[1].low)) missed_[1].low = missed_[0].low;
        if (behind(missed_[1].high, missed_[0].high)) missed_[1].high = missed_[0].high;
        std::ranges::copy(missed_.begin() + 1, missed_.end(), missed_.begin());
        --missed_count_;
    }
    missed_[missed_count_++] = range;
}

// --- what a responder says is missing ---------------------------------------------------------

// RSP-02, RSP-09, LEN-07, CNP-12, CRC-07: held against what has come to it. Only where its own port
// was recorded.
namespace {

using flow::Class;
using flow::Extent;

const flow::End& responder(const Context& context) {
    return context.connection->ends[1 - context.seen.asking()];
}

// Whether a responder that expects this request must take it. What is wrong with it, or may be, is
// enough to doubt that: others than the judge look at it too.
bool must_be_taken(const Context& context) {
    const flow::Packet& packet = context.packet;
    const Notes& notes = *context.notes;
    if (packet.integrity != flow::Integrity::Good || packet.info().reserved()) return false;
    if (context.path->pkey && *context.path->pkey != packet.transport.bth.pkey) return false;
    if (std::ranges::find(notes.defects, packet.psn(), &Notes::Defect::psn) !=
        notes.defects.end()) {
        return false;
    }
    // RDR-09: what becomes of a READ more than was agreed is left open.
    const auto& limit = context.connection->ends[context.seen.from].attributes.max_rd_atomic;
    return notes.open_reads <= limit.value_or(1);
}

std::uint32_t span_of(const Context& context) {
    const flow::Packet& packet = context.packet;
    if (packet.info().operation != wire::Operation::RdmaReadRequest) return 1;
    const auto mtu = context.stream().mtu();
    return wire::packets_of(packet.transport.reth.dma_length, mtu.value_or(wire::Mtu::B4096));
}

bool span_known(const Context& context) {
    return context.stream().mtu().has_value() ||
           context.packet.info().operation != wire::Operation::RdmaReadRequest ||
           context.packet.transport.reth.dma_length <= 256;
}

// The first PSN behind the request that a response answers.
wire::Psn behind_answered(const Context& context) {
    const wire::Psn psn = context.packet.psn();
    const auto index = context.stream().index_of(psn);
    if (context.packet.info().operation != wire::Operation::RdmaReadResponse || !index) {
        return psn + 1;
    }
    const Extent& extent = context.stream().extents()[*index];
    return extent.read() && extent.span_known ? extent.last_psn() + 1 : psn + 1;
}

bool crosses_zero(const Extent& extent) {
    return (extent.last_psn() + 1).value() <= extent.psn.value();
}

struct Reason {
    std::string_view rule;
    std::string_view allowed; // why no NAK is due
};

// Why a NAK was sent that nothing ahead can have drawn, by what came last.
Reason reason_of(const Context& context) {
    const Notes& notes = *context.notes;
    const auto index = context.stream().index_of(context.packet.psn());
    const bool damaged = notes.at_port->damaged_number > notes.at_port->said_number;
    const bool cnp = notes.at_port->cnp_number > notes.at_port->said_number;
    if (notes.rnr_nak && notes.rnr_nak->psn == context.packet.psn())
        return {"RNR-04", "an RNR NAK said so already, and its wait goes on"};
    if (cnp && !damaged) return {"CNP-12", "only a CNP came, and nothing ahead of that PSN"};
    if (damaged && !cnp)
        return {"CRC-07", "only a packet with a wrong ICRC came, and nothing ahead of that PSN"};
    if (index) {
        const Extent& at = context.stream().extents()[*index];
        if (at.read() && at.length == 0) return {"LEN-07", "the empty READ with that PSN came"};
        const bool wraps = *index > 0 && context.stream().extents()[*index - 1].read() &&
                           crosses_zero(context.stream().extents()[*index - 1]);
        if (wraps) return {"RSP-09", "that PSN came, after a READ whose PSNs wrap at 0"};
        const bool has_come =
            !at.missing && wire::distance(at.psn, notes.at_port->arrivals.sure()) > 0;
        if (has_come) return {"RSP-02", "that PSN came in order"};
    }
    return {"RSP-02", "nothing ahead of that PSN came"};
}

void judge_nak(const Context& context) {
    Notes& notes = *context.notes;
    const wire::Psn psn = context.packet.psn();
    if (!notes.at_port->arrivals.known() || notes.at_port->arrivals.may_have_missed(psn)) return;
    const Reason reason = reason_of(context);
    context.report(reason.rule, kUnseen,
                   Evidence(context.packet.number,
                            std::max(notes.at_port->damaged_number, notes.at_port->cnp_number)),
                   {phrase({"the NAK expects ", psn}), std::string(reason.allowed)});
    notes.at_port->arrivals.forget();
}

void note_response(const Context& context) {
    Arrivals& arrivals = context.notes->at_port->arrivals;
    const flow::Packet& packet = context.packet;
    const wire::Psn psn = packet.psn();
    const wire::Psn next = context.stream().next();
    const bool told = packet.transport.headers.has(wire::Header::Aeth);
    const wire::Syndrome syndrome = told ? packet.transport.aeth.syndrome : wire::Syndrome{};
    if (context.seen.kind == Class::Forgotten) return;
    if (context.seen.kind == Class::Unsolicited) {
        // Of a PSN that was never sent, nothing follows.
        if (syndrome.nak_code() == wire::NakCode::PsnSequence) judge_nak(context);
        return;
    }
    switch (told ? syndrome.kind() : wire::AckKind::Ack) {
    case wire::AckKind::Ack: arrivals.acknowledged(behind_answered(context), next); break;
    case wire::AckKind::RnrNak: arrivals.not_ready(psn); break;
    case wire::AckKind::Reserved: break;
    case wire::AckKind::Nak:
        if (syndrome.nak_code() != wire::NakCode::PsnSequence) {
            arrivals.forget();
        } else {
            judge_nak(context);
            if (arrivals.known()) arrivals.acknowledged(psn, next);
        }
        break;
    }
}

} // namespace

void judge_arrivals(const Context& context) {
    Notes& notes = *context.notes;
    if (notes.at_port) notes.at_port->arrived = {};
    const wire::IpAddress& address = responder(context).address;
    // One that places out of order expects more than one PSN.
    if (!context.recorded_at(address) || context.out_of_order(address)) return;
    if (context.packet.info().service != wire::Service::Rc) return;
    context.open_port();
    if (!notes.at_port->arrivals_begun && context.stream().begin_known()) {
        notes.at_port->arrivals.begin_at(context.stream().begin());
    }
    notes.at_port->arrivals_begun = true;
    if (context.response()) {
        note_response(context);
        notes.at_port->said_number = context.packet.number;
        return;
    }
    if (context.seen.kind == Class::Forgotten) {
        notes.at_port->arrivals.lose_track();
    } else if (!span_known(context)) {
        notes.at_port->arrivals.forget();
    } else {
        notes.at_port->arrived = notes.at_port->arrivals.request(
            context.packet.psn(), span_of(context), must_be_taken(context));
    }
}

// Packets that must have no effect upon what is expected: a CNP, and whatever has a wrong ICRC.
void note_without_effect(const Context& context) {
    if (context.packet.info().reserved()) context.notes->unfollowed = true;
    const bool cnp = context.packet.info().operation == wire::Operation::Cnp;
    if (!context.notes->at_port || (!cnp && !context.packet.info().request())) return;
    const bool bad = context.packet.integrity == flow::Integrity::Bad;
    (bad ? context.notes->at_port->damaged_number : context.notes->at_port->cnp_number) =
        context.packet.number;
}

} // namespace veriroce::judge
