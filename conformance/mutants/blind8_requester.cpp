// Written blind, eighth sample: what a requester sends, sends again and makes of answers, and what
// its host sees.
#include <map>
#include <set>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"

namespace veriroce::mutants::of_blind8_requester {
namespace {

using engine::Completion;
using engine::kStandardChecks;
using engine::OwnedDatagram;
using engine::QpState;
using engine::SendCheck;
using engine::SendView;
using engine::SurfaceFilter;
using engine::WcStatus;
using engine::WrOpcode;
using wire::Operation;
using wire::Position;

// --- checks

bool fence_ends_with_retry(const SendView& view) {
    return view.outbound.retries > 0 || engine::send_check::fence(view);
}

bool flushes_have_no_limit(const SendView& view) {
    const WrOpcode opcode = view.request.opcode;
    return opcode == WrOpcode::Flush || opcode == WrOpcode::AtomicWrite ||
           engine::send_check::rd_atomic(view);
}

bool one_rnr_retry_at_least(const SendView& view) {
    const bool first = view.connection.rnr_retry == 0 && view.outbound.rnr_retries == 0;
    return first || engine::send_check::rnr_retry_left(view);
}

bool retries_for_ever_in_sqd(const SendView& view) {
    return view.connection.state == QpState::Sqd || engine::send_check::retry_left(view);
}

// --- SQD

class NoRnrWaitInSqd final : public QpFilter<Nothing> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_rnr_nak(packet) || qp.report.state != QpState::Sqd) return;
        packet.aeth.syndrome = wire::Syndrome::nak(wire::NakCode::PsnSequence);
    }
};

class FatalNakIgnoredInSqd final : public QpFilter<Nothing> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        passage.dropped = is_fatal_nak(passage.packet) && qp.report.state == QpState::Sqd;
    }
};

// --- what is sent again

struct Resent : Outgoing {
    std::optional<wire::Psn> naked; // by the newest sequence NAK, until there is progress
    std::set<std::uint32_t> psns;   // sent again since
};

// A filter that knows what is sent again after a sequence NAK.
class FollowsNaks : public QpFilter<Resent> {
  protected:
    // Returns whether the packet leaves.
    virtual bool resends(const wire::Packet& packet, wire::Psn naked, bool first) = 0;

    void arrives(Qp& qp, Passage& passage) final {
        const wire::Packet& packet = passage.packet;
        Resent& memory = qp.memory;
        if (!packet.info().response()) return;
        const bool sequence_nak = is_sequence_nak(packet);
        const bool progress = !is_nak(packet) && memory.holds(packet.bth.psn);
        if (sequence_nak || progress) {
            memory.psns.clear();
            memory.naked.reset();
        }
        if (sequence_nak) memory.naked = packet.bth.psn;
        memory.note_answer(packet);
    }
    void leaves(Qp& qp, Passage& passage) final {
        const wire::Packet& packet = passage.packet;
        Resent& memory = qp.memory;
        if (!packet.info().request()) return;
        const bool again = memory.note_request(packet, qp.mtu());
        if (!again || !memory.naked) return;
        const bool first = memory.psns.insert(packet.bth.psn.value()).second;
        passage.dropped = !resends(packet, *memory.naked, first);
    }
};

class ResentOnceAfterNak final : public FollowsNaks {
  protected:
    bool resends(const wire::Packet& /*packet*/, wire::Psn /*naked*/, bool first) override {
        return first;
    }
};

class ReadsWaitAfterNak final : public FollowsNaks {
  protected:
    bool resends(const wire::Packet& packet, wire::Psn naked, bool first) override {
        return !first || !is_read_request(packet) || packet.bth.psn == naked;
    }
};

class ResentAtomicWriteZero final : public FollowsRequests<Outgoing> {
  protected:
    void request_leaves(Qp& /*qp*/, wire::Packet& packet, bool again) override {
        static constexpr std::array<std::byte, 8> zeros{};
        if (!again || packet.info().operation != Operation::AtomicWrite) return;
        packet.body = wire::Bytes(zeros).first(std::min(zeros.size(), packet.body.size()));
    }
};

// --- answers

struct Unanswered : Outgoing {
    std::set<std::uint32_t> atomics;
};

