#include "conformance/model/async_events.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace veriroce::model {
namespace {

using enum rules::Level;

bool uses_no_receive(const wire::OpcodeInfo& info) {
    using enum wire::Operation;
    if (info.operation == RdmaWrite) return !info.immediate();
    return info.operation == RdmaReadRequest || info.operation == CompareSwap ||
           info.operation == FetchAdd;
}

} // namespace

void AsyncEvents::tell(const Qp& qp, Type type, std::string_view rule, rules::Level level,
                       std::string_view allowed, std::string_view measured) {
    const Seen& seen = seen_[qp.handle];
    std::vector<std::size_t> packets;
    if (seen.refused) packets.push_back(seen.packet);
    found_.push_back({.rule = std::string(rule),
                      .level = level,
                      .kind = rules::FindingClass::Absence,
                      .field = "event",
                      .allowed = std::string(allowed),
                      .measured = fmt::format("event {}: {}", wire::name_of(type), measured),
                      .packets = std::move(packets)});
}

void AsyncEvents::asked(const Call& call) {
    const auto* modify = std::get_if<dut::QpModify>(&call.request);
    if (const auto* create = std::get_if<dut::SrqModify>(&call.request)) {
        limited_.insert(create->srq);
    }
    if (modify == nullptr) return;
    Seen& seen = seen_[modify->qp];
    if (modify->attributes.state == wire::QpState::Sqd) {
        ++seen.drains;
        if (modify->attributes.en_sqd_async_notify == true) seen.drain_event = true;
    }
    if (modify->attributes.alt_address_vector || modify->attributes.path_mig_state) {
        seen.second_path = true;
    }
}

void AsyncEvents::answered(const Call& call) {
    if (!call.answer || !call.answer->has_value()) return;
    if (const auto* made = std::get_if<dut::SrqCreated>(&**call.answer)) {
        if (std::get<dut::SrqCreate>(call.request).limit) limited_.insert(made->srq);
    }
    const auto* modify = std::get_if<dut::QpModify>(&call.request);
    if (modify != nullptr && modify->attributes.state == wire::QpState::Err) {
        seen_[modify->qp].failed = call.answered;
    }
    limit(call);
    const auto* list = std::get_if<dut::EventList>(&**call.answer);
    if (list == nullptr) return;
    asked_at_ = call.answered;
    for (const dut::Event& one : list->events)
        event(one);
}

// N-16: a limit that is set is reached when fewer receives are left, and is set no more then. If
// fewer were left before, the next receive that is taken shows it.
void AsyncEvents::limit(const Call& call) {
    const auto set = [&](dut::SrqHandle srq, std::optional<std::uint32_t> value) {
        if (!value) return;
        limits_.erase(srq);
        if (*value == 0) return;
        const auto& all = posted_.shared(srq);
        const auto done = std::ranges::count(all, true, &ReceiveWork::polled);
        Limit& limit = limits_[srq];
        limit.value = *value;
        if (std::cmp_less_equal(takers_[srq], done)) limit.done_before = done;
    };
    if (const auto* made = std::get_if<dut::SrqCreated>(&**call.answer)) {
        set(made->srq, std::get<dut::SrqCreate>(call.request).limit);
    } else if (const auto* change = std::get_if<dut::SrqModify>(&call.request)) {
        set(change->srq, change->limit);
    }
    for (auto& [srq, limit] : limits_) {
        const auto& all = posted_.shared(srq);
        const auto left = std::ranges::count(all, false, &ReceiveWork::polled);
        const bool below = static_cast<std::uint64_t>(left) < limit.value;
        // A receive that no completion has shown may be taken already.
        const bool enough = all.size() >= takers_[srq] + limit.value;
        if (!below && enough) limit.armed = true;
        const auto done = all.size() - static_cast<std::size_t>(left);
        const bool shown = limit.armed || (limit.done_before && done > *limit.done_before);
        if (below && shown && !limit.reached) limit.reached = call.answered;
    }
}

void AsyncEvents::missing_limits() {
    for (const auto& [srq, limit] : limits_) {
        if (!limit.reached || asked_at_ < *limit.reached + story_.setting.answer_time) continue;
        found_.push_back(
            {.rule = "N-16",
             .level = Should,
             .kind = rules::FindingClass::Absence,
             .field = "event",
             .allowed = fmt::format("fewer than {} receives must raise it", limit.value),
             .measured = "event SRQ_LIMIT_REACHED: it is missing",
             .packets = {},
             .may_come = true});
    }
}

void AsyncEvents::event(const dut::Event& event) {
    const Qp* qp = event.qp ? posted_.find(*event.qp) : nullptr;
    if (qp != nullptr && qp->lives == 1) event_of(*qp, seen_[qp->handle], event.type);
    const bool limit = event.type == Type::SrqLimitReached && event.srq;
    if (limit) limits_.erase(*event.srq);
    if (event.type == Type::CqErr && event.cq && !completions_.lossy(*event.cq)) {
        found_.push_back({.rule = "KEY-13",
                          .level = Must,
                          .field = "event",
                          .allowed = "the completion queue has room for all its completions",
                          .measured = "event CQ_ERR",
                          .packets = {}});
    }
    if (limit && !limited_.contains(*event.srq)) {
        found_.push_back({.rule = "N-16",
                          .level = Must,
                          .field = "event",
                          .allowed = "the shared queue has no limit",
                          .measured = "event SRQ_LIMIT_REACHED",
                          .packets = {}});
    }
}

