// What several QPs can share: protection domains, completion queues and their notifications, shared
// receive queues. And the device's counters.
//
// A `dut cq` or `dut srq` line whose queue a QP has (`qp cq=NAME`) is carried out before the QPs
// are connected, wherever it stands.
#include <algorithm>

#include <fmt/format.h>

#include "conformance/interpreter/interpreter.hpp"
#include "conformance/interpreter/notation.hpp"
#include "conformance/interpreter/statements.hpp"

namespace veriroce::interpreter {
namespace {

bool has_queue(const std::vector<script::QpSetup>& qps, std::string_view kind,
               const std::string& name) {
    return std::ranges::any_of(qps, [&](const script::QpSetup& qp) {
        const script::Attribute* found = qp.attribute(kind);
        const auto* words =
            found == nullptr ? nullptr : std::get_if<std::vector<script::Word>>(&found->value);
        return words != nullptr && !words->empty() && words->front().text == name;
    });
}

// Of an expression that stands before the first line of the dialogue.
std::optional<std::uint32_t> constant(const script::Expr& expr) {
    const auto value =
        script::evaluate(expr, {[](std::string_view) { return std::nullopt; },
                                [](const script::FieldName&) { return std::nullopt; }});
    if (!value) return std::nullopt;
    return static_cast<std::uint32_t>(*value);
}

} // namespace

// --- domains and queues -----------------------------------------------------------------------

Task<Met<dut::PdHandle>> Interpreter::domain(std::int64_t number, script::SourceSpan span) {
    const auto known = pds_.find(number);
    if (known != pds_.end()) co_return known->second;
    dut::Request call = dut::PdCreate{};
    const auto made = co_await ask<dut::PdCreated>(std::move(call), span);
    if (!made) co_return std::unexpected(made.error());
    pds_[number] = made->pd;
    co_return made->pd;
}

Task<Met<>> Interpreter::make_queues() {
    std::vector<std::pair<script::MakeCq, script::SourceSpan>> cqs;
    std::vector<std::pair<script::MakeSrq, script::SourceSpan>> srqs;
    each_command<script::MakeCq>(run_.body, [&](const auto& line, script::SourceSpan span) {
        if (has_queue(run_.qps, "cq", line.name.text)) cqs.emplace_back(line, span);
    });
    each_command<script::MakeSrq>(run_.body, [&](const auto& line, script::SourceSpan span) {
        if (has_queue(run_.qps, "srq", line.name.text)) srqs.emplace_back(line, span);
    });
    Met<> met;
    for (const auto& [line, span] : cqs) {
        met = co_await make_cq(line, span);
        if (!met) co_return met;
    }
    for (const auto& [line, span] : srqs) {
        met = co_await make_srq(line, span);
        if (!met) co_return met;
    }
    co_return met;
}

Task<Met<>> Interpreter::make_cq(const script::MakeCq& line, script::SourceSpan span) {
    if (cqs_.contains(line.name.text)) co_return Met<>{};
    const auto depth = constant(line.depth);
    if (!depth) co_return std::unexpected(error(span, "the depth must be known beforehand"));
    dut::Request call = dut::CqCreate{.depth = *depth};
    const auto made = co_await ask<dut::CqCreated>(std::move(call), span);
    if (!made) co_return std::unexpected(made.error());
    cqs_[line.name.text] = made->cq;
    line_ended();
    co_return Met<>{};
}

Task<Met<>> Interpreter::make_srq(const script::MakeSrq& line, script::SourceSpan span) {
    if (srqs_.contains(line.name.text)) co_return Met<>{};
    const auto depth = constant(line.depth);
    if (!depth) co_return std::unexpected(error(span, "the depth must be known beforehand"));
    const auto pd = co_await domain(1, span);
    if (!pd) co_return std::unexpected(pd.error());
    if (line.limit) {
        const auto limit = constant(*line.limit);
        if (!limit) co_return std::unexpected(error(span, "the limit must be known beforehand"));
        srq_limits_[line.name.text] = *limit;
    }
    dut::Request call = dut::SrqCreate{.pd = *pd, .depth = *depth};
    const auto made = co_await ask<dut::SrqCreated>(std::move(call), span);
    if (!made) co_return std::unexpected(made.error());
    srqs_[line.name.text] = made->srq;
    line_ended();
    co_return Met<>{};
}

// A limit is armed behind the first receives: an empty queue is below every limit, and some devices
// say so at once.
Task<Met<>> Interpreter::arm_limit(const std::string& srq, script::SourceSpan span) {
    const auto limit = srq_limits_.find(srq);
    if (limit == srq_limits_.end()) co_return Met<>{};
    dut::Request call = dut::SrqModify{.srq = srqs_.at(srq), .limit = limit->second};
    srq_limits_.erase(limit);
    const auto armed = co_await ask<dut::Done>(std::move(call), span);
    if (!armed) co_return std::unexpected(armed.error());
    co_return Met<>{};
}

// The receives from which the QP takes: its own, or those of its shared queue.
std::deque<std::uint64_t>& Interpreter::receives_of(Peer& peer) {
    return peer.srq.empty() ? peer.receives : srq_receives_[peer.srq];
}

// --- notifications ----------------------------------------------------------------------------

Task<Met<>> Interpreter::arm(const script::ArmCq& line, script::SourceSpan span) {
    if (!environment_.capable("notify")) {
        co_return std::unexpected(Unmet{Verdict::Skip, "needs notify", span});
    }
    dut::Request call = dut::CqArm{.cq = cqs_.at(line.cq.text), .solicited = line.solicited};
    const auto armed = co_await ask<dut::Done>(std::move(call), span);
    line_ended();
    if (!armed) co_return std::unexpected(armed.error());
    co_return Met<>{};
}

// Whether the queue gives a notification within this time.
Task<Met<bool>> Interpreter::notification(const std::string& cq, wire::Duration time,
                                          script::SourceSpan span) {
    const wire::Instant deadline = events_.now() + time;
    while (true) {
        dut::Request call =
            dut::CqWait{.cq = cqs_.at(cq), .wait_ms = wait_ms_of(deadline - events_.now())};
        const auto seen = co_await ask<dut::Notified>(std::move(call), span);
        if (!seen) co_return std::unexpected(seen.error());
        if (seen->notified) co_return true;
        if (events_.now() >= deadline) co_return false;
    }
}

Task<Met<>> Interpreter::unnotified(const script::CqQuiet& line, script::SourceSpan span) {
    const auto time = time_or(line.time, environment_.settle, peers_.begin()->second);
    if (!time) co_return std::unexpected(time.error());
    const auto came = co_await notification(line.cq.text, *time, span);
    if (!came) co_return std::unexpected(came.error());
    line_ended();
    if (!*came) co_return Met<>{};
    co_return std::unexpected(failed(span, "the queue gave a notification", "notified"));
}

// --- counters ---------------------------------------------------------------------------------

// What the counters of the case's `dut counter` lines are before its first line.
Task<Met<>> Interpreter::note_counters() {
    std::vector<std::string> names;
    each_command<script::Counter>(
        run_.body, [&](const auto& line, script::SourceSpan) { names.push_back(line.name.text); });
    if (names.empty()) co_return Met<>{};
    dut::Request call = dut::Counters{};
    const auto read = co_await ask<dut::CounterValues>(std::move(call), {});
    if (!read) co_return std::unexpected(read.error());
    for (const std::string& name : names) {
        const auto found = read->values.find(environment_.counter_name(name));
        if (found == read->values.end()) {
            co_return std::unexpected(
                Unmet{Verdict::Skip, fmt::format("the device has no counter '{}'", name)});
        }
        counters_before_[name] = found->second;
    }
    co_return Met<>{};
}

// A device may write its counters a little late.
Task<Met<>> Interpreter::counter(const script::Counter& line, script::SourceSpan span) {
    const auto by = number(line.by, peers_.begin()->second);
    if (!by) co_return std::unexpected(by.error());
    const std::uint64_t wanted = static_cast<std::uint64_t>(*by);
    const wire::Instant deadline = events_.now() + environment_.settle;
    while (true) {
        dut::Request call = dut::Counters{};
        const auto read = co_await ask<dut::CounterValues>(std::move(call), span);
        if (!read) co_return std::unexpected(read.error());
        const auto found = read->values.find(environment_.counter_name(line.name.text));
        const std::uint64_t now = found == read->values.end() ? 0 : found->second;
        const std::uint64_t grown = now - counters_before_.at(line.name.text);
        if (grown == wanted && events_.now() >= deadline) break;
        if (grown > wanted || events_.now() >= deadline) {
            co_return std::unexpected(failed(
                span, "the counter grew by another number",
                fmt::format("counter {} += {}", line.name.text, static_cast<std::int64_t>(grown))));
        }
        co_await events_.sleep(events_.now() + environment_.settle / 10);
    }
    line_ended();
    co_return Met<>{};
}

} // namespace veriroce::interpreter
