// Requests: what each one is, and the episodes in which packets are sent again.
#include "dissector/analyze/direction_watch.hpp"

#include <algorithm>

namespace veriroce::analyze {
namespace {

// As the tracker has it: a sender that sends again after such a silence had a timeout.
constexpr auto kSilence = std::chrono::microseconds(50);

bool is_read(const flow::Packet& packet) {
    return packet.info().operation == wire::Operation::RdmaReadRequest;
}

} // namespace

std::optional<bool> SendOrder::before(std::uint16_t one, std::uint16_t other) const {
    const bool trusted = ascending_ > 0 && ascending_ / 8 >= other_;
    const auto ahead = static_cast<std::int16_t>(other - one);
    if (!trusted || ahead == 0 || ahead >= kFar || ahead <= -kFar) return std::nullopt;
    return ahead > 0;
}

void DirectionWatch::begin_packet(const flow::Stream& stream) {
    if (known_ && generation_ == stream.generation()) return;
    if (!known_) unacknowledged_ = stream.unacknowledged();
    // A QP that was used again; or a packet from before the first one that was seen.
    const bool jumped =
        std::abs(wire::distance(unacknowledged_, stream.unacknowledged())) > flow::kMaxGap;
    if (jumped) unacknowledged_ = stream.unacknowledged();
    generation_ = stream.generation();
    known_ = true;
}

void DirectionWatch::end_packet(Direction& facts, const flow::Packet& packet,
                                const flow::Stream& stream, Doing doing, bool response) {
    if (packet.time) {
        if (reliable_ && last_time_ && *packet.time > *last_time_) {
            facts.spent[static_cast<std::size_t>(doing)].add(*packet.time - *last_time_,
                                                             packet.number);
        }
        last_time_ = packet.time;
        if (!facts.first_time) facts.first_time = packet.time;
        facts.last_time = packet.time;
        if (!response) last_request_ = packet.time;
    }
    if (facts.first_number == 0) facts.first_number = packet.number;
    facts.last_number = packet.number;
    facts.last_was_response = response;
    const std::int32_t open = wire::distance(stream.unacknowledged(), stream.next());
    outstanding_ = reliable_ && open > 0;
    facts.outstanding = outstanding_ ? static_cast<std::uint64_t>(open) : 0;
}

bool DirectionWatch::silent(const flow::Packet& packet) const {
    return packet.time && last_time_ && *packet.time - *last_time_ >= kSilence;
}

DirectionWatch::Sent DirectionWatch::sent_of(const flow::Packet& packet,
                                             const flow::Classified& seen) const {
    using enum flow::Class;
    switch (seen.kind) {
    case New:
    case BeyondGap: return Sent::First;
    case Reordered: return Sent::Late;
    case Retransmission: break;
    case Duplicate: return seen.sent_again.value_or(false) ? Sent::Again : Sent::Copy;
    case Unsolicited:
    case Forgotten:
    case Damaged:
    case Unpaired:
    case Outside: return Sent::Old;
    }
    if (!reliable_) return seen.previous ? Sent::Copy : Sent::Late; // nobody sends again
    return seen.previous ? Sent::Again : sent_of_first_copy(packet, seen);
}

// The first copy that came past may be the first that was sent: it is only called sent again if a
// device asked for it, if one came damaged, or if the sender sent it after the packet behind the
// gap.
DirectionWatch::Sent DirectionWatch::sent_of_first_copy(const flow::Packet& packet,
                                                        const flow::Classified& seen) const {
    std::optional<bool> after_gap;
    for (const Gap& gap : gaps_) {
        if (!gap.has(packet.psn())) continue;
        if (order_.before(packet.identification, gap.identification).value_or(false)) {
            return Sent::Late;
        }
        if (!gap.before_first) after_gap = order_.before(gap.identification, packet.identification);
    }
    const bool asked = seen.cause == flow::Cause::SequenceNak ||
                       seen.cause == flow::Cause::RnrNak || seen.cause == flow::Cause::Implied;
    const bool came_damaged = std::ranges::find(bad_, packet.psn(), &Bad::psn) != bad_.end();
    return asked || came_damaged || after_gap.value_or(false) ? Sent::Again : Sent::Late;
}

// A requester goes back and sends on from there: this packet goes back, or does not follow.
bool DirectionWatch::starts_run(const flow::Packet& packet) const {
    if (!run_next_) return true;
    if (open_ && open_->naks > 0 && !reacted_ && wire::distance(packet.psn(), open_->psn) >= 0) {
        return true;
    }
    constexpr std::int32_t kMostMissing = 64;
    const std::int32_t ahead = wire::distance(*run_next_, packet.psn());
    return ahead < 0 || ahead > kMostMissing;
}

std::optional<wire::Duration> DirectionWatch::waited(const flow::Packet& packet) const {
    flow::Moment from = last_request_;
    if (last_progress_ && (!from || *last_progress_ > *from)) from = last_progress_;
    if (!packet.time || !from || *packet.time <= *from) return std::nullopt;
    return *packet.time - *from;
}

// All packets of a run share a cause. A timeout is only named where the requester heard nothing,
// and where it did not wait so much longer before that its timer must be longer (TMO-01).
flow::Cause DirectionWatch::cause_of(const flow::Packet& packet, const flow::Classified& seen,
                                     bool answers_known) const {
    using enum flow::Cause;
    if (!starts_run(packet)) return run_cause_;
    if (open_ && open_->naks > 0 && !reacted_) {
        return open_->kind == EpisodeKind::RnrNak ? RnrNak : SequenceNak;
    }
    if (seen.kind == flow::Class::Duplicate || seen.cause == Implied) return Implied;
    constexpr int kLongestTimer = 4;
    const auto wait = waited(packet);
    const bool may_be_timer = wait && *wait * kLongestTimer >= patience_;
    return silent(packet) && may_be_timer && answers_known ? Timeout : None;
}

void DirectionWatch::request(Conversation& owner, std::uint8_t requester,
                             const flow::Packet& packet, const flow::Classified& seen,
                             const flow::Stream& stream, bool answers_known) {
    Direction& facts = owner.directions[requester];
    reliable_ = owner.service == wire::Service::Rc;
    begin_packet(stream);
    ++facts.request_packets;
    facts.request_bytes += packet.payload_bytes();
    if (packet.time && packet.payload_bytes() > 0) {
        facts.requested.add(*packet.time, packet.payload_bytes());
    }
    Sent sent = sent_of(packet, seen);
    const bool repeated = sent == Sent::Again || sent == Sent::Copy || sent == Sent::Old;
    if (repeated && came_after_all(owner, requester, packet)) sent = Sent::Late;
    const flow::Cause cause =
        sent == Sent::Again ? cause_of(packet, seen, answers_known) : flow::Cause::None;
    const Doing doing = doing_of(sent, packet, cause);
    if (facts.trace && packet.time) draw(*facts.trace, sent, cause, packet);
    switch (sent) {
    case Sent::First: first_request(facts, packet, seen, stream); break;
    case Sent::Late: late_request(facts, packet, seen); break;
    case Sent::Again: request_again(owner, requester, packet, seen, stream, cause); break;
    case Sent::Copy:
        ++facts.copies;
        ++facts.repeated;
        break;
    case Sent::Old: ++facts.forgotten; break;
    }
    if (!seen.previous && (sent == Sent::Late || sent == Sent::Again)) {
        const auto at = stream.index_of(packet.psn());
        if (at) filled_ += stream.extents()[*at].span;
    }
    end_packet(facts, packet, stream, doing, false);
}

void DirectionWatch::draw(Trace& trace, Sent sent, flow::Cause cause,
                          const flow::Packet& packet) const {
    const bool timeout = cause == flow::Cause::Timeout && starts_run(packet);
    switch (sent) {
    case Sent::First: trace.sent(*packet.time, packet.psn(), packet.number); break;
    case Sent::Late: trace.mark(MarkKind::Late, *packet.time, packet.psn(), packet.number); break;
    case Sent::Again:
        trace.mark(timeout ? MarkKind::Timeout : MarkKind::Again, *packet.time, packet.psn(),
                   packet.number);
        break;
    case Sent::Copy:
    case Sent::Old: break;
    }
}

Doing DirectionWatch::doing_of(Sent sent, const flow::Packet& packet, flow::Cause cause) const {
    if (!outstanding_ && sent != Sent::Again) return Doing::Idle;
    if (sent != Sent::Again) return Doing::Sending;
    if (!starts_run(packet)) return Doing::Resending;
    switch (cause) {
    case flow::Cause::None: return Doing::Resending;
    case flow::Cause::SequenceNak:
    case flow::Cause::Implied: return Doing::Reacting;
    case flow::Cause::RnrNak: return Doing::RnrWait;
    case flow::Cause::Timeout: return Doing::Timeout;
    }
    return Doing::Resending;
}

void DirectionWatch::first_request(Direction& facts, const flow::Packet& packet,
                                   const flow::Classified& seen, const flow::Stream& stream) {
    if (seen.kind == flow::Class::BeyondGap) {
        skipped_ += seen.skipped;
        gaps_.push({.first = packet.psn() - seen.skipped,
                    .span = seen.skipped,
                    .identification = packet.identification,
                    .number = packet.number,
                    .time = packet.time});
        order_.note(packet.identification);
    } else if (facts.first_number == 0) {
        // What comes from before it was overtaken, or sent again.
        gaps_.push({.first = packet.psn() - flow::kMaxGap,
                    .span = flow::kMaxGap,
                    .identification = packet.identification,
                    .number = packet.number,
                    .time = packet.time,
                    .before_first = true});
        order_.note(packet.identification);
    } else {
        order_.note_next(packet.identification);
    }
    run_next_.reset(); // it has caught up
    if (!reliable_) return;
    const std::int32_t open = wire::distance(stream.unacknowledged(), stream.next());
    if (open <= 0) return;
    facts.most_outstanding = std::max(facts.most_outstanding, static_cast<std::uint32_t>(open));
    facts.outstanding_sum += static_cast<std::uint64_t>(open);
    ++facts.outstanding_samples;
}

void DirectionWatch::late_request(Direction& facts, const flow::Packet& packet,
                                  const flow::Classified& seen) {
    ++facts.reordered;
    bool overtaken = seen.kind == flow::Class::Reordered;
    for (const Gap& gap : gaps_) {
        if (!gap.has(packet.psn())) continue;
        overtaken =
            overtaken || order_.before(packet.identification, gap.identification).value_or(false);
    }
    if (!overtaken) return;
    late_.push(packet.psn());
    const bool awaited = open_ && open_->kind == EpisodeKind::SequenceNak;
    if (awaited && open_->psn == packet.psn()) open_->verdict = Verdict::Overtaken;
}

void DirectionWatch::request_again(Conversation& owner, std::uint8_t requester,
                                   const flow::Packet& packet, const flow::Classified& seen,
                                   const flow::Stream& stream, flow::Cause cause) {
    Direction& facts = owner.directions[requester];
    ++facts.resent[static_cast<std::size_t>(cause)];
    facts.resent_bytes += packet.payload_bytes();
    if (seen.previous) ++facts.repeated;
    const bool read = is_read(packet);
    if (read) ++facts.reads_again;
    const bool acknowledged = wire::distance(packet.psn(), stream.unacknowledged()) > 0;
    if (acknowledged && !read) ++facts.resent_after_ack;
    Episode fresh;
    fresh.requester = requester;
    fresh.psn = packet.psn();
    fresh.read = read;
    fresh.begin = seen.previous;
    wire::Psn next = packet.psn() + 1;
    if (const auto at = stream.index_of(packet.psn())) {
        fresh.begin_number = stream.extents()[*at].first_number;
        next = stream.extents()[*at].last_psn() + 1;
        fresh.inside = read && stream.extents()[*at].psn != packet.psn();
    }
    if (fresh.begin_number == packet.number) fresh.begin_number = 0; // the first that was seen
    join_episode(owner, fresh, packet, cause, starts_run(packet));
    run_next_ = next;
    run_cause_ = cause;
    judge_lost(packet, seen);
    if (read && open_) read_again(*open_, packet);
}

// Opens an episode where none is open, and counts the packet in it.
void DirectionWatch::join_episode(Conversation& owner, const Episode& fresh,
                                  const flow::Packet& packet, flow::Cause cause, bool begins) {
    const bool behind = open_ && wire::distance(open_->psn, packet.psn()) >= 0;
    const bool opens =
        begins && !behind && (cause == flow::Cause::Timeout || cause == flow::Cause::Implied);
    if (opens) {
        Episode episode = fresh;
        episode.kind =
            cause == flow::Cause::Timeout ? EpisodeKind::Timeout : EpisodeKind::ImpliedNak;
        open(owner, episode);
        open_end_ = next_response_;
    }
    if (!open_) return;
    if (cause == flow::Cause::Timeout && begins) {
        ++open_->timeouts;
        time_out(owner.directions[fresh.requester], packet);
    }
    // What goes on behind it was on its way already.
    if (wire::distance(packet.psn(), open_->psn) >= 0) {
        if (open_->resent_number == 0) {
            open_->resent_number = packet.number;
            open_->first_resent = packet.time;
        }
        reacted_ = true;
    }
    if (open_->resent_number != 0) ++open_->resent;
}

void DirectionWatch::time_out(Direction& facts, const flow::Packet& packet) {
    ++facts.timeouts;
    facts.timeouts_in_a_row = std::max(facts.timeouts_in_a_row, open_->timeouts);
    const auto wait = waited(packet);
    if (!wait) return;
    facts.longest_timeout = std::max(facts.longest_timeout.value_or(*wait), *wait);
    // Only between two tries of one PSN is it certain that nothing else began the timer anew.
    if (open_->timeouts < 2) return;
    facts.timer = std::min(facts.timer.value_or(*wait), *wait);
}

// The first copy of the awaited packet never came past: was this one sent after the packet behind
// the gap?
void DirectionWatch::judge_lost(const flow::Packet& packet, const flow::Classified& seen) {
    if (!open_ || open_->kind != EpisodeKind::SequenceNak || open_->psn != packet.psn()) return;
    if (seen.previous || open_->verdict != Verdict::Unclear) return;
    for (const Gap& gap : gaps_) {
        if (gap.before_first || !gap.has(packet.psn())) continue;
        if (order_.before(gap.identification, packet.identification).value_or(false)) {
            open_->verdict = Verdict::Lost;
            lost_.push({packet.psn(), gap.identification});
        }
    }
}

// A packet that was called lost, because its retransmission came first: it was only very late.
bool DirectionWatch::came_after_all(Conversation& owner, std::uint8_t requester,
                                    const flow::Packet& packet) {
    const auto original = [&](const NotSeen& lost) {
        return lost.psn == packet.psn() &&
               order_.before(packet.identification, lost.identification).value_or(false);
    };
    if (std::ranges::none_of(lost_, original)) return false;
    const auto called_lost = [&](const Episode& episode) {
        return episode.requester == requester && episode.psn == packet.psn() &&
               episode.verdict == Verdict::Lost;
    };
    if (open_ && called_lost(*open_)) {
        open_->verdict = Verdict::Overtaken;
        return true;
    }
    for (Episode& episode : owner.episodes)
        if (called_lost(episode)) episode.verdict = Verdict::Overtaken;
    auto& missed = owner.directions[requester].requests_missed;
    auto& lost = missed[static_cast<std::size_t>(Verdict::Lost)];
    if (lost == 0) return true;
    --lost;
    ++missed[static_cast<std::size_t>(Verdict::Overtaken)];
    return true;
}

// Which of the responses the requester lacks. A READ that is asked for from its beginning may have
// another reason: the requester goes back over it to something that was refused (RNR-12).
void DirectionWatch::read_again(Episode& episode, const flow::Packet& packet) {
    const wire::Psn psn = packet.psn();
    bool missing = false;
    for (Gap& gap : response_gaps_) {
        if (gap.settled || wire::distance(psn, gap.first) < 0) continue;
        // Everything from here on is sent again.
        gap.settled = true;
        missing = missing || gap.has(psn);
    }
    const bool came = responses_known_ && wire::distance(psn, expected_response_) > 0;
    // Before the last answer has begun it is not known what came of it.
    const bool known = !asked_again_;
    if (known && episode.psn == psn && episode.inside && episode.verdict == Verdict::Unclear) {
        if (missing) episode.verdict = Verdict::Lost;
        if (!missing && came && !response_gaps_lost_) episode.verdict = Verdict::Behind;
    }
    if (known) early_.clear();
    if (known || wire::distance(psn, *asked_again_) > 0) asked_again_ = psn;
}

void DirectionWatch::damaged(Direction& facts, const flow::Packet& packet) {
    ++facts.damaged;
    bad_.push({packet.psn(), packet.number});
}

} // namespace veriroce::analyze
