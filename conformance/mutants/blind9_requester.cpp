// Written blind, ninth sample: what a requester sends, sends again and makes of answers, and what
// its host sees.
#include <deque>
#include <map>
#include <set>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/of_first_qp.hpp"

namespace veriroce::mutants::of_blind9_requester {
namespace {

using engine::Completion;
using engine::kStandardChecks;
using engine::QpState;
using engine::SendCheck;
using engine::SendView;
using engine::SurfaceFilter;
using engine::WcStatus;
using engine::WrOpcode;
using wire::Operation;
using wire::Position;

// --- checks

bool fence_counts_in_two_bits(const SendView& view) {
    return view.outbound.outstanding_rd_atomic % 4 == 0 || engine::send_check::fence(view);
}

bool all_requests_need_credits(const SendView& view) {
    return view.outbound.credits.allows(view.ssn, 1) ||
           view.outbound.unacked_psn == view.outbound.next_psn;
}

// --- what was posted

bool is_local(const engine::SendRequest& request) {
    return request.opcode == WrOpcode::BindMw || request.opcode == WrOpcode::LocalInv;
}

struct Post {
    std::uint64_t id = 0;
    WrOpcode opcode = WrOpcode::Send;
    std::vector<engine::Sge> pieces;
    engine::SendFlags flags;
    bool local = false;
    wire::Psn first; // once it has left
    std::uint32_t packets = 1;

    [[nodiscard]] std::uint64_t bytes() const {
        std::uint64_t sum = 0;
        for (const engine::Sge& piece : pieces)
            sum += piece.length;
        return sum;
    }
    [[nodiscard]] bool takes(wire::Psn psn) const {
        const std::int32_t at = wire::distance(first, psn);
        return at >= 0 && at < static_cast<std::int32_t>(packets);
    }
    [[nodiscard]] bool wants_response() const { return engine::wants_response(opcode); }
};

struct Sent : Outgoing {
    std::deque<Post> posts; // that have left, the oldest first
    std::vector<std::byte> body;

    [[nodiscard]] std::optional<Post> at(wire::Psn psn) const {
        const auto post =
            std::ranges::find_if(posts, [psn](const Post& one) { return one.takes(psn); });
        return post == posts.end() ? std::nullopt : std::optional(*post);
    }
};

// A filter that knows which request of its host a packet belongs to.
template <std::derived_from<Sent> Memory = Sent>
class FollowsPosts : public DmaFilter<Memory> {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        waiting_[qpn].push_back({.id = request.id,
                                 .opcode = request.opcode,
                                 .pieces = {request.sges.begin(), request.sges.end()},
                                 .flags = request.flags,
                                 .local = is_local(request)});
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state == QpState::Reset) waiting_.erase(qpn);
    }

  protected:
    using typename QpFilter<Memory>::Qp;

    virtual void local_work_passed(Qp& /*qp*/, wire::Psn /*next*/) {}
    virtual void request_leaves(Qp& /*qp*/, Passage& /*passage*/, const Post& /*post*/,
                                bool /*again*/) {}
    virtual void answer_arrives(Qp& /*qp*/, Passage& /*passage*/) {} // before it is noted

    void leaves(Qp& qp, Passage& passage) final {
        const wire::Packet packet = passage.packet;
        Memory& memory = qp.memory;
        if (!packet.info().request()) return;
        const bool again = memory.note_request(packet, qp.mtu());
        if (!again && packet.info().starts_message()) begin(qp, packet.bth.psn);
        if (const auto post = memory.at(packet.bth.psn)) request_leaves(qp, passage, *post, again);
    }
    void arrives(Qp& qp, Passage& passage) final {
        if (!passage.packet.info().response()) return;
        const wire::Packet as_it_came = passage.packet;
        answer_arrives(qp, passage);
        if (!passage.dropped) qp.memory.note_answer(as_it_came);
    }

  private:
    void begin(Qp& qp, wire::Psn psn) {
        constexpr std::size_t most = 1024; // requests that are remembered
        auto& waiting = waiting_[qp.report.qpn];
        for (; !waiting.empty() && waiting.front().local; waiting.pop_front())
            local_work_passed(qp, psn);
        if (waiting.empty()) return;
        Post post = std::move(waiting.front());
        waiting.pop_front();
        post.first = psn;
        post.packets = wire::packets_of(post.bytes(), qp.mtu());
        qp.memory.posts.push_back(std::move(post));
        if (qp.memory.posts.size() > most) qp.memory.posts.pop_front();
    }

