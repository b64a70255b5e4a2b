// Written blind, fifth sample: what a requester sends again and makes of answers, and what its host
// sees.
#include <bit>
#include <map>
#include <set>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/kept_class.hpp"
#include "conformance/mutants/read_log.hpp"

namespace veriroce::mutants::of_blind5_requester {
namespace {

using engine::Completion;
using engine::kStandardChecks;
using engine::OwnedDatagram;
using engine::QpState;
using engine::Queue;
using engine::SendCheck;
using engine::SendView;
using engine::SurfaceFilter;
using engine::WcStatus;
using engine::WrOpcode;
using wire::Operation;
using wire::Position;

// --- answers

class RnrNakAfterResendAcksNothing final : public FollowsRequests<Outgoing> {
  protected:
    void answer_arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const Outgoing& memory = qp.memory;
        if (is_rnr_nak(packet) && memory.again && memory.holds(packet.bth.psn)) {
            packet.bth.psn = *memory.oldest;
        }
    }
};

class NakAfterTimeoutIgnored final : public FollowsRequests<Outgoing> {
  protected:
    void answer_arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const Outgoing& memory = qp.memory;
        const bool later = memory.holds(packet.bth.psn) && packet.bth.psn != *memory.oldest;
        passage.dropped = is_sequence_nak(packet) && memory.again && later;
    }
};

class AckAfterResendTakesNext final : public FollowsRequests<Outgoing> {
  protected:
    void answer_arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const Outgoing& memory = qp.memory;
        const bool between =
            memory.holds(packet.bth.psn) && memory.holds(packet.bth.psn + 1) && memory.again;
        if (is_ack(packet) && between) packet.bth.psn += 1;
    }
};

struct Atomics : Outgoing {
    std::set<std::uint32_t> resent; // PSNs of atomics that left more than once
};

class ResentAtomicSwapped final : public FollowsRequests<Atomics> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        auto& resent = qp.memory.resent;
        if (!again) resent.erase(packet.bth.psn.value());
        if (again && is_atomic_request(packet)) resent.insert(packet.bth.psn.value());
    }
    void answer_arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (packet.info().operation != Operation::AtomicAcknowledge) return;
        if (qp.memory.resent.contains(packet.bth.psn.value())) {
            packet.atomic_ack.original = std::byteswap(packet.atomic_ack.original);
        }
    }
};

// --- requests that are sent again

struct Target : Outgoing {
    std::uint64_t newest = 0; // address of a WRITE
};

class ResentWriteToNewest final : public FollowsRequests<Target> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        const bool write = packet.info().operation == Operation::RdmaWrite;
        if (!write || !packet.headers.has(wire::Header::Reth)) return;
        if (!again) qp.memory.newest = packet.reth.virtual_address;
        packet.reth.virtual_address = qp.memory.newest;
    }
};

class ResendSkipsBeforeWrap final : public QpFilter<Outgoing> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        const bool again = qp.memory.note_request(packet, qp.mtu());
        passage.dropped = again && packet.bth.psn.value() > qp.memory.sent.psn->value();
    }
};

struct AskedReads : Outgoing {
    ReadLog log;
};

class RestartBehindWrapKeepsAddress final : public FollowsRequests<AskedReads> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        if (!is_read_request(packet)) return;
        if (!again) qp.memory.log.note(packet, qp.mtu());
        const auto whole = qp.memory.log.holding(packet.bth.psn);
        if (again && whole && packet.bth.psn.value() < whole->request.bth.psn.value()) {
            packet.reth.virtual_address = whole->request.reth.virtual_address;
        }
    }
};

class ResentWithoutPadCount final : public FollowsRequests<Outgoing> {
  protected:
    void request_leaves(Qp& /*qp*/, wire::Packet& packet, bool again) override {
        if (again) packet.bth.pad = 0;
    }
};

class ResentAreMarked final : public FollowsRequests<Outgoing> {
  protected:
    void request_leaves(Qp& /*qp*/, wire::Packet& packet, bool again) override {
        if (again) packet.bth.reserved7 = 1;
    }
};

bool reads_pass_the_fence(const SendView& view) {
    return engine::brings_data(view.request.opcode) || engine::send_check::fence(view);
}

// --- requests that are sent too early

