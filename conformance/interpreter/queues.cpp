#include "conformance/interpreter/queues.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "conformance/interpreter/attributes.hpp"
#include "conformance/interpreter/clock.hpp"
#include "conformance/interpreter/dut_calls.hpp"
#include "conformance/interpreter/environment.hpp"
#include "conformance/interpreter/objects.hpp"
#include "conformance/interpreter/values.hpp"
#include "conformance/interpreter/walk.hpp"

namespace veriroce::interpreter {
namespace {

constexpr int kIdle = 10; // settle times in which a counter must stand still

bool has_queue(const std::vector<script::QpSetup>& qps, std::string_view kind,
               const std::string& name) {
    return std::ranges::any_of(
        qps, [&](const script::QpSetup& qp) { return name_attribute(qp, kind, "") == name; });
}

// The value of an expression that must be known before the first line.
Met<std::uint32_t> constant(const script::Expr& expr, Span span, std::string_view what) {
    const auto value =
        script::evaluate(expr, {[](std::string_view) { return std::nullopt; },
                                [](const script::FieldName&) { return std::nullopt; }});
    if (!value) return unplayable(span, fmt::format("the {} must be known before the run", what));
    return static_cast<std::uint32_t>(*value);
}

// The lines of one command with their places, in the order of the script.
template <typename Command>
std::vector<std::pair<Command, Span>> lines_of(const script::Run& run) {
    std::vector<std::pair<Command, Span>> lines;
    each_command<Command>(run.body,
                          [&](const Command& line, Span span) { lines.emplace_back(line, span); });
    return lines;
}

// Whether the queue notifies within this time.
Task<Met<bool>> notified_within(Interpreter& interpreter, const std::string& cq,
                                wire::Duration time, Span span) {
    const wire::Instant deadline = interpreter.clock().now() + time;
    while (true) {
        dut::Request call =
            dut::CqWait{.cq = interpreter.objects().cqs.at(cq),
                        .wait_ms = wait_ms_of(deadline - interpreter.clock().now())};
        const dut::Notified seen = co_await ask<dut::Notified>(interpreter, std::move(call), span);
        if (seen.notified) co_return true;
        if (interpreter.clock().now() >= deadline) co_return false;
    }
}

} // namespace

// --- domains and queues -----------------------------------------------------------------------

Task<Met<dut::PdHandle>> domain(Interpreter& interpreter, std::int64_t number, Span span) {
    auto& pds = interpreter.objects().pds;
    const auto known = pds.find(number);
    if (known != pds.end()) co_return known->second;
    dut::Request call = dut::PdCreate{};
    const dut::PdCreated made = co_await ask<dut::PdCreated>(interpreter, std::move(call), span);
    pds[number] = made.pd;
    co_return made.pd;
}

Task<Met<>> make_queues_of_qps(Interpreter& interpreter) {
    const script::Run& run = interpreter.run();
    const auto cqs = lines_of<script::MakeCq>(run);
    for (const auto& [line, span] : cqs) {
        const bool wanted = has_queue(run.qps, "cq", line.name.text) ||
                            has_queue(run.qps, "recv_cq", line.name.text);
        if (wanted) co_await play_dut(interpreter, line, span);
    }
    const auto srqs = lines_of<script::MakeSrq>(run);
    for (const auto& [line, span] : srqs) {
        if (has_queue(run.qps, "srq", line.name.text)) co_await play_dut(interpreter, line, span);
    }
    co_return Met<>{};
}

Task<Met<dut::CqHandle>> queue_of_qp(Interpreter& interpreter, const script::QpSetup& setup,
                                     std::string_view kind) {
    auto& cqs = interpreter.objects().cqs;
    const std::string name = name_attribute(setup, kind, "");
    const auto known = cqs.find(name);
    if (known != cqs.end() && !name.empty()) co_return known->second;
    dut::Request call = dut::CqCreate{.depth = name == "small" ? 1 : 2 * kQueueDepth};
    const dut::CqCreated made =
        co_await ask<dut::CqCreated>(interpreter, std::move(call), setup.span);
    cqs[name] = made.cq;
    co_return made.cq;
}

Task<Met<>> arm_limit(Interpreter& interpreter, const std::string& srq, Span span) {
    auto& limits = interpreter.objects().srq_limits;
    const auto limit = limits.find(srq);
    if (limit == limits.end()) co_return Met<>{};
    dut::Request call =
        dut::SrqModify{.srq = interpreter.objects().srqs.at(srq), .limit = limit->second};
    limits.erase(limit);
    co_await ask<dut::Done>(interpreter, std::move(call), span);
    co_return Met<>{};
}

Task<Met<>> play_dut(Interpreter& interpreter, const script::MakeCq& line, Span span) {
    auto& cqs = interpreter.objects().cqs;
    if (cqs.contains(line.name.text)) co_return Met<>{};
    const std::uint32_t depth = co_await constant(line.depth, span, "depth");
    dut::Request call = dut::CqCreate{.depth = depth};
    const dut::CqCreated made = co_await ask<dut::CqCreated>(interpreter, std::move(call), span);
    cqs[line.name.text] = made.cq;
    interpreter.objects().cq_depths[line.name.text] = made.depth.value_or(depth);
    interpreter.clock().line_ended();
    co_return Met<>{};
}

Task<Met<>> play_dut(Interpreter& interpreter, const script::MakeSrq& line, Span span) {
    Objects& objects = interpreter.objects();
    if (objects.srqs.contains(line.name.text)) co_return Met<>{};
    const std::uint32_t depth = co_await constant(line.depth, span, "depth");
    const dut::PdHandle pd = co_await domain(interpreter, 1, span);
    if (line.limit) {
        const std::uint32_t limit = co_await constant(*line.limit, span, "limit");
        objects.srq_limits[line.name.text] = limit;
    }
    dut::Request call = dut::SrqCreate{.pd = pd, .depth = depth};
    const dut::SrqCreated made = co_await ask<dut::SrqCreated>(interpreter, std::move(call), span);
    objects.srqs[line.name.text] = made.srq;
    interpreter.clock().line_ended();
    co_return Met<>{};
}

Task<Met<>> play_dut(Interpreter& interpreter, const script::RearmSrq& line, Span span) {
    Objects& objects = interpreter.objects();
    const std::int64_t limit = co_await number(objects, line.limit, objects.own_qp());
    dut::Request call = dut::SrqModify{.srq = objects.srqs.at(line.srq.text),
                                       .limit = static_cast<std::uint32_t>(limit)};
    const auto armed = co_await outcome_of(ask<dut::Done>(interpreter, std::move(call), span));
    interpreter.clock().line_ended();
    if (!armed) co_return std::unexpected(armed.error());
    objects.srq_limits.erase(line.srq.text); // this limit replaces the one that waits
    co_return Met<>{};
}

// --- congestion management --------------------------------------------------------------------

namespace {

// The setting that the device did not accept as asked; it may round the interval.
std::string not_taken(const dut::CongestionSettings& wanted, const dut::CongestionSettings& is) {
    const auto lacks = [](const auto& asked, const auto& got) { return asked && asked != got; };
    if (lacks(wanted.np, is.np)) return "np";
    if (lacks(wanted.rp, is.rp)) return "rp";
    if (lacks(wanted.cnp_dscp, is.cnp_dscp)) return "dscp";
    return wanted.cnp_interval_us && !is.cnp_interval_us ? "interval" : "";
}

} // namespace

Task<Met<>> play_dut(Interpreter& interpreter, const script::Congestion& line, Span span) {
    if (!interpreter.environment().capable("congestion"))
        co_return unsupported(span, "needs congestion");
    Objects& objects = interpreter.objects();
    dut::CongestionSettings wanted{.np = line.np, .rp = line.rp};
    if (line.interval) {
        const std::int64_t interval = co_await number(objects, *line.interval, objects.own_qp());
        const auto least = std::chrono::ceil<std::chrono::microseconds>(wire::Duration(interval));
        wanted.cnp_interval_us = static_cast<std::uint32_t>(least.count());
    }
    if (line.dscp) {
        const std::int64_t dscp = co_await number(objects, *line.dscp, objects.own_qp());
        wanted.cnp_dscp = static_cast<std::uint8_t>(dscp);
    }
    dut::Request call = dut::CongestionSet{.settings = wanted};
    const auto is =
        co_await outcome_of(ask<dut::CongestionSettings>(interpreter, std::move(call), span));
    interpreter.clock().line_ended();
    if (!is) co_return std::unexpected(is.error());
    const std::string lacking = not_taken(wanted, *is);
    if (!lacking.empty())
        co_return unsupported(span, "the DUT cannot set '" + lacking + "' of dut congestion");
    co_return Met<>{};
}

// --- notifications ----------------------------------------------------------------------------

Task<Met<>> play_dut(Interpreter& interpreter, const script::ArmCq& line, Span span) {
    if (!interpreter.environment().capable("notify")) co_return unsupported(span, "needs notify");
    dut::Request call =
        dut::CqArm{.cq = interpreter.objects().cqs.at(line.cq.text), .solicited = line.solicited};
    const auto armed = co_await outcome_of(ask<dut::Done>(interpreter, std::move(call), span));
    interpreter.clock().line_ended();
    if (!armed) co_return std::unexpected(armed.error());
    co_return Met<>{};
}

Task<Met<>> play_dut(Interpreter& interpreter, const script::CqQuiet& line, Span span) {
    Objects& objects = interpreter.objects();
    const wire::Duration time =
        co_await time_or(objects, line.time, interpreter.environment().settle, objects.own_qp());
    const bool came = co_await notified_within(interpreter, line.cq.text, time, span);
    interpreter.clock().line_ended();
    if (!came) co_return Met<>{};
    Finding finding = unexpected(span, "notification of " + line.cq.text, "notified");
    finding.time = time;
    co_return failed(std::move(finding));
}

// --- counters ---------------------------------------------------------------------------------

Task<Met<>> note_counters(Interpreter& interpreter) {
    const auto lines = lines_of<script::Counter>(interpreter.run());
    if (lines.empty()) co_return Met<>{};
    dut::Request call = dut::Counters{};
    const dut::CounterValues read =
        co_await ask<dut::CounterValues>(interpreter, std::move(call), {});
    for (const auto& [line, span] : lines) {
        const auto found = read.values.find(interpreter.environment().counter_name(line.counter));
        if (found == read.values.end()) {
            co_return unsupported(
                {}, fmt::format("the device has no counter '{}'", wire::name_of(line.counter)));
        }
        interpreter.objects().counters_before[line.counter] = found->second;
    }
    co_return Met<>{};
}

namespace {

Task<Met<std::uint64_t>> growth(Interpreter& interpreter, wire::DeviceCounter counter, Span span) {
    dut::Request call = dut::Counters{};
    const dut::CounterValues read =
        co_await ask<dut::CounterValues>(interpreter, std::move(call), span);
    const auto found = read.values.find(interpreter.environment().counter_name(counter));
    const std::uint64_t now = found == read.values.end() ? 0 : found->second;
    co_return Met<std::uint64_t>(now - interpreter.objects().counters_before.at(counter));
}

} // namespace

// A device may update its counters a little late. They count what others send, too: one that grows
// while the tester is silent tells nothing.
Task<Met<>> play_dut(Interpreter& interpreter, const script::Counter& line, Span span) {
    Objects& objects = interpreter.objects();
    const wire::Duration settle = interpreter.environment().settle;
    const std::int64_t by = co_await number(objects, line.by, objects.own_qp());
    const auto wanted = static_cast<std::uint64_t>(by);
    const wire::Instant deadline = interpreter.clock().now() + settle;
    while (true) {
        const std::uint64_t grown = co_await growth(interpreter, line.counter, span);
        const bool over = interpreter.clock().now() >= deadline;
        if (grown == wanted && over) break;
        if (grown > wanted) {
            co_await interpreter.events().sleep(interpreter.clock().now() + settle);
            const std::uint64_t settled = co_await growth(interpreter, line.counter, span);
            co_await interpreter.events().sleep(interpreter.clock().now() + kIdle * settle);
            const std::uint64_t later = co_await growth(interpreter, line.counter, span);
            if (later > settled) {
                co_return unsupported(span, fmt::format("the counter '{}' grows while the tester "
                                                        "is silent: others use the device",
                                                        wire::name_of(line.counter)));
            }
        }
        if (grown > wanted || over) {
            const std::string name = fmt::format("counter {}", wire::name_of(line.counter));
            const std::string seen = fmt::format("+= {}", static_cast<std::int64_t>(grown));
            std::vector<Difference> differing;
            differing.push_back({name, fmt::format("+= {}", by), seen});
            co_return failed(mismatch(span, std::move(differing), name + " " + seen));
        }
        co_await interpreter.events().sleep(interpreter.clock().now() + settle / 10);
    }
    interpreter.clock().line_ended();
    co_return Met<>{};
}

} // namespace veriroce::interpreter