    std::map<wire::Qpn, std::deque<Post>> waiting_; // posted, and not yet on their way
};

struct Shift {
    wire::Psn from; // as the engine counts
    std::int32_t by = 0;
};

struct ShiftedSent : Sent {
    std::vector<Shift> shifts; // the newest last
};

class LocalWorkTakesPsn final : public FollowsPosts<ShiftedSent> {
  protected:
    void local_work_passed(Qp& qp, wire::Psn next) override {
        auto& shifts = qp.memory.shifts;
        const std::int32_t before = shifts.empty() ? 0 : shifts.back().by;
        if (!shifts.empty() && shifts.back().from == next) {
            ++shifts.back().by;
        } else {
            shifts.push_back({.from = next, .by = before + 1});
        }
    }
    void request_leaves(Qp& qp, Passage& passage, const Post& /*post*/, bool /*again*/) override {
        const auto& shifts = qp.memory.shifts;
        wire::Psn& psn = passage.packet.bth.psn;
        const auto shift = std::find_if(shifts.rbegin(), shifts.rend(), [psn](const Shift& one) {
            return wire::distance(one.from, psn) >= 0;
        });
        if (shift != shifts.rend()) psn += shift->by;
    }
    void answer_arrives(Qp& qp, Passage& passage) override {
        const auto& shifts = qp.memory.shifts;
        wire::Psn& psn = passage.packet.bth.psn;
        const auto shift = std::find_if(shifts.rbegin(), shifts.rend(), [psn](const Shift& one) {
            return wire::distance(one.from + one.by, psn) >= 0;
        });
        if (shift != shifts.rend()) psn += -shift->by;
    }
};

class ExcessOfReadWritten final : public FollowsPosts<> {
  protected:
    void answer_arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_read_response(packet) || !packet.info().ends_message()) return;
        const auto post = qp.memory.at(packet.bth.psn);
        if (!post || post->opcode != WrOpcode::RdmaRead || post->pieces.size() != 1) return;
        const std::uint64_t offset =
            static_cast<std::uint64_t>(wire::distance(post->first, packet.bth.psn)) *
            wire::bytes_of(qp.mtu());
        const std::uint64_t due = post->bytes() - std::min(post->bytes(), offset);
        if (packet.payload().size() <= due) return;
        const auto excess = packet.payload().subspan(due);
        const auto behind =
            regions().anywhere(post->pieces.front().address + post->bytes(), excess.size());
        if (!behind.empty()) std::ranges::copy(excess, behind.begin());
    }
};

class InlineBehindBlockZero final : public FollowsPosts<> {
  protected:
    void request_leaves(Qp& qp, Passage& passage, const Post& post, bool /*again*/) override {
        constexpr std::size_t block = 32;
        wire::Packet& packet = passage.packet;
        if (!post.flags.inline_data || packet.body.size() <= block) return;
        auto& body = qp.memory.body;
        body.assign(packet.body.begin(), packet.body.end());
        std::fill(body.begin() + block, body.end(), std::byte{0});
        packet.body = body;
    }
};

class ResentPiecesExchanged final : public FollowsPosts<> {
  protected:
    void request_leaves(Qp& qp, Passage& passage, const Post& post, bool again) override {
        wire::Packet& packet = passage.packet;
        const bool whole = packet.info().position == Position::Only &&
                           packet.info().carries_payload() &&
                           packet.payload().size() == post.bytes();
        if (!again || !whole || post.pieces.size() != 2) return;
        auto& body = qp.memory.body;
        body.assign(packet.body.begin(), packet.body.end());
        const auto payload = std::span(body).first(packet.payload().size());
        std::ranges::rotate(payload, payload.begin() + post.pieces.front().length);
        packet.body = body;
    }
};