class ArrivalEndsRnrWait final : public KeepsCopies {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        Copies& memory = qp.memory;
        if (is_rnr_nak(packet)) {
            acknowledge_until(memory, packet.bth.psn - 1);
            memory.waits = packet.bth.psn;
        } else if (packet.info().response()) {
            if (!is_nak(packet)) acknowledge_until(memory, packet.bth.psn);
        } else if (packet.info().request() && memory.waits) {
            send_again(memory, *memory.waits, passage);
            memory.waits.reset();
        }
    }
};

class CnpMakesResend final : public KeepsCopies {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        Copies& memory = qp.memory;
        if (packet.info().response() && !is_nak(packet)) {
            acknowledge_until(memory, packet.bth.psn);
        }
        const bool cnp = packet.info().operation == Operation::Cnp;
        if (cnp && memory.oldest) send_again(memory, *memory.oldest, passage);
    }
};

// --- retries

class RnrRetriesOfAllQps final : public QpFilter<Nothing> {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        Completion seen = completion;
        if (seen.status == WcStatus::RemOpErr && ended_ > 0) {
            --ended_;
            seen.status = WcStatus::RnrRetryExcErr;
        }
        return seen;
    }

  protected:
    void arrives(Qp& qp, Passage& passage) override {
        constexpr std::uint8_t for_ever = 7;
        wire::Packet& packet = passage.packet;
        if (packet.info().response() && !is_nak(packet)) rnr_naks_ = 0;
        const std::uint8_t most = qp.report.attributes.rnr_retry.value_or(for_ever);
        if (!is_rnr_nak(packet) || ++rnr_naks_ <= most || most == for_ever) return;
        packet.aeth.syndrome = wire::Syndrome::nak(wire::NakCode::RemoteOperational);
        ++ended_;
        rnr_naks_ = 0;
    }

  private:
    std::uint32_t rnr_naks_ = 0; // of all QPs, since one of them got on
    std::uint32_t ended_ = 0;    // QPs whose completion in error is still to come
};

// --- states

struct Shifted {
    NewestPsn sent;                 // as the engine counts
    std::optional<wire::Psn> first; // request of this connection
    std::int32_t by = 0;            // the engine's PSN less the wire's
};

class ResumesAtFirstPsn final : public QpFilter<Shifted> {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (!attributes.state) return;
        if (*attributes.state == QpState::Sqd) {
            drained_.insert(qpn);
        } else if (drained_.erase(qpn) > 0 && *attributes.state == QpState::Rts) {
            resumed_.insert(qpn);
        } else if (*attributes.state == QpState::Reset) {
            resumed_.erase(qpn);
        }
    }

  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        auto& [sent, first, by] = qp.memory;
        if (!packet.info().request()) return;
        if (!first) first = packet.bth.psn;
        if (resumed_.erase(qp.report.qpn) > 0) by = wire::distance(*first, packet.bth.psn);
        packet.bth.psn += -by;
    }
    void arrives(Qp& qp, Passage& passage) override {
        if (passage.packet.info().response()) passage.packet.bth.psn += qp.memory.by;
    }

  private:
    std::set<wire::Qpn> drained_;
    std::set<wire::Qpn> resumed_; // and have sent nothing since
};

bool is_answer(const wire::OpcodeInfo& info) {
    return info.response();
}

// --- completions and events

// A filter that knows what the host has posted for sending and not seen complete.
class KnowsPosted : public SurfaceFilter {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        posted_[qpn].push_back(
            {.id = request.id, .opcode = request.opcode, .signaled = request.flags.signaled});
    }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state == QpState::Reset) posted_.erase(qpn);
    }

  protected:
    struct Posted {
        std::uint64_t id = 0;
        WrOpcode opcode = WrOpcode::Send;
        bool signaled = true;
    };
    struct Done {
        wire::Qpn qpn;
        Posted request;
        std::optional<Posted> next;
    };
    // Forgets the oldest request with this id and those before it.
    std::optional<Done> take(std::uint64_t id) {
        for (auto& [qpn, list] : posted_) {
            const auto found = std::ranges::find(list, id, &Posted::id);
            if (found == list.end()) continue;
            Done done{.qpn = qpn, .request = *found, .next = {}};
            list.erase(list.begin(), found + 1);
            if (!list.empty()) done.next = list.front();
            return done;
        }
        return std::nullopt;
    }

  private:
    std::map<wire::Qpn, std::deque<Posted>> posted_; // the oldest first
};