void AsyncEvents::event_of(const Qp& qp, Seen& seen, Type type) {
    const std::uint32_t count = ++seen.events[type];
    const bool refused = seen.refused.has_value();
    switch (type) {
    case Type::CommEst:
        if (!seen.reached) tell(qp, type, "STA-04", Must, "a packet must cause it", "none came");
        break;
    case Type::SqDrained:
        if (seen.drains == 0) tell(qp, type, "N-25", Must, "SQD must cause it", "no SQD");
        if (seen.drains > 0 && !seen.drain_event) {
            tell(qp, type, "N-25", Should, "the change to SQD must ask for it", "it did not");
        }
        if (count > 1 && count > seen.drains) {
            tell(qp, type, "N-25", Should, "it must come once for each SQD", "it came once more");
        }
        return;
    case Type::QpReqErr:
        if (!seen.reached) tell(qp, type, "N-13", Must, "a request must cause it", "none came");
        if (refused && seen.refused == wire::NakCode::RemoteAccess) {
            tell(qp, type, "N-13", Should, "it must be QP_ACCESS_ERR",
                 "the device sent NAK REMOTE_ACCESS");
        }
        break;
    case Type::QpAccessErr:
        if (!seen.reached) tell(qp, type, "N-13", Must, "a request must cause it", "none came");
        break;
    case Type::LastWqeReached:
        if (!qp.srq) tell(qp, type, "N-16", Must, "only a QP with an SRQ has it", "no SRQ");
        break;
    case Type::PathMig:
    case Type::PathMigErr:
        if (!seen.second_path) tell(qp, type, "N-24", Must, "a second path must cause it", "none");
        return;
    case Type::QpFatal:
    case Type::CqErr:
    case Type::SrqErr:
    case Type::SrqLimitReached: return;
    }
    if (count == 2) tell(qp, type, "N-13", Should, "it must come once", "it came again");
}

void AsyncEvents::reached(const Qp& qp, const Packet& packet) {
    Seen& seen = seen_[qp.handle];
    seen.reached = true;
    const wire::OpcodeInfo& info = packet.packet->info();
    if (!info.request()) return;
    const bool begins_send = info.operation == wire::Operation::Send && info.starts_message();
    if (qp.srq && (begins_send || info.immediate())) ++takers_[*qp.srq];
    const std::uint32_t psn = packet.packet->bth.psn.value();
    // Whatever came with this PSN may be the request that the device refuses.
    const auto [known, first] = seen.without_receive.emplace(psn, uses_no_receive(info));
    if (!first) known->second = known->second && uses_no_receive(info);
    if (info.operation == wire::Operation::Send && !info.ends_message())
        seen.inside_sends.insert(psn);
}

void AsyncEvents::responded(const Qp& qp, const Packet& packet) {
    Seen& seen = seen_[qp.handle];
    const wire::Packet& answer = *packet.packet;
    if (!answer.headers.has(wire::Header::Aeth)) return;
    const auto code = answer.aeth.syndrome.nak_code();
    const bool acknowledges = answer.aeth.syndrome.kind() == wire::AckKind::Ack;
    if (acknowledges && qp.state == wire::QpState::Rtr) seen.established = true;
    if (!code || code == wire::NakCode::PsnSequence || seen.refused) return;
    seen.refused = *code;
    seen.failed = packet.at.latest;
    seen.packet = packet.number;
    const wire::Psn psn = answer.bth.psn;
    const auto request = seen.without_receive.find(psn.value());
    seen.needs_no_receive = request != seen.without_receive.end() && request->second &&
                            !seen.inside_sends.contains((psn + -1).value());
}

void AsyncEvents::missing(const Qp& qp, const Seen& seen) {
    const auto came = [&](Type type) { return seen.events.contains(type); };
    if (seen.established && !came(Type::CommEst)) {
        tell(qp, Type::CommEst, "STA-04", Should, "it must come with the first packet in RTR",
             "it is missing");
        found_.back().may_come = true;
    }
    const bool late = seen.failed && asked_at_ >= *seen.failed + story_.setting.answer_time;
    // N-13: no receive completes with the fault, so an event must tell of it.
    const bool untold = late && seen.refused && seen.needs_no_receive && !came(Type::QpReqErr) &&
                        !came(Type::QpAccessErr) && !came(Type::QpFatal);
    const bool access = seen.refused == wire::NakCode::RemoteAccess;
    if (untold && (access || seen.refused == wire::NakCode::InvalidRequest)) {
        tell(qp, access ? Type::QpAccessErr : Type::QpReqErr, "N-13", Should,
             "a refused request must raise it", "it is missing");
        found_.back().may_come = true;
    }
    if (!late || !qp.srq || came(Type::LastWqeReached)) return;
    tell(qp, Type::LastWqeReached, "N-16", Should, "a QP with an SRQ in ERR must raise it",
         "it is missing");
    found_.back().may_come = true;
}

// Only for devices that tell events at all, and in virtual time, where what is asked is known.
void AsyncEvents::finish() {
    const auto& words = story_.setting.dut.capabilities;
    const bool tells = std::ranges::find(words, std::string_view("events")) != words.end();
    if (!tells || !story_.setting.exact || asked_at_ == wire::Instant{}) return;
    missing_limits();
    for (const Qp& qp : posted_.qps()) {
        const auto seen = seen_.find(qp.handle);
        if (seen != seen_.end() && !qp.gone && qp.lives == 1 && qp.type == wire::QpType::Rc) {
            missing(qp, seen->second);
        }
    }
}

} // namespace veriroce::model