class ReadResponseBeforeAckIgnored final : public FollowsPosts<> {
  protected:
    void answer_arrives(Qp& qp, Passage& passage) override {
        const auto& oldest = qp.memory.oldest;
        if (!is_read_response(passage.packet) || !oldest) return;
        const auto post = qp.memory.at(*oldest);
        const bool behind = wire::distance(*oldest, passage.packet.bth.psn) > 0;
        passage.dropped = post && !post->wants_response() && behind;
    }
};

class CoalescedAckCompletesNewest final : public FollowsPosts<> {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        const bool good =
            completion.queue == engine::Queue::Send && completion.status == WcStatus::Success;
        const auto lost = good ? lost_.find(completion.id) : lost_.end();
        if (lost == lost_.end()) return completion;
        lost_.erase(lost);
        return std::nullopt;
    }

  protected:
    void answer_arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_ack(packet) || !qp.memory.holds(packet.bth.psn)) return;
        std::optional<std::uint64_t> newest;
        for (const Post& post : qp.memory.posts) {
            const wire::Psn last = post.first + (std::int64_t{post.packets} - 1);
            if (wire::distance(*qp.memory.oldest, last) < 0) continue; // long since
            if (wire::distance(last, packet.bth.psn) < 0 || post.wants_response()) break;
            if (!post.flags.signaled) continue;
            if (newest) lost_.insert(*newest);
            newest = post.id;
        }
    }

  private:
    std::multiset<std::uint64_t> lost_; // wr_ids whose completion is not told
};

// --- READs that are not answered

// A filter that knows whether a QP waits for responses to READs.
class KnowsUnanswered : public FollowsPosts<> {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        FollowsPosts<>::modifying(qpn, attributes);
        auto& reads = reads_[qpn];
        if (!reads.empty()) changes(qpn, attributes);
        if (attributes.state == QpState::Reset) reads.clear();
    }

  protected:
    // While READs are unanswered.
    virtual void changes(wire::Qpn qpn, const engine::QpAttributes& attributes) = 0;
    virtual void leaving(wire::Qpn /*qpn*/, Passage& /*passage*/, const Post& /*post*/) {}

    void request_leaves(Qp& qp, Passage& passage, const Post& post, bool again) final {
        const wire::Psn last = post.first + (std::int64_t{post.packets} - 1);
        if (!again && is_read_request(passage.packet)) {
            reads_[qp.report.qpn].insert(last.value());
        }
        leaving(qp.report.qpn, passage, post);
    }
    void answer_arrives(Qp& qp, Passage& passage) final {
        if (is_read_response(passage.packet)) {
            reads_[qp.report.qpn].erase(passage.packet.bth.psn.value());
        }
    }

  private:
    std::map<wire::Qpn, std::set<std::uint32_t>> reads_; // last PSNs of those that wait
};

class FenceSurvivesReset final : public KnowsUnanswered {
  protected:
    void changes(wire::Qpn qpn, const engine::QpAttributes& attributes) override {
        if (attributes.state == QpState::Reset) stuck_.insert(qpn);
    }
    void leaving(wire::Qpn qpn, Passage& passage, const Post& post) override {
        passage.dropped = post.flags.fence && stuck_.contains(qpn);
    }

  private:
    std::set<wire::Qpn> stuck_;
};

class DrainBehindReadNotTold final : public KnowsUnanswered {
  public:
    std::optional<engine::Event> event(const engine::Event& event) override {
        if (event.type != engine::EventType::SqDrained || drains_ == 0) return event;
        --drains_;
        return std::nullopt;
    }

  protected:
    void changes(wire::Qpn /*qpn*/, const engine::QpAttributes& attributes) override {
        const bool told = attributes.sqd_async_notify.value_or(false);
        if (attributes.state == QpState::Sqd && told) ++drains_;
    }

  private:
    std::uint32_t drains_ = 0; // that will not be told
};

// --- what leaves

void solicited_immediate_write_is_plain(wire::Packet& packet) {
    const bool write = packet.info().operation == Operation::RdmaWrite;
    if (write && packet.info().immediate()) packet.bth.solicited = false;
}

struct Solicited : Outgoing {
    bool before = false;          // the message before was solicited
    std::set<std::uint32_t> psns; // that are solicited for that
};

