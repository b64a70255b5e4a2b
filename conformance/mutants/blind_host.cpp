// Written blind: completions, events and states as the host sees them.
#include <bit>
#include <set>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"

namespace veriroce::mutants::of_blind_host {
namespace {

using engine::Completion;
using engine::EventType;
using engine::Queue;
using engine::SurfaceFilter;
using engine::WcOpcode;
using engine::WcStatus;
using wire::Operation;
using wire::Position;

class SilentAfterError final : public SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        if (failed_) late_.insert(request.id);
    }
    void posting_receive(wire::Qpn /*qpn*/, engine::ReceiveRequest& request) override {
        if (failed_) late_.insert(request.id);
    }
    void modifying(wire::Qpn /*qpn*/, engine::QpAttributes& attributes) override {
        if (attributes.state) failed_ = attributes.state == engine::QpState::Err;
    }
    std::optional<Completion> completion(const Completion& completion) override {
        if (completion.status == WcStatus::Success) return completion;
        const bool late = late_.erase(completion.id) != 0;
        failed_ = true;
        if (late) return std::nullopt;
        return completion;
    }

  private:
    bool failed_ = false;
    std::set<std::uint64_t> late_; // posted to a QP in ERR
};

void swap_immediate_of_last(wire::Packet& packet) {
    const wire::OpcodeInfo& info = packet.info();
    const bool last = info.operation == Operation::Send && info.position == Position::Last;
    if (last && info.immediate()) packet.imm.value = __builtin_bswap32(packet.imm.value);
}

class LengthInSixteenBits final : public SurfaceFilter {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        constexpr std::uint32_t sixteen_bits = 0xFFFF;
        Completion seen = completion;
        if (seen.queue == Queue::Receive) seen.byte_len &= sixteen_bits;
        return seen;
    }
};

struct FirstRequest {
    std::optional<Operation> operation;
};

class OnlySendsEstablish final : public QpFilter<FirstRequest> {
  public:
    std::optional<engine::Event> event(const engine::Event& event) override {
        const bool hidden = event.type == EventType::CommEst && newest_ != Operation::Send;
        if (hidden) return std::nullopt;
        return event;
    }

  protected:
    void arrives(Qp& qp, Passage& passage) override {
        if (qp.memory.operation || !passage.packet.info().request()) return;
        qp.memory.operation = newest_ = passage.packet.info().operation;
    }

  private:
    std::optional<Operation> newest_; // the first request of the QP that heard its first last
};

class IdleQpIsNotDrained final : public QpFilter<Nothing> {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state != engine::QpState::Sqd) return;
        hides_ = !waits_[qpn];
    }
    std::optional<engine::Event> event(const engine::Event& event) override {
        if (event.type != EventType::SqDrained || !hides_) return event;
        return std::nullopt;
    }

  protected:
    void leaves(Qp& qp, Passage& passage) override {
        if (passage.packet.info().request()) waits_[qp.report.qpn] = true;
    }
    void arrives(Qp& qp, Passage& passage) override {
        if (passage.packet.info().response()) waits_[qp.report.qpn] = false;
    }

  private:
    std::map<wire::Qpn, bool> waits_; // a request has left and nothing has come since
    bool hides_ = false;
};

class HidesErrorAfterAccessNak final : public QpFilter<Nothing> {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state) refused_.erase(qpn);
    }
    void queried(engine::QpReport& report) override {
        const bool hidden = refused_.contains(report.qpn);
        if (hidden && report.state == engine::QpState::Err) report.state = engine::QpState::Rts;
    }

  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const bool nak = packet.info().operation == Operation::Acknowledge &&
                         packet.aeth.syndrome.nak_code() == wire::NakCode::RemoteAccess;
        if (nak) refused_.insert(qp.report.qpn);
    }

  private:
    std::set<wire::Qpn> refused_; // that sent a NAK remote access error
};

class AccessErrorIsRequestError final : public SurfaceFilter {
  public:
    std::optional<engine::Event> event(const engine::Event& event) override {
        engine::Event seen = event;
        if (seen.type == EventType::QpAccessErr) seen.type = EventType::QpReqErr;
        return seen;
    }
};

class ReadsAlwaysSignaled final : public SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        if (request.opcode == engine::WrOpcode::RdmaRead) request.flags.signaled = true;
    }
};

