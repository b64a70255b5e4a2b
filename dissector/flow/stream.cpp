// Requests: their classification and the stream's history.
#include "dissector/flow/stream.hpp"

#include <algorithm>
#include <span>

#include "dissector/flow/digest.hpp"

namespace veriroce::flow {
namespace {

constexpr std::size_t kFirstRoom = 16;
// With a wider history, comparing PSNs on the circle would be ambiguous.
constexpr std::uint32_t kMaxSpan = 0x700000;
// A sender that retransmits after being silent for this long had a timeout. Real timers start at 8
// us (TMO-01); a duplicate made by the network follows its original sooner.
constexpr auto kSilence = std::chrono::microseconds(50);

// Closing a QP and connecting it again takes longer than this.
constexpr auto kPause = std::chrono::milliseconds(1);
// A run of retransmissions continues even if the network lost up to this many packets of it.
constexpr std::int32_t kRunGap = 64;

std::uint32_t offset(wire::Psn from, wire::Psn to) {
    return (to.value() - from.value()) & wire::kMask24;
}

std::optional<wire::Mtu> mtu_of(std::uint32_t bytes) {
    for (const wire::Mtu mtu :
         {wire::Mtu::B256, wire::Mtu::B512, wire::Mtu::B1024, wire::Mtu::B2048, wire::Mtu::B4096}) {
        if (wire::bytes_of(mtu) == bytes) return mtu;
    }
    return std::nullopt;
}

} // namespace

void Stream::begin_at(wire::Psn psn) {
    started_ = true;
    begin_known_ = true;
    begin_ = next_ = unacknowledged_ = psn;
}

void Stream::set_mtu(wire::Mtu mtu) {
    if (mtu_) return;
    mtu_ = mtu;
    for (std::size_t i = 0; i < extents_.size(); ++i) {
        Extent& read = extents_[i];
        if (read.missing || read.span_known) continue;
        const std::uint32_t span = wire::packets_of(read.length, mtu);
        const bool last = i + 1 == extents_.size();
        if (last) next_ = read.psn + span;
        if (last) read.span = span;
        read.span_known = read.span == span; // otherwise a request after it was not seen
        if (const auto at = message_index(read.message)) messages_[*at].last = read.last_psn();
    }
    add_up(0);
}

void Stream::release(Budget& budget) {
    budget.extents_left += extents_.capacity();
    *this = Stream();
}

std::optional<std::size_t> Stream::index_of(wire::Psn psn) const {
    if (extents_.empty()) return std::nullopt;
    const wire::Psn front = extents_.front().psn;
    const std::uint32_t wanted = offset(front, psn);
    if (wanted >= offset(front, next_)) return std::nullopt;
    // Most look-ups are at the end. If every extent takes one PSN, the index follows from the PSN.
    if (wanted >= offset(front, extents_.back().psn)) return extents_.size() - 1;
    if (wanted < extents_.size() && extents_[wanted].psn == psn) return wanted;
    std::size_t low = 0;
    std::size_t high = extents_.size() - 1;
    while (high - low > 1) {
        const std::size_t middle = (low + high) / 2;
        if (offset(front, extents_[middle].psn) <= wanted) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

// Ordinals are consecutive, so the index can be computed.
std::optional<std::size_t> Stream::message_index(std::uint64_t ordinal) const {
    const std::uint64_t gone = last_ordinal_ - messages_.size();
    if (ordinal <= gone || ordinal > last_ordinal_) return std::nullopt;
    return static_cast<std::size_t>(ordinal - gone - 1);
}

std::optional<Bounds> Stream::ended_before(wire::Psn psn) const {
    const Bounds& gone = forgotten_sums_;
    if (extents_.empty() || psn == extents_.front().psn) {
        const wire::Psn known = extents_.empty() ? next_ : extents_.front().psn;
        if (!started_ || psn != known) return std::nullopt;
        return Bounds{.low = gone.low, .high = gone.low + gone.high};
    }
    const auto index = index_of(psn - 1);
    if (!index) return std::nullopt;
    const Extent& extent = extents_[*index];
    if (extent.last_psn() == psn - 1) {
        return Bounds{.low = extent.ends, .high = extent.ends + extent.unseen};
    }
    // Inside an extent: count what came before it, and the part of a gap that lies before the PSN.
    const std::uint64_t ends = *index > 0 ? extents_[*index - 1].ends : gone.low;
    const std::uint64_t unseen = *index > 0 ? extents_[*index - 1].unseen : gone.high;
    const std::uint64_t inside = extent.missing ? offset(extent.psn, psn) : 0;
    return Bounds{.low = ends, .high = ends + unseen + inside};
}

StreamResult Stream::request(const Packet& packet, Budget& budget, bool restartable) {
    ++counters_.requests;
    if (!started_) {
        begin_at(packet.psn());
        begin_known_ = false;
        first_seen_ = packet.psn();
    }
    learn_mtu_of(packet);
    guess_span_by_next(packet.psn());
    const std::int32_t ahead = wire::distance(next_, packet.psn());
    StreamResult result;
    if (ahead >= 0 && ahead <= kMaxGap) {
        result = append(packet, budget);
    } else if (const auto index = index_of(packet.psn())) {
        result = extents_[*index].missing ? fill(packet, *index, budget) : again(packet, *index);
    } else {
        result = far(packet, budget, restartable);
    }
    if (result.kind != Class::Forgotten) stray_.reset();
    // Signs of a reconnected QP: it starts at a different PSN after a pause, or sends different
    // content under a PSN that was used before.
    const bool paused = !packet.time || !last_time_ || *packet.time - *last_time_ >= kPause;
    const bool elsewhere = result.skipped > kWideGap || (result.skipped > 0 && paused);
    inconsistent_ = inconsistent_ || elsewhere || result.changed;
    last_time_ = packet.time;
    return result;
}

StreamResult Stream::append(const Packet& packet, Budget& budget) {
    StreamResult result{.kind = Class::New};
    const auto skipped = static_cast<std::uint32_t>(wire::distance(next_, packet.psn()));
    if (skipped > 0) {
        result.skipped_at_most =
            !extents_.empty() && !extents_.back().missing && !extents_.back().span_known;
        add_gap(packet.psn(), budget);
        result.damaged_skipped = !extents_.empty() && extents_.back().damaged;
        ++counters_.gaps;
        result.kind = Class::BeyondGap;
        result.skipped = skipped;
    }
    Extent extent = extent_of(packet);
    const std::size_t before = extents_.size();
    result.message = join_message(packet, extent, before, budget);
    add_back(extent, budget);
    next_ = extents_.empty() ? packet.psn() + extent.span : extents_.back().last_psn() + 1;
    run_.reset();
    return result;
}

// The PSNs before `end` were not seen, or came with a wrong ICRC. The gap stays one extent: a READ
// may fill all of it.
void Stream::add_gap(wire::Psn end, Budget& budget) {
    const auto inside = [&](wire::Psn psn) {
        return wire::distance(next_, psn) >= 0 && wire::distance(psn, end) > 0;
    };
    const auto known = std::span(damaged_ahead_).first(damaged_ahead_count_);
    add_back({.psn = next_,
              .span = static_cast<std::uint32_t>(wire::distance(next_, end)),
              .missing = true,
              .damaged = std::ranges::any_of(known, inside)},
             budget);
    damaged_ahead_count_ = 0;
    next_ = end;
}

// A request for a PSN that was not seen: splits the gap.
StreamResult Stream::fill(const Packet& packet, std::size_t index, Budget& budget) {
    const Cause cause = cause_of(packet, extents_[index]);
    const bool captured = extents_[index].lost_by_capture;
    // This needs up to two more extents, which may evict the oldest ones.
    const std::size_t before = extents_.size();
    if (!room(2, budget) || before - extents_.size() > index) return {};
    index -= before - extents_.size();
    const Extent gap = extents_[index];
    Extent extent = extent_of(packet);
    const std::uint32_t left = offset(gap.psn, packet.psn());
    extent.span = std::min(extent.span, gap.span - left);
    const std::uint32_t right = gap.span - left - extent.span;
    std::size_t at = index;
    if (left > 0) {
        extents_[at].span = left;
        extents_.insert(++at, extent);
    } else {
        extents_[at] = extent;
    }
    if (right > 0) {
        Extent rest = gap;
        rest.psn = packet.psn() + extent.span;
        rest.span = right;
        extents_.insert(at + 1, rest);
    }
    const std::size_t behind = at + (right > 0 ? 2 : 1);
    const Moment overtaken = behind < extents_.size() ? extents_[behind].first_time : Moment();
    const std::uint64_t ordinal = join_message(packet, extents_[at], at, budget);
    add_up(at > 0 ? at - 1 : 0);
    StreamResult result{.kind = Class::Retransmission, .cause = cause, .message = ordinal};
    result.overtaken = overtaken;
    result.before_first = !begin_known_ && wire::distance(packet.psn(), first_seen_) > 0;
    if (cause == Cause::None && !gap.damaged) {
        result.kind = Class::Reordered;
        ++counters_.reordered;
    } else {
        ++counters_.retransmissions;
        run_on(packet, packet.psn() + extent.span, cause);
    }
    if (!captured && result.kind == Class::Retransmission) counters_.lost_in_network += extent.span;
    return result;
}

StreamResult Stream::again(const Packet& packet, std::size_t index) {
    Extent& extent = extents_[index];
    const Cause cause = cause_of(packet, extent);
    ++counters_.repeated;
    StreamResult result{.kind = Class::Retransmission, .cause = cause, .message = extent.message};
    if (cause == Cause::None) {
        result.kind = Class::Duplicate;
        ++counters_.duplicates;
    } else {
        ++counters_.retransmissions;
        run_on(packet, extent.last_psn() + 1, cause);
        if (const auto at = message_index(extent.message)) ++messages_[*at].retransmissions;
    }
    if (packet.psn() == begin_ && wire::distance(unacknowledged_, begin_) < 0) {
        repeated_begin_ = true;
    }
    // A READ may be repeated in part, so its content is not compared.
    const std::uint64_t digest = extent.read() ? 0 : digest_of(packet);
    result.changed = (digest != 0 && extent.digest != 0 && digest != extent.digest) ||
                     extent.opcode != packet.transport.bth.opcode;
    result.previous = extent.last_time;
    result.previous_number = extent.last_number;
    result.inside_read = extent.read() && extent.span_known && packet.psn() != extent.psn &&
                         packet.info().operation == wire::Operation::RdmaReadRequest;
    extent.last_number = packet.number;
    extent.last_time = packet.time;
    if (extent.copies != 0xFFFF) ++extent.copies;
    extent.ack_request = extent.ack_request || packet.transport.bth.ack_request;
    if (extent.read() && packet.info().operation == wire::Operation::RdmaReadRequest) {
        if (const auto at = message_index(extent.message)) {
            Message& message = messages_[*at];
            message.next_response = message.retried_from = packet.psn();
            message.retried = true;
        }
    }
    return result;
}

void Stream::run_on(const Packet& packet, wire::Psn next, Cause cause) {
    const bool goes_on = run_ && run_->cause == cause &&
                         wire::distance(run_->first, packet.psn()) >= 0 &&
                         wire::distance(run_->next, packet.psn()) > -kRunGap;
    if (!goes_on) {
        run_ =
            Run{.first = packet.psn(), .next = next, .first_number = packet.number, .cause = cause};
    } else if (wire::distance(run_->next, next) > 0) {
        run_->next = next;
    }
}

// A PSN that is neither in the history nor close after it. If the next packet continues it, the QP
// has been reconnected.
StreamResult Stream::far(const Packet& packet, Budget& budget, bool restartable) {
    if (earlier(packet.psn(), budget)) return fill(packet, 0, budget);
    if (restartable && stray_ == packet.psn()) {
        restart(packet.psn());
        return append(packet, budget);
    }
    stray_ = packet.psn() + 1;
    ++counters_.forgotten;
    return {.kind = Class::Forgotten};
}

// A packet from before the first one that was seen: either it was overtaken, or the capture started
// in the middle. The PSNs in between become a gap, and the sums start again.
bool Stream::earlier(wire::Psn psn, Budget& budget) {
    if (begin_known_ || !complete_from_begin_ || extents_.empty()) return false;
    const wire::Psn front = extents_.front().psn;
    const std::int32_t before = wire::distance(psn, front);
    if (before <= 0 || before > kMaxGap || !room(3, budget) || !complete_from_begin_) return false;
    extents_.insert(0, {.psn = psn, .span = static_cast<std::uint32_t>(before), .missing = true});
    begin_ = psn;
    if (!any_answer_) unacknowledged_ = psn;
    add_up(0);
    ++generation_;
    return true;
}

void Stream::restart(wire::Psn psn) {
    ++generation_;
    complete_from_begin_ = true;
    extents_.clear();
    messages_.clear();
    last_ordinal_ = 0;
    forgotten_sums_ = {};
    run_.reset();
    asked_ = {};
    any_answer_ = repeated_begin_ = inconsistent_ = begin_known_ = false;
    begin_ = first_seen_ = next_ = unacknowledged_ = psn;
}

// Infers the cause of a retransmission from earlier packets. All packets of a run share one cause.
Cause Stream::cause_of(const Packet& packet, const Extent& extent) const {
    if (run_) {
        const std::int32_t ahead = wire::distance(run_->next, packet.psn());
        if (ahead >= 0 && ahead < kRunGap) return run_->cause;
        // Part of the run, but overtaken by later packets of it.
        const bool of_run = wire::distance(run_->first, packet.psn()) >= 0 && ahead < 0;
        if (of_run && extent.last_number < run_->first_number) return run_->cause;
    }
    if (asked_.cause != Cause::None) return asked_.cause;
    if (packet.time && last_time_ && *packet.time - *last_time_ >= kSilence) return Cause::Timeout;
    return Cause::None;
}

Extent Stream::extent_of(const Packet& packet) const {
    Extent extent;
    extent.psn = packet.psn();
    extent.opcode = packet.transport.bth.opcode;
    extent.ack_request = packet.transport.bth.ack_request;
    extent.copies = 1;
    extent.payload_bytes = static_cast<std::uint16_t>(std::min(packet.payload_bytes(), 0xFFFFU));
    extent.digest = digest_of(packet);
    if (packet.transport.headers.has(wire::Header::Reth)) {
        extent.virtual_address = packet.transport.reth.virtual_address;
        extent.rkey = packet.transport.reth.rkey.value;
        extent.length = packet.transport.reth.dma_length;
    }
    if (packet.info().operation == wire::Operation::RdmaReadRequest) {
        // N-36. While the path MTU is unknown, assume the fewest PSNs possible.
        extent.span_known = mtu_.has_value() || extent.length <= 256;
        extent.span = wire::packets_of(extent.length, mtu_.value_or(wire::Mtu::B4096));
        extent.span = std::min(extent.span, 0x7FFFFFU);
    }
    extent.first_number = extent.last_number = packet.number;
    extent.first_time = extent.last_time = packet.time;
    return extent;
}

// Makes room for `wanted` more extents: grows, or evicts the oldest.
bool Stream::room(std::size_t wanted, Budget& budget) {
    while (extents_.size() + wanted > extents_.capacity()) {
        const bool needed =
            !extents_.empty() && wire::distance(extents_.front().last_psn(), unacknowledged_) <= 0;
        const std::size_t more = extents_.capacity() == 0 ? kFirstRoom : extents_.capacity();
        const std::size_t bound = needed ? kMaxHistory : kAcknowledgedHistory;
        const bool wants_more = extents_.capacity() + more <= bound;
        if (wants_more && budget.extents_left >= more) {
            budget.take(more);
            extents_.grow(kFirstRoom, budget.memory);
            continue;
        }
        budget.refused = budget.refused || wants_more;
        if (extents_.empty()) {
            return false;
        } else {
            forget_oldest();
        }
    }
    return true;
}

void Stream::forget_oldest() {
    forgotten_sums_ = {.low = extents_.front().ends, .high = extents_.front().unseen};
    extents_.pop_front();
    complete_from_begin_ = false;
}

void Stream::add_back(Extent extent, Budget& budget) {
    while (!extents_.empty() && offset(extents_.front().psn, extent.psn) + extent.span > kMaxSpan) {
        forget_oldest();
    }
    if (!room(1, budget)) return;
    extents_.push_back(extent);
    add_up(extents_.size() - 1);
}

// Recomputes the sums from this extent on.
void Stream::add_up(std::size_t from) {
    for (std::size_t i = from; i < extents_.size(); ++i) {
        const std::uint64_t ends = i > 0 ? extents_[i - 1].ends : forgotten_sums_.low;
        const std::uint64_t unseen = i > 0 ? extents_[i - 1].unseen : forgotten_sums_.high;
        Extent& extent = extents_[i];
        extent.ends = ends + (!extent.missing && extent.info().ends_message() ? 1 : 0);
        // Other messages may have ended within the PSNs that a READ is only guessed to take.
        const std::uint32_t guessed = extent.span_known ? 0 : extent.span - 1;
        extent.unseen = unseen + (extent.missing ? extent.span : guessed);
    }
}

void Stream::damaged(const Packet& packet) {
    if (!started_) return;
    if (const auto index = index_of(packet.psn())) {
        if (extents_[*index].missing) extents_[*index].damaged = true;
        return;
    }
    const std::int32_t ahead = wire::distance(next_, packet.psn());
    if (ahead < 0 || ahead > kMaxGap) return;
    if (damaged_ahead_count_ == damaged_ahead_.size()) return; // one is enough for a gap
    damaged_ahead_[damaged_ahead_count_++] = packet.psn();
}

bool Stream::damaged_ahead(wire::Psn psn) const {
    const auto known = std::span(damaged_ahead_).first(damaged_ahead_count_);
    return std::ranges::find(known, psn) != known.end();
}

// The payload of a FIRST or MIDDLE packet is one path MTU long (LEN-10).
void Stream::learn_mtu_of(const Packet& packet) {
    if (mtu_ || packet.info().ends_message() || !packet.info().carries_payload()) return;
    if (const auto mtu = mtu_of(packet.payload_bytes())) set_mtu(*mtu);
}

// A READ sent before the path MTU was known: the next request's PSN shows how many PSNs the READ
// took, if no packet in between was lost. This stays a guess until a packet shows the path MTU.
void Stream::guess_span_by_next(wire::Psn psn) {
    if (mtu_ || extents_.empty() || extents_.back().span_known) return;
    Extent& read = extents_.back();
    for (const wire::Mtu mtu :
         {wire::Mtu::B256, wire::Mtu::B512, wire::Mtu::B1024, wire::Mtu::B2048, wire::Mtu::B4096}) {
        if (wire::packets_of(read.length, mtu) != offset(read.psn, psn)) continue;
        read.span = offset(read.psn, psn);
        next_ = psn;
        if (const auto at = message_index(read.message)) messages_[*at].last = read.last_psn();
        add_up(extents_.size() - 1);
        return;
    }
}

} // namespace veriroce::flow
