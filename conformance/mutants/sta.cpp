// Defects in the states of a QP.
#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/other_transition.hpp"
#include "conformance/mutants/qp_filter.hpp"

namespace veriroce::mutants::of_sta {
namespace {

using engine::QpState;
using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
namespace right = engine::request_check;

RequestVerdict nak_in_error(const RequestView& view) {
    if (view.connection.state == engine::QpState::Err) return RequestVerdict::NakInvalidRequest;
    return right::state(view);
}

// STA-12. The only NAK that leaves a QP alive is RNR: the engine sends that, and the filter makes
// it the NAK of the fault. Requests that may meet a true RNR keep the right verdict.
template <engine::RequestFunction Check>
RequestVerdict survivable(const RequestView& view) {
    const RequestVerdict verdict = Check(view);
    const bool ours = verdict == RequestVerdict::NakRemoteAccess && !view.info.consumes_receive();
    return ours ? RequestVerdict::Rnr : verdict;
}

struct PlainRequests {
    static constexpr std::size_t kept = 16;
    std::deque<wire::Psn> psns; // of requests that need no receive, the newest last
};

class SurvivesAccessFaults final : public QpFilter<PlainRequests> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        auto& psns = qp.memory.psns;
        std::erase(psns, packet.bth.psn);
        if (packet.info().consumes_receive()) return;
        psns.push_back(packet.bth.psn);
        if (psns.size() > PlainRequests::kept) psns.pop_front();
    }
    void leaves(Qp& qp, Passage& passage) override {
        const auto& psns = qp.memory.psns;
        if (!is_rnr_nak(passage.packet) ||
            std::ranges::find(psns, passage.packet.bth.psn) == psns.end()) {
            return;
        }
        passage.packet.aeth.syndrome = wire::Syndrome::nak(wire::NakCode::RemoteAccess);
    }
};

class AnswersBeforeRtr final : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        early_.erase(report.qpn);
        const bool early =
            report.state == engine::QpState::Reset || report.state == engine::QpState::Init;
        if (early) early_.insert(report.qpn);
    }
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& answers) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && early_.contains(packet->bth.dest_qp)) {
            engine::OwnedDatagram answer = datagram;
            std::swap(answer.envelope.source, answer.envelope.destination);
            answers.push_back(std::move(answer));
        }
        in.push_back(std::move(datagram));
    }

  private:
    std::set<wire::Qpn> early_; // QPs in RESET or INIT
};

// STA-03: what is posted in RTR is refused, and leaves beside the next answer.
class SendsInRtr final : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        Qp& qp = qps_[report.qpn];
        qp.ready = report.state == engine::QpState::Rtr;
        qp.peer = report.attributes.dest_qp.value_or(wire::Qpn{});
        qp.posted = qp.posted && qp.ready;
    }
    void qp_destroyed(wire::Qpn qpn) override { qps_.erase(qpn); }
    void posting_send(wire::Qpn qpn, engine::SendRequest& /*request*/) override {
        Qp& qp = qps_[qpn];
        qp.posted = qp.ready;
    }
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& answers) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const auto qp = packet ? qps_.find(packet->bth.dest_qp) : qps_.end();
        if (qp != qps_.end() && std::exchange(qp->second.posted, false)) {
            wire::Packet send;
            send.bth = {.opcode = *wire::opcode_by_name("SEND_ONLY"),
                        .pkey = packet->bth.pkey,
                        .dest_qp = qp->second.peer};
            send.headers = send.info().headers;
            answers.push_back({.envelope = back(datagram.envelope), .bytes = bytes_of(send)});
        }
        in.push_back(std::move(datagram));
    }

  private:
    struct Qp {
        bool ready = false; // in RTR
        bool posted = false;
        wire::Qpn peer;
    };
    std::map<wire::Qpn, Qp> qps_;
};

// STA-10: what a QP keeps of its first connection.
class KeepsRetries final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (attributes.state != engine::QpState::Rts || !attributes.sq_psn) return;
        const Retries wanted{.by_timer = attributes.retry_count, .by_rnr = attributes.rnr_retry};
        const Retries& first = first_.try_emplace(qpn, wanted).first->second;
        attributes.retry_count = first.by_timer;
        attributes.rnr_retry = first.by_rnr;
    }
    void qp_destroyed(wire::Qpn qpn) override { first_.erase(qpn); }

  private:
    struct Retries {
        std::optional<std::uint8_t> by_timer;
        std::optional<std::uint8_t> by_rnr;
    };
    std::map<wire::Qpn, Retries> first_;
};