class SolicitedSticksToNext final : public FollowsRequests<Solicited> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        const bool send = packet.info().operation == Operation::Send;
        if (!send || !packet.info().ends_message()) return;
        const std::uint32_t psn = packet.bth.psn.value();
        if (!again && std::exchange(qp.memory.before, packet.bth.solicited)) {
            qp.memory.psns.insert(psn);
        }
        packet.bth.solicited |= qp.memory.psns.contains(psn);
    }
};

struct NewestLength : Outgoing {
    std::uint32_t length = 0; // of the newest READ
};

class ResentReadHasNewestLength final : public FollowsRequests<NewestLength> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        if (!is_read_request(packet)) return;
        if (again) {
            packet.reth.dma_length = qp.memory.length;
        } else {
            qp.memory.length = packet.reth.dma_length;
        }
    }
};

// --- answers

struct Retried {
    std::optional<wire::Psn> psn; // of the NAK that was taken for a gap
};

class OperationalNakRetried final : public QpFilter<Retried> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        auto& psn = qp.memory.psn;
        if (!is_fatal_nak(packet) || psn == packet.bth.psn) return;
        if (packet.aeth.syndrome.nak_code() != wire::NakCode::RemoteOperational) return;
        psn = packet.bth.psn;
        packet.aeth.syndrome = wire::Syndrome::nak(wire::NakCode::PsnSequence);
    }
};

class ResponsePsnInSixteenBits final : public FollowsRequests<Outgoing> {
  protected:
    void answer_arrives(Qp& qp, Passage& passage) override {
        constexpr std::uint32_t compared = 0xFFFF;
        wire::Packet& packet = passage.packet;
        if (!qp.memory.oldest || qp.memory.holds(packet.bth.psn)) return;
        const std::uint32_t upper = qp.memory.oldest->value() & ~compared;
        const wire::Psn taken(upper | (packet.bth.psn.value() & compared));
        if (!qp.memory.holds(taken)) return;
        packet.bth.psn = taken;
        qp.memory.note_answer(packet);
    }
};

struct Used : Outgoing {
    std::uint32_t naks = 0; // since the QP was set up
};

// NAKs of one kind use up a count that progress does not reload. The NAK that is one too many ends
// the QP.
template <bool (*Counted)(const wire::Packet&), auto Most, WcStatus Status>
class NeverReloaded final : public FollowsRequests<Used> {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        Completion seen = completion;
        if (seen.status == WcStatus::RemOpErr && ended_ > 0) {
            --ended_;
            seen.status = Status;
        }
        return seen;
    }

  protected:
    void answer_arrives(Qp& qp, Passage& passage) override {
        constexpr std::uint8_t seven = 7;
        wire::Packet& packet = passage.packet;
        const std::uint8_t most = (qp.report.attributes.*Most).value_or(seven);
        if (most == seven || !Counted(packet) || !qp.memory.holds(packet.bth.psn)) return;
        if (++qp.memory.naks <= most) return;
        packet.aeth.syndrome = wire::Syndrome::nak(wire::NakCode::RemoteOperational);
        ++ended_;
        qp.memory.naks = 0;
    }

  private:
    std::uint32_t ended_ = 0; // QPs whose completion in error is still to come
};

using RnrRetriesNeverReloaded =
    NeverReloaded<is_rnr_nak, &engine::QpAttributes::rnr_retry, WcStatus::RnrRetryExcErr>;
using NakRetriesNeverReloaded =
    NeverReloaded<is_sequence_nak, &engine::QpAttributes::retry_count, WcStatus::RetryExcErr>;

// --- completions

class ReadTellsFirstPiece final : public SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        lengths_.erase(request.id);
        if (request.opcode != WrOpcode::RdmaRead || request.sges.size() < 2) return;
        lengths_.emplace(request.id, request.sges.front().length);
    }
    std::optional<Completion> completion(const Completion& completion) override {
        Completion seen = completion;
        const bool read =
            seen.queue == engine::Queue::Send && seen.opcode == engine::WcOpcode::RdmaRead;
        const auto length = read ? lengths_.find(seen.id) : lengths_.end();
        if (length != lengths_.end()) seen.byte_len = length->second;
        return seen;
    }

  private:
    std::map<std::uint64_t, std::uint32_t> lengths_; // by wr_id
};

