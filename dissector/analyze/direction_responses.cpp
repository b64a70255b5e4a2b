// Responses: progress, NAKs, missing READ responses, and the end of episodes.
#include <algorithm>

#include "dissector/analyze/direction_watch.hpp"

namespace veriroce::analyze {
namespace {

EpisodeKind kind_of(wire::Syndrome syndrome) {
    if (syndrome.kind() == wire::AckKind::RnrNak) return EpisodeKind::RnrNak;
    const bool sequence = syndrome.nak_code() == wire::NakCode::PsnSequence;
    return sequence ? EpisodeKind::SequenceNak : EpisodeKind::FatalNak;
}

// PSNs from `from` on and before `to` that READs wait for.
std::uint32_t read_psns_between(const flow::Stream& stream, wire::Psn from, wire::Psn to) {
    const auto first = stream.index_of(from);
    if (!first) return 0;
    std::uint32_t sum = 0;
    for (std::size_t i = *first; i < stream.extents().size(); ++i) {
        const flow::Extent& extent = stream.extents()[i];
        if (wire::distance(extent.psn, to) <= 0) break;
        if (!extent.read() || !extent.span_known) continue;
        const std::int32_t skip = std::max(0, wire::distance(extent.psn, from));
        const std::int32_t upto =
            std::min(static_cast<std::int32_t>(extent.span), wire::distance(extent.psn, to));
        if (upto > skip) sum += static_cast<std::uint32_t>(upto - skip);
    }
    return sum;
}

} // namespace

void DirectionWatch::response(Conversation& owner, std::uint8_t requester,
                              const flow::Packet& packet, const flow::Classified& seen,
                              const flow::Stream& stream) {
    Direction& facts = owner.directions[requester];
    begin_packet(stream);
    ++facts.response_packets;
    facts.response_bytes += packet.payload_bytes();
    if (packet.time && packet.payload_bytes() > 0) {
        facts.requested.add(*packet.time, packet.payload_bytes());
    }
    const Doing doing = outstanding_ ? Doing::Waiting : Doing::Idle;
    const bool aeth = packet.transport.headers.has(wire::Header::Aeth);
    const bool nak = aeth && packet.transport.aeth.syndrome.kind() != wire::AckKind::Ack;
    if (packet.info().operation == wire::Operation::Acknowledge && !nak) {
        ++facts.acks;
        if (seen.kind == flow::Class::Duplicate) ++facts.repeated_acks;
    }
    if (packet.info().operation == wire::Operation::RdmaReadResponse) {
        read_response(facts, packet, stream);
    }
    note_progress(owner, requester, packet, stream);
    if (nak) negative(owner, requester, packet, stream);
    facts.requests_not_captured = stream.counters().lost_by_capture;
    end_packet(facts, packet, stream, doing, true);
}

void DirectionWatch::note_progress(Conversation& owner, std::uint8_t requester,
                                   const flow::Packet& packet, const flow::Stream& stream) {
    const std::int32_t progress = wire::distance(unacknowledged_, stream.unacknowledged());
    unacknowledged_ = stream.unacknowledged();
    if (progress > 0) {
        if (outstanding_) patience_ = std::max(patience_, waited(packet).value_or(patience_));
        owner.directions[requester].acknowledged += static_cast<std::uint64_t>(progress);
        last_progress_ = packet.time;
        Trace* const trace = owner.directions[requester].trace.get();
        if (trace != nullptr && packet.time) {
            trace->acknowledged(*packet.time, unacknowledged_, packet.number);
        }
    }
    if (!open_) return;
    bool recovered = wire::distance(open_->psn, unacknowledged_) > 0;
    if (open_->read && open_->kind != EpisodeKind::SequenceNak &&
        open_->kind != EpisodeKind::RnrNak) {
        // Later responses may have acknowledged it long ago; what counts is that it comes again.
        const bool data = packet.info().operation == wire::Operation::RdmaReadResponse;
        const bool reaches = wire::distance(open_->psn, packet.psn()) >= 0;
        const bool again = wire::distance(packet.psn(), open_end_) > 0 ||
                           wire::distance(open_->psn, open_end_) <= 0;
        recovered = data && reaches && again;
    }
    if (!recovered) return;
    open_->recovered = true;
    open_->end = packet.time;
    open_->end_number = packet.number;
    close(owner);
}

void DirectionWatch::negative(Conversation& owner, std::uint8_t requester,
                              const flow::Packet& packet, const flow::Stream& stream) {
    Direction& facts = owner.directions[requester];
    const wire::Syndrome syndrome = packet.transport.aeth.syndrome;
    if (syndrome.kind() == wire::AckKind::Reserved) return;
    const EpisodeKind kind = kind_of(syndrome);
    if (kind == EpisodeKind::RnrNak) ++facts.rnr_naks;
    if (kind == EpisodeKind::SequenceNak) ++facts.sequence_naks;
    if (kind == EpisodeKind::FatalNak) ++facts.fatal_naks;
    if (facts.trace && packet.time) {
        const MarkKind mark = kind == EpisodeKind::RnrNak        ? MarkKind::RnrNak
                              : kind == EpisodeKind::SequenceNak ? MarkKind::SequenceNak
                                                                 : MarkKind::FatalNak;
        facts.trace->mark(mark, *packet.time, packet.psn(), packet.number);
    }
    // One that was overtaken by the ACK of what it asks for asks for nothing any more.
    const bool stale = wire::distance(packet.psn(), stream.unacknowledged()) > 0;
    if (stale && kind != EpisodeKind::FatalNak) return;
    const bool goes_on = open_ && open_->psn == packet.psn() && kind != EpisodeKind::FatalNak;
    if (!goes_on) {
        Episode episode;
        episode.kind = kind;
        episode.requester = requester;
        episode.psn = packet.psn();
        if (const auto at = stream.index_of(packet.psn())) {
            const flow::Extent& extent = stream.extents()[*at];
            episode.read = extent.read();
            if (!extent.missing && kind != EpisodeKind::SequenceNak) {
                episode.begin = extent.last_time;
                episode.begin_number = extent.last_number;
            }
        }
        if (kind == EpisodeKind::SequenceNak) judge_missed(episode, stream);
        open(owner, episode);
    }
    if (open_->naks == 0) {
        open_->syndrome = syndrome.value;
        open_->nak_number = packet.number;
        open_->nak = packet.time;
    }
    ++open_->naks;
    reacted_ = false;
}

// Where the packet went that the responder missed, and what showed it that it did.
void DirectionWatch::judge_missed(Episode& episode, const flow::Stream& stream) const {
    const auto at = stream.index_of(episode.psn);
    if (!at) return;
    const flow::Extent& missed = stream.extents()[*at];
    for (const Bad& bad : bad_) {
        const bool latest = missed.missing || bad.number > missed.last_number;
        if (bad.psn == episode.psn && latest) episode.verdict = Verdict::Damaged;
    }
    if (missed.missing) {
        for (const Gap& gap : gaps_) {
            if (!gap.has(episode.psn)) continue;
            episode.begin = gap.time;
            episode.begin_number = gap.number;
        }
        if (missed.damaged) episode.verdict = Verdict::Damaged;
        return; // how it comes later will tell
    }
    if (*at + 1 < stream.extents().size()) {
        const flow::Extent& next = stream.extents()[*at + 1];
        if (!next.missing && next.last_number > missed.last_number) {
            episode.begin = next.last_time;
            episode.begin_number = next.last_number;
        }
    }
    if (episode.verdict != Verdict::Unclear) return;
    if (std::ranges::find(late_, episode.psn) != late_.end()) {
        episode.verdict = Verdict::Overtaken;
        return;
    }
    // Before its predecessor it came too early to be taken.
    const bool first = *at == 0;
    const bool in_order = first || (!stream.extents()[*at - 1].missing &&
                                    stream.extents()[*at - 1].last_number < missed.last_number);
    if (in_order && missed.psn == episode.psn) episode.verdict = Verdict::Behind;
}

void DirectionWatch::read_response(Direction& facts, const flow::Packet& packet,
                                   const flow::Stream& stream) {
    const wire::Psn psn = packet.psn();
    const auto at = stream.index_of(psn);
    if (!at || !stream.extents()[*at].read()) return;
    if (!responses_known_) {
        responses_known_ = true;
        expected_response_ = stream.extents()[*at].psn;
        next_response_ = psn;
    }
    for (Gap& gap : response_gaps_) {
        if (gap.settled || !gap.has(psn)) continue;
        gap.settled = --gap.missing == 0; // it came late
        ++facts.reordered;
    }
    const bool new_high = wire::distance(next_response_, psn + 1) > 0;
    if (asked_again_ && psn != *asked_again_) {
        // On its way when the READ was asked for again, or the answer to something else.
        if (new_high) next_response_ = psn + 1;
        early_.push(psn);
        return;
    }
    if (asked_again_) expected_response_ = psn;
    asked_again_.reset();
    while (wire::distance(expected_response_, psn) > 0 &&
           std::ranges::find(early_, expected_response_) != early_.end()) {
        expected_response_ += 1;
    }
    if (wire::distance(expected_response_, psn) > 0) {
        const std::uint32_t missing = read_psns_between(stream, expected_response_, psn);
        if (missing > 0) {
            const auto gone = response_gaps_.push(
                {.first = expected_response_,
                 .span = static_cast<std::uint32_t>(wire::distance(expected_response_, psn)),
                 .missing = missing,
                 .identification = packet.identification,
                 .number = packet.number,
                 .time = packet.time,
                 .finished = facts.finished_messages()});
            if (gone && !gone->settled) {
                response_gaps_lost_ = true;
                settle(facts, *gone);
            }
        }
    }
    // A READ that the network copied is answered again, and changes nothing.
    if (wire::distance(expected_response_, psn + 1) > 0) expected_response_ = psn + 1;
    if (new_high) next_response_ = psn + 1;
}

// READ responses that are not in the capture. The requester asks again for what it lacks before it
// goes on for long.
void DirectionWatch::settle(Direction& facts, const Gap& gap) {
    if (gap.settled) return;
    const bool went_on = facts.finished_messages() >= gap.finished + 2;
    (went_on ? facts.responses_not_captured : facts.undecided) += gap.missing;
}

void DirectionWatch::open(Conversation& owner, const Episode& episode) {
    close(owner);
    open_ = episode;
    reacted_ = false;
}

void DirectionWatch::close(Conversation& owner) {
    if (!open_) return;
    const Episode& episode = *open_;
    Direction& facts = owner.directions[episode.requester];
    ++facts.episode_counts[static_cast<std::size_t>(episode.kind)];
    const auto verdict = static_cast<std::size_t>(episode.verdict);
    if (episode.kind == EpisodeKind::SequenceNak) ++facts.requests_missed[verdict];
    const bool asked =
        episode.kind == EpisodeKind::ImpliedNak || episode.kind == EpisodeKind::Timeout;
    const bool response = episode.inside && asked && episode.verdict != Verdict::Unclear;
    if (response) ++facts.responses_missed[verdict];
    if (owner.episodes.size() < kMostEpisodes) {
        owner.episodes.push_back(episode);
    } else {
        ++owner.more_episodes;
    }
    open_.reset();
}

void DirectionWatch::finish(Conversation& owner, std::uint8_t requester) {
    Direction& facts = owner.directions[requester];
    facts.open = open_;
    close(owner);
    for (const Gap& gap : response_gaps_)
        settle(facts, gap);
    const std::uint64_t settled = filled_ + facts.requests_not_captured;
    if (skipped_ > settled) facts.undecided += skipped_ - settled;
}

} // namespace veriroce::analyze