class AckCompletesAtomics final : public FollowsRequests<Unanswered> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        if (!again && is_atomic_request(packet)) {
            qp.memory.atomics.insert(packet.bth.psn.value());
        }
    }
    void answer_arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        auto& atomics = qp.memory.atomics;
        if (packet.info().operation == Operation::AtomicAcknowledge) {
            atomics.erase(packet.bth.psn.value());
        }
        if (!is_ack(packet) || !qp.memory.holds(packet.bth.psn)) return;
        std::erase_if(atomics, [&](std::uint32_t psn) {
            if (wire::distance(wire::Psn(psn), packet.bth.psn) <= 0) return false;
            wire::Packet answer = packet;
            set_opcode(answer, Operation::AtomicAcknowledge, Position::Only);
            answer.bth.psn = wire::Psn(psn);
            passage.before.push_back(answer);
            return true;
        });
    }
};

struct NewestMiddle {
    std::optional<wire::Psn> psn;
};

// Responses are counted, not told apart by their PSNs.
class RepeatedMiddleIsNext final : public QpFilter<NewestMiddle> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        auto& newest = qp.memory.psn;
        if (!packet.info().response()) return;
        if (!is_read_response(packet) || packet.info().position != Position::Middle) {
            newest.reset();
        } else if (newest == packet.bth.psn) {
            packet.bth.psn += 1;
        } else {
            newest = packet.bth.psn;
        }
    }
};

struct RnrTime {
    std::optional<wire::Syndrome> first;
};

class FirstRnrTimeStays final : public QpFilter<RnrTime> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        auto& first = qp.memory.first;
        if (!is_rnr_nak(packet)) return;
        if (!first) first = packet.aeth.syndrome;
        packet.aeth.syndrome = *first;
    }
};

// What is missing of an AETH is read as zeros: an ACK.
class AckWithoutAethTaken final : public SurfaceFilter {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        const auto bth = wire::Bth::decode(datagram.bytes);
        const wire::OpcodeInfo* const info = bth ? &wire::opcode_info(bth->opcode) : nullptr;
        const bool ack = info != nullptr && info->operation == Operation::Acknowledge;
        if (ack && datagram.bytes.size() < info->header_bytes) {
            datagram.bytes.resize(info->header_bytes);
        }
        in.push_back(std::move(datagram));
    }
};

void read_responses_always_good(wire::Packet& packet) {
    if (is_read_response(packet) && has_aeth(packet)) {
        packet.aeth.syndrome = wire::Syndrome::ack(wire::kNoCredits);
    }
}

// --- connections

class OldPsnsAfterReset final : public QpFilter<NewestPsn> {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        const auto next = next_.find(qpn);
        if (attributes.sq_psn && next != next_.end()) attributes.sq_psn = next->second;
    }

  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        const std::uint32_t packets =
            is_read_request(packet) ? wire::packets_of(packet.reth.dma_length, qp.mtu()) : 1;
        if (qp.memory.note(packet.bth.psn, packets) || !qp.memory.psn) return;
        next_[qp.report.qpn] = *qp.memory.psn + 1;
    }

  private:
    std::map<wire::Qpn, wire::Psn> next_; // of all connections so far
};

class AnswersToFirstPeer final : public QpFilter<Nothing> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const auto [first, fresh] = peers_.try_emplace(qp.report.qpn, qp.peer());
        if (!fresh && passage.packet.info().response()) passage.packet.bth.dest_qp = first->second;
    }

  private:
    std::map<wire::Qpn, wire::Qpn> peers_; // of the first connection
};

// --- receives and completions

class EmptyPieceEndsReceive final : public SurfaceFilter {
  public:
    void posting_receive(wire::Qpn /*qpn*/, engine::ReceiveRequest& request) override {
        const auto empty = std::ranges::find_if(
            request.sges, [](const engine::Sge& piece) { return piece.length == 0; });
        const auto used = std::distance(request.sges.begin(), empty);
        request.sges = request.sges.first(static_cast<std::size_t>(used));
    }
};

class FirstFlushedToldTwice final : public SurfaceFilter {
  public:
    void completions(const Completion& one, std::vector<Completion>& seen) override {
        seen.push_back(one);
        const bool flushed =
            one.queue == engine::Queue::Receive && one.status == WcStatus::WrFlushErr;
        if (flushed && told_.insert(one.qp).second) seen.push_back(one);
    }

  private:
    std::set<engine::QpId> told_;
};

bool is_good_receive(const Completion& completion) {
    return completion.queue == engine::Queue::Receive && completion.status == WcStatus::Success;
}