class RnrRetriesToldAsTimeouts final : public SurfaceFilter {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        Completion seen = completion;
        if (seen.status == WcStatus::RnrRetryExcErr) seen.status = WcStatus::RetryExcErr;
        return seen;
    }
};

class LocalWorkNotFlushed final : public SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        local_.erase(request.id);
        if (is_local(request)) local_.insert(request.id);
    }
    std::optional<Completion> completion(const Completion& completion) override {
        const bool flushed =
            completion.queue == engine::Queue::Send && completion.status == WcStatus::WrFlushErr;
        if (flushed && local_.contains(completion.id)) return std::nullopt;
        return completion;
    }

  private:
    std::set<std::uint64_t> local_; // wr_ids
};

class LocalWorkCompletesFirst final : public SurfaceFilter {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        const auto before = newest_.find(qpn);
        if (is_local(request)) {
            const bool waits = before != newest_.end() && waiting_.contains(before->second);
            if (waits && request.flags.signaled) behind_[before->second] = request.id;
            newest_.erase(qpn);
            return;
        }
        newest_.insert_or_assign(qpn, request.id);
        if (request.flags.signaled) waiting_.insert(request.id);
    }
    void completions(const Completion& one, std::vector<Completion>& seen) override {
        if (one.queue != engine::Queue::Send) {
            seen.push_back(one);
            return;
        }
        waiting_.erase(one.id);
        const auto local = behind_.find(one.id);
        if (local != behind_.end() && one.status == WcStatus::Success) {
            held_.emplace(local->second, one);
            behind_.erase(local);
            return;
        }
        seen.push_back(one);
        const auto before = held_.find(one.id);
        if (before == held_.end()) return;
        seen.push_back(before->second);
        held_.erase(before);
    }

  private:
    std::map<wire::Qpn, std::uint64_t> newest_; // wr_id, if it is not local work
    std::set<std::uint64_t> waiting_;           // for their completion
    std::map<std::uint64_t, std::uint64_t> behind_;
    std::map<std::uint64_t, Completion> held_; // until that of this wr_id is told
};

