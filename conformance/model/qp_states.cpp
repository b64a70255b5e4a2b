#include "conformance/model/qp_states.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace veriroce::model {
namespace {

using enum wire::QpState;

// Whether the state machine has the transition. A QP that was brought to RTS may be in SQD, SQE or
// ERR by now, so of those only what none of them permits is illegal.
bool is_legal(wire::QpState from, wire::QpState to) {
    if (to == Reset || to == Err) return true;
    switch (from) {
    case Reset: return to == Init;
    case Init: return to == Init || to == Rtr;
    case Rtr: return to == Rts;
    case Rts:
    case Sqd:
    case Sqe: return to == Rts || to == Sqd;
    case Err: return false;
    }
    return true;
}

// Whether a QP that the application brought to `set` may be in `state` without its help.
bool may_become(wire::QpState set, wire::QpState state, wire::QpType type) {
    if (state == set) return true;
    const bool up = set == Rtr || set == Rts || set == Sqd;
    if (state == Err) return up || set == Sqe;
    return state == Sqe && type != wire::QpType::Rc && (set == Rts || set == Sqd);
}

} // namespace

void QpStates::tell(std::string_view rule, std::string allowed, std::string measured) {
    found_.push_back({.rule = std::string(rule),
                      .level = rules::Level::Must,
                      .field = "state",
                      .allowed = std::move(allowed),
                      .measured = std::move(measured),
                      .packets = {}});
}

void QpStates::modified(const Qp& qp, wire::QpState to) {
    if (is_legal(qp.state, to)) return;
    tell("STA-09",
         fmt::format("a change from {} to {} must be refused", wire::name_of(qp.state),
                     wire::name_of(to)),
         "the device accepts it");
}

void QpStates::reported(const Qp& qp, wire::QpState state, wire::Instant asked) {
    const auto failure = failures_.find(qp.handle);
    const bool failed = failure != failures_.end() && failure->second.life == qp.life &&
                        asked - failure->second.at >= setting_.answer_time;
    const std::string measured = fmt::format("the device reports {}", wire::name_of(state));
    const bool up = qp.state == Rtr || qp.state == Rts || qp.state == Sqd;
    if (failed && up && state != Err) {
        return tell(failure->second.rule,
                    fmt::format("the QP must be in ERR: {}", failure->second.why), measured);
    }
    if (may_become(qp.state, state, qp.type)) return;
    tell(state == Sqe ? "STA-08" : "STA-09",
         fmt::format("the QP was brought to {}", wire::name_of(qp.state)), measured);
}

// A query tells what was set. A device may round a depth or the ACK timeout up, not down.
void QpStates::told_attributes(const Qp& qp, const dut::QpAttributes& told) {
    struct Attribute {
        std::string_view name;
        std::optional<std::uint8_t> dut::QpAttributes::* value;
        std::string_view rule;
        bool may_grow;
    };
    using dut::QpAttributes;
    constexpr std::array<Attribute, 6> all{
        {{"max_rd_atomic", &QpAttributes::max_rd_atomic, "REQ-27", true},
         {"max_dest_rd_atomic", &QpAttributes::max_dest_rd_atomic, "REQ-27", true},
         {"timeout", &QpAttributes::timeout, "TMO-01", true},
         {"retry_cnt", &QpAttributes::retry_cnt, "TMO-03", false},
         {"rnr_retry", &QpAttributes::rnr_retry, "RNR-09", false},
         {"min_rnr_timer", &QpAttributes::min_rnr_timer, "RNR-07", false}}};
    for (const auto& [name, value, rule, may_grow] : all) {
        const std::optional<std::uint8_t> set = qp.attributes.*value;
        const std::optional<std::uint8_t> now = told.*value;
        if (!set || !now || *now == *set || (may_grow && *now > *set)) continue;
        // REQ-27: a device may round it down.
        if (value == &QpAttributes::max_rd_atomic && *now == std::bit_floor(*set)) continue;
        tell(rule, fmt::format("{} was set to {}", name, *set),
             fmt::format("the device reports {}", *now));
        found_.back().level = rules::Level::Should;
    }
}

void QpStates::answered(const Call& call, Posted& posted) {
    if (!call.answer || !call.answer->has_value()) return;
    if (const auto* modify = std::get_if<dut::QpModify>(&call.request)) {
        const Qp* qp = posted.find(modify->qp);
        if (qp != nullptr && modify->attributes.state) modified(*qp, *modify->attributes.state);
    }
    const auto* query = std::get_if<dut::QpQuery>(&call.request);
    const auto* told = std::get_if<dut::QpQueried>(&**call.answer);
    if (query == nullptr || told == nullptr || !told->attributes.state) return;
    const Qp* qp = posted.find(query->qp);
    if (qp == nullptr) return;
    reported(*qp, *told->attributes.state, call.asked);
    const bool connected = qp->state == Rts && told->attributes.state == Rts;
    if (connected && setting_.exact)
        told_attributes(*qp, told->attributes); // few drivers tell them
}

void QpStates::failed(const Polled& polled, wire::Instant now) {
    if (polled.qp == nullptr || polled.send == nullptr) return;
    if (polled.qp->type != wire::QpType::Rc || polled.qp->lives > 1) return;
    failures_.try_emplace(polled.qp->handle,
                          Failure{polled.qp->life, now, "STA-08", "a request of it failed"});
}

void QpStates::refused(const Qp& qp, const Packet& packet) {
    const Failure fresh{qp.life, packet.at.latest, "STA-12", "it sent a fatal NAK"};
    const auto [known, first] = failures_.try_emplace(qp.handle, fresh);
    if (!first && known->second.life != qp.life) known->second = fresh;
}

} // namespace veriroce::model