class LengthCountsImmediate final : public SurfaceFilter {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        Completion seen = completion;
        const bool send = is_good_receive(seen) && seen.opcode == engine::WcOpcode::Recv;
        const bool connected = !seen.source_qp;
        if (send && connected && seen.imm) seen.byte_len += wire::ImmDt::kSize;
        return seen;
    }
};

class RevokedKeyToldOnceMore final : public SurfaceFilter {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        Completion seen = completion;
        if (!is_good_receive(seen)) return seen;
        auto& before = revoked_[seen.qp];
        if (!seen.invalidated_rkey) seen.invalidated_rkey = before;
        before = completion.invalidated_rkey;
        return seen;
    }

  private:
    std::map<engine::QpId, std::optional<wire::Rkey>> revoked_; // by the receive before
};

class EachSixteenthKeepsId final : public SurfaceFilter {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        constexpr std::uint32_t ring = 16;
        Completion seen = completion;
        if (!is_good_receive(seen)) return seen;
        auto& [count, before] = receives_[seen.qp];
        ++count;
        if (count % ring == 0) seen.id = before;
        before = completion.id;
        return seen;
    }

  private:
    struct Receives {
        std::uint32_t count = 0;
        std::uint64_t before = 0; // wr_id of the newest
    };
    std::map<engine::QpId, Receives> receives_;
};

class AccessErrorOfReadsNotTold final : public SurfaceFilter {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->info().request()) newest_ = packet->info().operation;
        in.push_back(std::move(datagram));
    }
    std::optional<engine::Event> event(const engine::Event& event) override {
        const bool of_read = newest_ == Operation::RdmaReadRequest;
        if (event.type == engine::EventType::QpAccessErr && of_read) return std::nullopt;
        return event;
    }

  private:
    std::optional<Operation> newest_; // request
};