class ReadCompletesFirst final : public KnowsPosted {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->info().response()) {
            by_read_[packet->bth.dest_qp] = is_read_response(*packet);
        }
        in.push_back(std::move(datagram));
    }
    void completions(const Completion& one, std::vector<Completion>& seen) override {
        const auto done = one.queue == Queue::Send ? take(one.id) : std::nullopt;
        const bool held_back = done && !held_ && one.status == WcStatus::Success &&
                               done->request.opcode == WrOpcode::RdmaWrite && done->next &&
                               done->next->opcode == WrOpcode::RdmaRead && done->next->signaled &&
                               by_read_[done->qpn];
        if (held_back) {
            held_ = one;
            return;
        }
        seen.push_back(one);
        if (held_ && done && held_->qp == one.qp) {
            seen.push_back(*held_);
            held_.reset();
        }
    }

  private:
    std::map<wire::Qpn, bool> by_read_; // the newest answer is a READ response
    std::optional<Completion> held_;
};

class UnsignaledNotFlushed final : public KnowsPosted {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        if (completion.queue != Queue::Send) return completion;
        const auto done = take(completion.id);
        const bool hidden = done && !done->request.signaled;
        if (hidden && completion.status == WcStatus::WrFlushErr) return std::nullopt;
        return completion;
    }
};

struct Refused {
    std::optional<wire::Psn> psn; // of the newest NAK that asked for a request again
};

class LengthAfterRnrIsLast final : public QpFilter<Refused> {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        Completion seen = completion;
        const bool write = seen.status == WcStatus::Success &&
                           seen.opcode == engine::WcOpcode::RecvRdmaWithImm && seen.imm;
        const auto known = write ? lengths_.find(*seen.imm) : lengths_.end();
        if (known != lengths_.end()) {
            seen.byte_len = known->second;
            lengths_.erase(known);
        }
        return seen;
    }

  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const bool last = packet.info().operation == Operation::RdmaWrite &&
                          packet.info().position == Position::Last && packet.info().immediate();
        if (last && qp.memory.psn == packet.bth.psn) {
            lengths_[packet.imm.value] = static_cast<std::uint32_t>(packet.payload().size());
        }
    }
    void leaves(Qp& qp, Passage& passage) override {
        if (is_rnr_nak(passage.packet)) qp.memory.psn = passage.packet.bth.psn;
    }

  private:
    std::map<std::uint32_t, std::uint32_t> lengths_; // of WRITEs that came again, by immediate data
};

class SolicitedLostAfterGap final : public QpFilter<Refused> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().request() || qp.memory.psn != packet.bth.psn) return;
        packet.bth.solicited = false;
        qp.memory.psn.reset();
    }
    void leaves(Qp& qp, Passage& passage) override {
        if (is_sequence_nak(passage.packet)) qp.memory.psn = passage.packet.bth.psn;
    }
};

class SecondConnectionNotTold final : public SurfaceFilter {
  public:
    std::optional<engine::Event> event(const engine::Event& event) override {
        const bool established = event.type == engine::EventType::CommEst && event.qp;
        if (established && !told_.insert(*event.qp).second) return std::nullopt;
        return event;
    }

  private:
    std::set<engine::QpId> told_;
};