constexpr std::array kMutants{
    Mutant{.name = "local_work_takes_psn",
           .rule = "REQ-01",
           .description = "A bind or a local invalidate takes a PSN, which no packet has.",
           .cases = "ext/unreliable-local-work req/local-work-once",
           .make_filter = make<LocalWorkTakesPsn>},
    Mutant{.name = "inline_behind_first_block_zero",
           .rule = "LEN-10",
           .description = "Of inline data the bytes behind the first 32 leave as zeros.",
           .cases = "sta/inline-while-drained",
           .make_filter = make<InlineBehindBlockZero>},
    Mutant{.name = "solicited_of_immediate_write_not_sent",
           .rule = "N-26",
           .description = "A solicited WRITE with immediate data leaves without SE.",
           .cases = "req/flags-in-turn",
           .make_filter = make<EditsOutbound<solicited_immediate_write_is_plain>>},
    Mutant{.name = "solicited_sticks_to_next",
           .rule = "N-26",
           .description = "The SEND behind a solicited one leaves with SE as well.",
           .cases = "req/each-kind-in-each-place req/flags-in-turn",
           .make_filter = make<SolicitedSticksToNext>},
    Mutant{.name = "fence_overlooks_four_reads",
           .rule = "REQ-28",
           .description = "A fence does not hold while four READs or atomics, or a multiple of "
                          "four, are unanswered.",
           .cases = "req/fence-behind-several-reads",
           .checks = kStandardChecks.with(SendCheck::Fence, fence_counts_in_two_bits)},
    Mutant{.name = "writes_wait_for_credits",
           .rule = "REQ-29",
           .level = "SHOULD",
           .description = "Plain WRITEs and READs wait for credits as SENDs do.",
           .checks = kStandardChecks.with(SendCheck::Credits, all_requests_need_credits),
           .behaviour = {.obey_credits = true}},
    Mutant{.name = "resent_pieces_exchanged",
           .rule = "REQ-31",
           .description = "The two pieces of a request of one packet change places when it is sent "
                          "again.",
           .cases = "req/pieces-of-resends",
           .make_filter = make<ResentPiecesExchanged>},
    Mutant{.name = "resent_read_has_newest_length",
           .rule = "REQ-10",
           .description = "A READ that is sent again asks for the length of the newest READ.",
           .make_filter = make<ResentReadHasNewestLength>},
    Mutant{.name = "operational_nak_retried",
           .rule = "REQ-16",
           .description = "The first NAK Remote Operational of a request is taken for a sequence "
                          "NAK.",
           .make_filter = make<OperationalNakRetried>},
    Mutant{.name = "response_psn_in_sixteen_bits",
           .rule = "REQ-07",
           .description = "Of the PSN of a response the lower 16 bits are compared.",
           .cases = "req/answers-beside-by-every-power",
           .make_filter = make<ResponsePsnInSixteenBits>},
    Mutant{.name = "excess_of_read_response_written",
           .rule = "REQ-22",
           .description = "What a READ response brings beyond the READ's length is written behind "
                          "its buffer.",
           .make_filter = make<ExcessOfReadWritten>},
    Mutant{.name = "read_response_before_ack_ignored",
           .rule = "REQ-26",
           .description = "A READ response is ignored while a SEND or WRITE before the READ is not "
                          "acknowledged.",
           .make_filter = make<ReadResponseBeforeAckIgnored>},
    Mutant{.name = "coalesced_ack_completes_newest_alone",
           .rule = "REQ-03",
           .description = "Of several requests that one ACK acknowledges the last one alone "
                          "completes.",
           .cases = "key/cq-filled-to-its-depth",
           .make_filter = make<CoalescedAckCompletesNewest>},
    Mutant{.name = "rnr_retries_never_reloaded",
           .rule = "RNR-11",
           .description = "RNR NAKs use up rnr_retry for good: no progress reloads it.",
           .make_filter = make<RnrRetriesNeverReloaded>},
    Mutant{.name = "nak_retries_never_reloaded",
           .rule = "REQ-14",
           .description = "Sequence NAKs use up retry_cnt for good: no progress reloads it.",
           .cases = "req/naks-give-retries-back",
           .make_filter = make<NakRetriesNeverReloaded>},
    Mutant{.name = "retry_count_of_first_qp",
           .rule = "TMO-03",
           .description = "All QPs have the retry_cnt of the QP that was connected first.",
           .cases = "tmo/retries-of-two-qps",
           .make_filter = make<OfFirstQp<&engine::QpAttributes::retry_count>>},
    Mutant{.name = "rnr_retries_told_as_timeouts",
           .rule = "RNR-09",
           .description = "A request that has used up rnr_retry completes as retry exceeded.",
           .make_filter = make<RnrRetriesToldAsTimeouts>},
    Mutant{.name = "read_tells_length_of_first_piece",
           .rule = "REQ-34",
           .description = "A READ into several pieces completes with the length of the first.",
           .cases = "req/read-into-pieces",
           .make_filter = make<ReadTellsFirstPiece>},
    Mutant{.name = "local_work_not_flushed",
           .rule = "STA-07",
           .description = "A bind or a local invalidate that is flushed does not complete.",
           .cases = "sta/local-work-flushed",
           .make_filter = make<LocalWorkNotFlushed>},
    Mutant{.name = "local_work_completes_first",
           .rule = "N-20",
           .description = "A bind or a local invalidate completes in front of the request before "
                          "it, if that one was unanswered when it was posted.",
           .cases = "n/local-work-in-order",
           .make_filter = make<LocalWorkCompletesFirst>},
    Mutant{.name = "fence_waits_for_reads_before_reset",
           .rule = "STA-10",
           .description =
               "If a READ was unanswered when the QP was reset, fenced requests of later "
               "connections never leave.",
           .cases = "sta/reset-forgets-fences",
           .make_filter = make<FenceSurvivesReset>},
    Mutant{.name = "drain_behind_read_not_told",
           .rule = "STA-06",
           .level = "SHOULD",
           .description = "SQ_DRAINED is not raised if a READ was unanswered when the QP went to "
                          "SQD.",
           .cases = "sta/drained-after-a-read",
           .make_filter = make<DrainBehindReadNotTold>},
};

} // namespace
} // namespace veriroce::mutants::of_blind9_requester

namespace veriroce::mutants {

std::span<const Mutant> blind9_requester() {
    return of_blind9_requester::kMutants;
}

} // namespace veriroce::mutants