class ExchangesDepths final : public engine::SurfaceFilter {
  public:
    void queried(engine::QpReport& report) override {
        std::swap(report.attributes.max_rd_atomic, report.attributes.max_dest_rd_atomic);
    }
};

class ExchangesRetries final : public engine::SurfaceFilter {
  public:
    void queried(engine::QpReport& report) override {
        std::swap(report.attributes.retry_count, report.attributes.rnr_retry);
    }
};

// STA-06: the message in which the QP was put into SQD goes on with the next RTS.
class StopsInsideAMessage final : public QpFilter<Nothing> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::OpcodeInfo& info = passage.packet.info();
        passage.dropped =
            qp.report.state == QpState::Sqd && info.request() && !info.starts_message();
    }
};

constexpr std::array kMutants{
    Mutant{.name = "error_state_still_answers",
           .rule = "STA-07",
           .passive = true,
           .description = "A QP in ERR answers every further request with another NAK Invalid "
                          "Request instead of silence.",
           .cases = "key/cq-overflow sta/error-is-silent sta/fatal-nak",
           .checks = engine::kStandardChecks.with(RequestCheck::State, nak_in_error)},
    Mutant{.name = "sqd_stops_inside_a_message",
           .rule = "STA-06",
           .level = "SHOULD",
           .description = "A QP that is put into SQD while it sends a message sends the rest of it "
                          "only when it is in RTS again.",
           .cases = "sta/drained-while-it-sends",
           .make_filter = make<StopsInsideAMessage>},
    Mutant{.name = "fatal_nak_leaves_the_qp_alive",
           .rule = "STA-12",
           .passive = true,
           .description = "After NAK Remote Access the responder keeps its state and executes the "
                          "next request at ePSN.",
           .cases = "key/region-atomic-not-read key/region-write-not-read "
                    "key/window-bound-again sta/event-after-a-refused-write sta/fatal-nak "
                    "sta/shared-receives-stay",
           .checks =
               engine::kStandardChecks.with(RequestCheck::KeyKnown, survivable<right::key_known>)
                   .with(RequestCheck::KeyVariant, survivable<right::key_variant>)
                   .with(RequestCheck::KeyDomain, survivable<right::key_domain>)
                   .with(RequestCheck::KeyRights, survivable<right::key_rights>)
                   .with(RequestCheck::KeyRange, survivable<right::key_range>),
           .make_filter = make<SurvivesAccessFaults>},
    Mutant{.name = "answers_before_rtr",
           .rule = "STA-01",
           .description = "A QP in RESET or INIT sends every packet back.",
           .cases = "sta/init sta/reset",
           .make_filter = make<AnswersBeforeRtr>},
    Mutant{.name = "sends_in_rtr",
           .rule = "STA-03",
           .description = "A SEND that is posted in RTR leaves with the next answer.",
           .cases = "sta/ready-to-receive",
           .make_filter = make<SendsInRtr>},
    Mutant{.name = "init_accepted_in_error",
           .rule = "STA-09",
           .description = "The transition from ERR to INIT is accepted: the QP is reset.",
           .cases = "sta/error-leads-to-reset",
           .make_filter = make<OtherTransition<QpState::Err, QpState::Init, QpState::Reset>>},
    Mutant{.name = "retries_of_first_connection",
           .rule = "STA-10",
           .description = "After RESET a QP keeps retry_cnt and rnr_retry of its first connection.",
           .cases = "sta/fewer-retries-after-reset sta/other-attributes-after-reset",
           .make_filter = make<KeepsRetries>},
    Mutant{.name = "depths_exchanged_in_query",
           .rule = "REQ-27",
           .description = "A query tells max_rd_atomic as max_dest_rd_atomic, and the other way.",
           .judge_cases = "sta/queried-attributes",
           .make_filter = make<ExchangesDepths>},
    Mutant{.name = "retries_exchanged_in_query",
           .rule = "TMO-03",
           .description = "A query tells retry_cnt as rnr_retry, and the other way.",
           .judge_cases = "sta/queried-attributes",
           .make_filter = make<ExchangesRetries>},
};

} // namespace
} // namespace veriroce::mutants::of_sta

namespace veriroce::mutants {

std::span<const Mutant> sta() {
    return of_sta::kMutants;
}

} // namespace veriroce::mutants