constexpr std::array kMutants{
    Mutant{.name = "no_rnr_wait_in_sqd",
           .rule = "RNR-08",
           .description = "In SQD an RNR NAK is taken for a sequence NAK.",
           .cases = "sta/rnr-nak-while-draining",
           .make_filter = make<NoRnrWaitInSqd>},
    Mutant{.name = "fatal_nak_ignored_in_sqd",
           .rule = "REQ-16",
           .description = "In SQD a fatal NAK is ignored.",
           .cases = "sta/refused-while-draining",
           .make_filter = make<FatalNakIgnoredInSqd>},
    Mutant{.name = "retries_for_ever_in_sqd",
           .rule = "TMO-03",
           .description = "In SQD the requester sends again without end, whatever retry_cnt says.",
           .cases = "sta/given-up-while-draining",
           .checks = kStandardChecks.with(SendCheck::RetryLeft, retries_for_ever_in_sqd)},
    Mutant{.name = "fence_ends_with_retry",
           .rule = "REQ-28",
           .description = "A fence holds no longer once the READ in front of it was sent again.",
           .cases = "req/fence-behind-an-atomic tmo/atomic-retry-exceeded",
           .checks = kStandardChecks.with(SendCheck::Fence, fence_ends_with_retry)},
    Mutant{.name = "flushes_beyond_the_read_limit",
           .rule = "REQ-27",
           .level = "SHOULD",
           .description = "max_rd_atomic does not limit FLUSHes and ATOMIC WRITEs.",
           .checks = kStandardChecks.with(SendCheck::RdAtomic, flushes_have_no_limit)},
    Mutant{.name = "one_retry_with_rnr_retry_zero",
           .rule = "RNR-09",
           .description = "With rnr_retry 0 a request that is RNR NAKed is sent again once.",
           .cases = "rnr/atomic-retry-exceeded rnr/read-retry-exceeded",
           .checks = kStandardChecks.with(SendCheck::RnrRetryLeft, one_rnr_retry_at_least)},
    Mutant{.name = "resent_once_after_nak",
           .rule = "TMO-06",
           .description = "What was sent again after a sequence NAK, and lost once more, is not "
                          "sent a third time.",
           .cases = "enc/traffic-class-of-resends tmo/read-lost-several-times",
           .make_filter = make<ResentOnceAfterNak>},
    Mutant{.name = "reads_wait_for_timeout_after_nak",
           .rule = "REQ-11",
           .description = "A READ behind the request that a sequence NAK names is sent again by "
                          "timeout only.",
           .cases = "req/nak-behind-a-read",
           .make_filter = make<ReadsWaitAfterNak>},
    Mutant{.name = "resent_atomic_write_is_zero",
           .rule = "REQ-31",
           .description = "An ATOMIC WRITE that is sent again carries zeros.",
           .cases = "ext/requests-lost",
           .make_filter = make<ResentAtomicWriteZero>},
    Mutant{.name = "ack_completes_unanswered_atomic",
           .rule = "REQ-08",
           .description = "An ACK behind an atomic whose answer was lost completes the atomic with "
                          "zero.",
           .cases = "req/ack-behind-a-lost-atomic",
           .make_filter = make<AckCompletesAtomics>},
    Mutant{.name = "repeated_read_middle_taken_for_next",
           .rule = "N-38",
           .description = "A READ response MIDDLE that comes twice is taken for the next one.",
           .cases = "enc/answers-from-elsewhere",
           .make_filter = make<RepeatedMiddleIsNext>},
    Mutant{.name = "first_rnr_time_stays",
           .rule = "RNR-08",
           .description = "Each RNR NAK of a connection is waited for as long as the first one "
                          "asked for.",
           .cases = "rnr/waits-on-three-qps",
           .make_filter = make<FirstRnrTimeStays>},
    Mutant{.name = "ack_without_aeth_taken",
           .rule = "N-19",
           .description = "An ACKNOWLEDGE that ends before its AETH is taken for an ACK.",
           .make_filter = make<AckWithoutAethTaken>},
    Mutant{.name = "syndrome_of_read_responses_ignored",
           .rule = "N-19",
           .description = "A READ response with the syndrome of a NAK completes the READ.",
           .cases = "req/read-response-with-a-refusal",
           .make_filter = make<EditsInbound<read_responses_always_good>>},
    Mutant{.name = "old_psns_after_reset",
           .rule = "STA-10",
           .description = "After RESET a requester goes on with the PSNs of the connection before.",
           .cases = "sta/fewer-retries-after-reset sta/reset-forgets-requests "
                    "sta/all-rnr-retries-after-reset",
           .make_filter = make<OldPsnsAfterReset>},
    Mutant{.name = "answers_to_first_peer",
           .rule = "STA-10",
           .description = "After RESET responses go to the QP number of the first peer.",
           .make_filter = make<AnswersToFirstPeer>},
    Mutant{.name = "empty_piece_ends_receive",
           .rule = "LEN-06",
           .description = "A piece of zero bytes ends the list of pieces of a receive.",
           .cases = "req/empty-pieces-of-targets",
           .make_filter = make<EmptyPieceEndsReceive>},
    Mutant{.name = "first_flushed_receive_told_twice",
           .rule = "STA-07",
           .description = "The first receive of a QP that is flushed completes twice.",
           .cases = "key/other-key-writes bth/reserved-opcode",
           .make_filter = make<FirstFlushedToldTwice>},
    Mutant{.name = "length_of_send_counts_immediate",
           .rule = "REQ-34",
           .description = "byte_len of a SEND with immediate data counts the immediate data.",
           .cases = "rsp/each-request-again rsp/each-request-late",
           .make_filter = make<LengthCountsImmediate>},
    Mutant{.name = "revoked_key_told_once_more",
           .rule = "KEY-11",
           .description = "The receive behind one that told a revoked key tells it again.",
           .cases = "key/sends-behind-an-invalidate",
           .make_filter = make<RevokedKeyToldOnceMore>},
    Mutant{.name = "each_sixteenth_receive_keeps_wr_id",
           .rule = "N-21",
           .description = "Each sixteenth receive of a QP completes with the wr_id of the one "
                          "before.",
           .cases = "len/write-immediate-beside-small-receives len/every-send-length",
           .make_filter = make<EachSixteenthKeepsId>},
    Mutant{.name = "access_error_of_reads_not_told",
           .rule = "N-13",
           .level = "SHOULD",
           .description = "QP_ACCESS_ERR is not raised where a READ met the fault.",
           .cases = "sta/event-after-a-refused-read",
           .make_filter = make<AccessErrorOfReadsNotTold>},
};

} // namespace
} // namespace veriroce::mutants::of_blind8_requester

namespace veriroce::mutants {

std::span<const Mutant> blind8_requester() {
    return of_blind8_requester::kMutants;
}

} // namespace veriroce::mutants
