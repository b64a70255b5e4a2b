#include "conformance/model/failure_causes.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace veriroce::model {
namespace {

using enum rules::Level;
using wire::WcStatus;

bool is_of_local_key(WcStatus status) {
    return status == WcStatus::LocProtErr || status == WcStatus::LocQpOpErr ||
           status == WcStatus::LocAccessErr;
}

} // namespace

void FailureCauses::asked(const Call& call) {
    using enum wire::QpState;
    if (const auto* modify = std::get_if<dut::QpModify>(&call.request)) {
        const auto& state = modify->attributes.state;
        const bool up = state == Init || state == Rtr || state == Rts;
        if (state && !up) seen_[modify->qp].told = true;
    } else if (const auto* destroy = std::get_if<dut::QpDestroy>(&call.request)) {
        seen_[destroy->qp].told = true;
    }
}

void FailureCauses::failed(const Polled& polled) {
    if (polled.qp == nullptr) return;
    Seen& seen = seen_[polled.qp->handle];
    const bool flushed = polled.completion.status == WcStatus::WrFlushErr;
    seen.other_than_flush = seen.other_than_flush || !flushed;
    if (polled.send != nullptr) seen.sends_failed = true;
    if (polled.receive == nullptr || seen.receive || polled.qp->srq) return;
    const auto& all = polled.qp->receives;
    const auto at =
        std::ranges::find_if(all, [&](const ReceiveWork& one) { return &one == polled.receive; });
    seen.receive = polled.completion;
    seen.receive_number = static_cast<std::size_t>(at - all.begin());
}

void FailureCauses::tell(std::string_view rule, rules::Level level,
                         const dut::Completion& completion, std::string_view allowed,
                         const ResponderView& responder) {
    Deviation deviation{.rule = std::string(rule),
                        .level = level,
                        .field = "completion",
                        .allowed = std::string(allowed),
                        .measured = fmt::format("{} completion id={}: status is {}",
                                                wire::name_of(completion.queue), completion.id,
                                                wire::name_of(completion.status)),
                        .packets = {}};
    if (const auto& fault = responder.receive_fault()) deviation.packets.push_back(fault->packet);
    found_.push_back(std::move(deviation));
}

void FailureCauses::judge_receive(const Qp& qp, const Seen& seen, const ResponderView& responder) {
    const auto& fault = responder.receive_fault();
    const WcStatus status = seen.receive->status;
    if (fault && fault->receive == seen.receive_number) {
        if (fault->kind == ReceiveFault::Kind::TooShort && status != WcStatus::LocLenErr) {
            tell("LEN-06", Should, *seen.receive,
                 "status must be LOC_LEN_ERR: the SEND is longer than the receive", responder);
        }
        if (fault->kind == ReceiveFault::Kind::LocalKey && !is_of_local_key(status)) {
            tell("KEY-12", Must, *seen.receive,
                 "status must be a protection, QP operation or access error: the receive's key "
                 "does not open its memory",
                 responder);
        }
        return;
    }
    const bool harmless = responder.harmless() && qp.type == wire::QpType::Rc;
    if (harmless && status != WcStatus::WrFlushErr) {
        tell("STA-07", Must, *seen.receive,
             "status must be WR_FLUSH_ERR: every request that came is a good one", responder);
    }
}

void FailureCauses::judge(const Qp& qp, const ResponderView& responder, const Evidence& evidence,
                          bool lossy) {
    const auto found = seen_.find(qp.handle);
    // Where it is not known what reached the device, anything may have gone wrong.
    const bool known = setting_.exact && qp.lives == 1 && !lossy;
    if (!known) return;
    const Seen seen = found == seen_.end() ? Seen{} : found->second;
    if (seen.receive) judge_receive(qp, seen, responder);
    const bool answered_well =
        !evidence.odd && !evidence.uncertain && evidence.naks.empty() && !seen.sends_failed &&
        std::ranges::all_of(qp.sends, [](const SendWork& one) { return one.done; });
    const bool no_cause = !seen.told && !seen.other_than_flush && responder.harmless();
    if (!no_cause || !answered_well) return;
    if (!seen.receive && qp.reported == wire::QpState::Err) {
        found_.push_back({.rule = "STA-07",
                          .level = Must,
                          .field = "state",
                          .allowed = "nothing has gone wrong that could end the QP",
                          .measured = "the device reports ERR",
                          .packets = {}});
    }
    if (seen.receive)
        tell("STA-07", Must, *seen.receive, "nothing has gone wrong that could flush it",
             responder);
}

} // namespace veriroce::model