class CompletesTwiceAfterResend final : public QpFilter<NewestPsn> {
  public:
    void completions(const Completion& one, std::vector<Completion>& seen) override {
        seen.push_back(one);
        const bool sent = one.queue == Queue::Send && one.status == WcStatus::Success;
        if (!sent || !resent_) return;
        seen.push_back(one);
        resent_ = false;
    }

  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (packet.info().request()) resent_ |= qp.memory.note(packet.bth.psn);
    }

  private:
    bool resent_ = false;
};

class OpcodeOfTheOneBefore final : public SurfaceFilter {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        Completion seen = completion;
        if (seen.queue != Queue::Receive || seen.status != WcStatus::Success) return seen;
        if (write_before_) seen.opcode = WcOpcode::RecvRdmaWithImm;
        write_before_ = completion.opcode == WcOpcode::RecvRdmaWithImm;
        return seen;
    }

  private:
    bool write_before_ = false;
};

class FlushRepeatsStatus final : public SurfaceFilter {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        Completion seen = completion;
        if (seen.queue != Queue::Send) return seen;
        if (seen.status == WcStatus::Success) failed_.reset();
        const bool flushed = seen.status == WcStatus::WrFlushErr;
        if (flushed && failed_) seen.status = *failed_;
        if (!flushed && seen.status != WcStatus::Success) failed_ = seen.status;
        return seen;
    }

  private:
    std::optional<WcStatus> failed_;
};

constexpr std::array kFirst{
    Mutant{.name = "work_posted_in_error_not_flushed",
           .rule = "STA-07",
           .description = "Work that is posted to a QP in ERR never completes.",
           .cases = "sta/posted-in-error sta/unsignaled-posted-in-error",
           .make_filter = make<SilentAfterError>},
    Mutant{.name = "immediate_of_long_send_byte_swapped",
           .rule = "REQ-34",
           .description = "The immediate data of a SEND of several packets reaches the host in "
                          "the other byte order.",
           .make_filter = make<EditsInbound<swap_immediate_of_last>>},
    Mutant{.name = "receive_length_in_sixteen_bits",
           .rule = "REQ-34",
           .description = "byte_len of a receive has 16 bits.",
           .cases = "len/send-above-64k",
           .make_filter = make<LengthInSixteenBits>},
    Mutant{.name = "idle_qp_reports_no_drain",
           .rule = "STA-06",
           .level = "SHOULD",
           .description = "A QP that waits for no answer when it goes to SQD raises no "
                          "SQ_DRAINED.",
           .make_filter = make<IdleQpIsNotDrained>},
    Mutant{.name = "query_after_access_nak_tells_rts",
           .rule = "STA-12",
           .description = "After NAK remote access error the QP is dead, and is reported as RTS.",
           .make_filter = make<HidesErrorAfterAccessNak>},
    Mutant{.name = "access_error_raised_as_request_error",
           .rule = "N-13",
           .level = "SHOULD",
           .description = "QP_REQ_ERR is raised in place of QP_ACCESS_ERR.",
           .make_filter = make<AccessErrorIsRequestError>},
    Mutant{.name = "unsignaled_reads_complete",
           .rule = "REQ-03",
           .description = "A READ that asks for no completion gets one.",
           .cases = "req/unsignaled-read",
           .make_filter = make<ReadsAlwaysSignaled>},
    Mutant{.name = "completes_twice_after_resend",
           .rule = "REQ-03",
           .description = "The first request that completes after something was sent again "
                          "completes twice.",
           .cases = "req/reads-on-three-qps rnr/retries-on-two-qps "
                    "req/recoveries-in-turn bth/partition-key-of-resends "
                    "enc/traffic-class-of-resends n/vlan-of-resends",
           .make_filter = make<CompletesTwiceAfterResend>},
    Mutant{.name = "flush_repeats_first_status",
           .rule = "STA-07",
           .description = "Requests behind one that failed complete with its status.",
           .make_filter = make<FlushRepeatsStatus>},
};

constexpr std::array kSecond{
    Mutant{.name = "only_sends_establish",
           .rule = "STA-04",
           .level = "SHOULD",
           .description = "COMM_EST is raised only if the first request is a SEND.",
           .make_filter = make<OnlySendsEstablish>},
    Mutant{.name = "receive_opcode_of_the_one_before",
           .rule = "N-15",
           .description = "The receive that completes after one of a WRITE with immediate data has "
                          "that one's opcode.",
           .make_filter = make<OpcodeOfTheOneBefore>},
};

} // namespace
} // namespace veriroce::mutants::of_blind_host

namespace veriroce::mutants {

std::span<const Mutant> blind_host() {
    return of_blind_host::kFirst;
}

std::span<const Mutant> blind2_host() {
    return of_blind_host::kSecond;
}

} // namespace veriroce::mutants