constexpr std::array kMutants{
    Mutant{.name = "rnr_nak_after_resend_acks_nothing",
           .rule = "RNR-12",
           .description = "An RNR NAK for something that was sent again does not acknowledge what "
                          "precedes it.",
           .cases = "req/part-acknowledged-after-a-resend",
           .make_filter = make<RnrNakAfterResendAcksNothing>},
    Mutant{.name = "nak_after_timeout_ignored",
           .rule = "REQ-11",
           .description = "A sequence NAK that comes after a resend is ignored, though it "
                          "acknowledges a part of it.",
           .cases = "req/part-acknowledged-after-a-resend",
           .make_filter = make<NakAfterTimeoutIgnored>},
    Mutant{.name = "ack_after_resend_completes_one_more",
           .rule = "REQ-03",
           .description = "The first ACK after a resend acknowledges one packet more.",
           .make_filter = make<AckAfterResendTakesNext>},
    Mutant{.name = "result_of_resent_atomic_swapped",
           .rule = "ATM-01",
           .description = "What an atomic returns that was sent again is written in the wire's "
                          "byte order.",
           .make_filter = make<ResentAtomicSwapped>},
    Mutant{.name = "resent_write_goes_to_newest_address",
           .rule = "REQ-31",
           .description = "A WRITE that is sent again has the address of the newest WRITE.",
           .make_filter = make<ResentWriteToNewest>},
    Mutant{.name = "resend_skips_what_is_before_wrap",
           .rule = "TMO-06",
           .description = "Once PSN 0 was sent, packets before it are not sent again.",
           .cases = "req/recoveries-across-the-wrap",
           .make_filter = make<ResendSkipsBeforeWrap>},
    Mutant{.name = "read_restart_behind_wrap_keeps_address",
           .rule = "REQ-10",
           .description = "A READ that is asked for again from a PSN behind the wrap names the "
                          "address of its beginning.",
           .cases = "req/read-restarts-across-the-wrap",
           .make_filter = make<RestartBehindWrapKeepsAddress>},
    Mutant{.name = "resent_odd_packet_has_no_pad_count",
           .rule = "BTH-09",
           .description = "A packet that is sent again has a pad count of zero.",
           .make_filter = make<ResentWithoutPadCount>},
    Mutant{.name = "resent_packets_marked_in_reserved_bits",
           .rule = "BTH-16",
           .description = "Packets that are sent again have a reserved bit of the BTH set.",
           .make_filter = make<ResentAreMarked>},
    Mutant{.name = "fenced_read_does_not_wait",
           .rule = "REQ-28",
           .description = "The fence of a READ or an atomic is ignored.",
           .checks = kStandardChecks.with(SendCheck::Fence, reads_pass_the_fence)},
    Mutant{.name = "rnr_wait_ends_with_next_request",
           .rule = "RNR-08",
           .description = "A request of the peer that comes during an RNR wait ends the wait.",
           .cases = "rnr/everything-in-the-wait",
           .make_filter = make<ArrivalEndsRnrWait>},
    Mutant{.name = "cnp_makes_requester_resend",
           .rule = "TMO-01",
           .description = "A CNP makes the requester send its oldest packet again at once.",
           .make_filter = make<CnpMakesResend>},
    Mutant{.name = "rnr_retries_counted_for_all_qps",
           .rule = "RNR-09",
           .description = "The RNR NAKs of all QPs use up one counter.",
           .make_filter = make<RnrRetriesOfAllQps>},
    Mutant{.name = "sqd_resumes_at_first_psn",
           .rule = "REQ-01",
           .description = "A QP that goes from SQD to RTS sends from its first PSN on.",
           .make_filter = make<ResumesAtFirstPsn>},
    Mutant{.name = "class_change_in_sqd_not_in_answers",
           .rule = "ENC-12",
           .level = "SHOULD",
           .description = "After a change of the traffic class in SQD responses keep the old one.",
           .cases = "enc/class-changed-in-sqd",
           .make_filter = make<KeepsClass<is_answer>>},
    Mutant{.name = "read_completes_before_write_it_acks",
           .rule = "N-20",
           .description = "A READ whose response acknowledges the WRITE before it completes before "
                          "that WRITE.",
           .make_filter = make<ReadCompletesFirst>},
    Mutant{.name = "unsignaled_work_not_flushed",
           .rule = "STA-07",
           .description = "Unsignaled requests that are flushed do not complete.",
           .cases = "sta/unsignaled-flushed",
           .make_filter = make<UnsignaledNotFlushed>},
    Mutant{.name = "immediate_write_length_after_rnr",
           .rule = "N-15",
           .description = "A WRITE with immediate data whose last packet was RNR NAKed completes "
                          "with the length of that packet.",
           .make_filter = make<LengthAfterRnrIsLast>},
    Mutant{.name = "solicited_lost_after_gap",
           .rule = "BTH-13",
           .description = "The SE bit of a packet that closes a gap raises no notification.",
           .cases = "bth/solicited-in-each-recovery",
           .make_filter = make<SolicitedLostAfterGap>},
    Mutant{.name = "second_connection_not_told",
           .rule = "STA-04",
           .level = "SHOULD",
           .description = "COMM_EST is raised for a QP's first connection only.",
           .cases = "sta/established-again",
           .make_filter = make<SecondConnectionNotTold>},
};

} // namespace
} // namespace veriroce::mutants::of_blind5_requester

namespace veriroce::mutants {

std::span<const Mutant> blind5_requester() {
    return of_blind5_requester::kMutants;
}

} // namespace veriroce::mutants
