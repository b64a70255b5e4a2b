#include "conformance/interpreter/completions.hpp"

#include <algorithm>
#include <ranges>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "conformance/interpreter/dut_calls.hpp"
#include "conformance/interpreter/environment.hpp"
#include "conformance/interpreter/objects.hpp"
#include "conformance/interpreter/tester_peer.hpp"
#include "conformance/interpreter/values.hpp"
#include "conformance/interpreter/waiting.hpp"
#include "conformance/interpreter/wire.hpp"

namespace veriroce::interpreter {
namespace {

bool status_is(engine::WcStatus status, const script::StatusMatch& wanted) {
    const auto* one = std::get_if<engine::WcStatus>(&wanted);
    return one == nullptr ? status != engine::WcStatus::Success : status == *one;
}

std::string_view name_of(const script::StatusMatch& wanted) {
    const auto* one = std::get_if<engine::WcStatus>(&wanted);
    return one == nullptr ? "FAILED" : engine::name_of(*one);
}

// How the completion differs from the line's for this id: every value.
Met<std::vector<Difference>> differences(const Objects& objects, const CaseQp& qp,
                                         const script::Done& line, std::int64_t id,
                                         const dut::Completion& seen) {
    std::vector<Difference> found;
    if (seen.id != static_cast<std::uint64_t>(id)) {
        found.push_back({"id", fmt::format("{}", id), fmt::format("{}", seen.id)});
    }
    const auto is_status = [&](const auto& wanted) { return status_is(seen.status, wanted); };
    if (std::ranges::none_of(line.statuses, is_status)) {
        const auto names = line.statuses | std::views::transform(
                                               [](const auto& wanted) { return name_of(wanted); });
        found.push_back({"status", fmt::format("{}", fmt::join(names, " or ")),
                         std::string(engine::name_of(seen.status))});
    }
    if (line.length) {
        const auto length = number(objects, *line.length, qp);
        if (!length) return std::unexpected(length.error());
        if (seen.byte_len != *length) {
            found.push_back({"len", fmt::format("{}", *length), fmt::format("{}", seen.byte_len)});
        }
    }
    if (line.imm) {
        const auto wanted = number(objects, *line.imm, qp);
        if (!wanted) return std::unexpected(wanted.error());
        const auto imm = static_cast<std::uint32_t>(*wanted);
        if (seen.imm != imm) {
            found.push_back({"imm", fmt::format("0x{:X}", imm),
                             seen.imm ? fmt::format("0x{:X}", *seen.imm) : "absent"});
        }
    }
    if (line.opcode && seen.opcode != *line.opcode) {
        found.push_back({"opcode", std::string(engine::name_of(*line.opcode)),
                         std::string(engine::name_of(seen.opcode))});
    }
    return found;
}

// Waits for something that may change the tester's engine: a packet, or its own timer.
Task<Met<>> wait_for_engine(Interpreter& interpreter, wire::Instant deadline) {
    TesterPeer& tester = interpreter.tester();
    const auto timer = tester.next_timeout();
    co_await interpreter.events().wait(timer ? std::min(deadline, *timer) : deadline);
    if (tester.advance(interpreter.clock().now())) interpreter.wire().transmit_of_engine();
    co_return Met<>{};
}

// The completions that the line's side has shown.
std::deque<dut::Completion>& shown_to(const AwaitedCompletions& what, CaseQp& qp) {
    return what.side == Side::Tester ? qp.tester_completions : qp.completions;
}

Task<Met<>> poll(Interpreter& interpreter, CaseQp& qp, dut::CqHandle cq, wire::Duration wait,
                 Span span) {
    dut::Request call = dut::Poll{.cq = cq, .max = 64, .wait_ms = wait_ms_of(wait)};
    const dut::Polled polled = co_await ask<dut::Polled>(interpreter, std::move(call), span);
    for (const dut::Completion& completion : polled.completions) {
        CaseQp* known = interpreter.objects().qp_of_dut(completion.qp);
        CaseQp& owner = known == nullptr ? qp : *known;
        owner.gave_up = owner.gave_up || completion.status == engine::WcStatus::RetryExcErr;
        owner.completions.push_back(completion);
    }
    co_return Met<>{};
}

} // namespace

Task<Met<>> collect_completions(Interpreter& interpreter, CaseQp& qp, wire::Duration wait,
                                Span span, engine::Queue awaited) {
    if (qp.gsi) co_return Met<>{};
    const bool receives = awaited == engine::Queue::Receive;
    if (qp.recv_cq != qp.cq)
        co_await poll(interpreter, qp, receives ? qp.cq : qp.recv_cq, wire::Duration(0), span);
    co_await poll(interpreter, qp, receives ? qp.recv_cq : qp.cq, wait, span);
    co_return Met<>{};
}

Task<Met<>> collect_events(Interpreter& interpreter, wire::Duration wait, Span span) {
    if (!interpreter.environment().capable("events")) co_return Met<>{};
    dut::Request call = dut::Events{.wait_ms = wait_ms_of(wait)};
    const dut::EventList list = co_await ask<dut::EventList>(interpreter, std::move(call), span);
    auto& events = interpreter.objects().events;
    events.insert(events.end(), list.events.begin(), list.events.end());
    co_return Met<>{};
}

bool reports_state(const Interpreter& interpreter) {
    return interpreter.environment().capable("query_qp");
}

Task<Met<std::optional<engine::QpState>>> state_of_dut(Interpreter& interpreter, const CaseQp& qp,
                                                       Span span) {
    if (!reports_state(interpreter)) co_return std::nullopt;
    dut::Request query = dut::QpQuery{.qp = qp.dut_qp};
    const dut::QpQueried report = co_await ask<dut::QpQueried>(interpreter, std::move(query), span);
    co_return report.attributes.state;
}

std::string completion_name(const dut::Completion& completion) {
    return fmt::format("{} completion id={}", engine::name_of(completion.queue), completion.id);
}

std::string completion_text(const dut::Completion& completion) {
    std::string text = fmt::format("done {} id={} status={}", engine::name_of(completion.queue),
                                   completion.id, engine::name_of(completion.status));
    if (completion.status == engine::WcStatus::Success) {
        text += fmt::format(" len={} opcode={}", completion.byte_len,
                            engine::name_of(completion.opcode));
    }
    if (completion.imm) text += fmt::format(" imm=0x{:X}", *completion.imm);
    return text;
}

std::string state_text(std::optional<engine::QpState> state) {
    return state ? std::string(engine::name_of(*state)) : "unknown";
}

std::string event_text(engine::EventType type) {
    return fmt::format("event {}", engine::name_of(type));
}

// --- done -------------------------------------------------------------------------------------

Met<AwaitedCompletions> awaited_by(Interpreter& interpreter, const script::Done& line, Side side,
                                   const CaseQp& qp) {
    const auto ids = ids_of(interpreter.objects(), line.ids, qp);
    if (!ids) return std::unexpected(ids.error());
    AwaitedCompletions what{&line, side, ids->first, ids->last};
    const auto refused = [&](std::int64_t id) {
        return side == Side::Dut &&
               qp.refused.contains({line.queue, static_cast<std::uint64_t>(id)});
    };
    while (!what.none() && refused(what.last))
        --what.last;
    while (!what.none() && refused(what.next))
        ++what.next;
    return what;
}

Task<Met<>> ask_for(Interpreter& interpreter, const Awaited& line, AwaitedCompletions& what,
                    Question question) {
    if (what.side == Side::Dut) {
        co_await collect_completions(interpreter, *line.qp, question.wait, line.span,
                                     what.line->queue);
        co_return Met<>{};
    }
    if (question.sleeps()) co_await wait_for_engine(interpreter, deadline_of(interpreter, line));
    interpreter.tester().collect_completions(interpreter.objects());
    co_return Met<>{};
}

// A completion that no open line expects is a finding.
Met<> take(Interpreter& interpreter, OpenLines& open, Awaited& line,
           const AwaitedCompletions& what) {
    CaseQp& qp = *line.qp;
    const engine::Queue queue = what.line->queue;
    const bool ours = what.side == Side::Tester;
    auto& seen = shown_to(what, qp);
    const auto waits = [&](const Awaited& other) {
        const auto* done = std::get_if<AwaitedCompletions>(&other.what);
        return done != nullptr && !other.met && other.qp == &qp && done->side == what.side &&
               done->line->queue == queue;
    };
    while (std::ranges::any_of(open.lines, waits)) {
        const auto next = std::ranges::find(seen, queue, &dut::Completion::queue);
        if (next == seen.end()) return {};
        Awaited* taker = nullptr;
        std::vector<Difference> why;
        for (Awaited& other : open.lines) {
            if (taker != nullptr || !waits(other)) continue;
            const auto& done = std::get<AwaitedCompletions>(other.what);
            auto found = differences(interpreter.objects(), qp, *done.line, done.next, *next);
            if (!found) return std::unexpected(std::move(found.error()));
            if (found->empty()) taker = &other;
            if (why.empty()) why = std::move(*found);
        }
        if (taker == nullptr && !is_unscripted(interpreter) && !qp.judged) {
            Finding finding =
                std::ranges::count_if(open.lines, waits) == 1
                    ? mismatch(line.span, std::move(why), completion_text(*next))
                    : unexpected(line.span, completion_name(*next), completion_text(*next));
            if (ours) finding.detail = "at the tester";
            return failed(std::move(finding));
        }
        if (!ours && queue == engine::Queue::Receive) {
            std::erase(interpreter.objects().receives_of(qp), next->id);
        }
        seen.erase(next);
        if (taker == nullptr) continue;
        auto& done = std::get<AwaitedCompletions>(taker->what);
        if (done.next++ == done.last) end_line(interpreter, *taker);
    }
    return {};
}

Met<bool> is_there(Interpreter& interpreter, const Awaited& line, const AwaitedCompletions& what) {
    const auto& seen = shown_to(what, *line.qp);
    const auto next = std::ranges::find(seen, what.line->queue, &dut::Completion::queue);
    if (next == seen.end()) return false;
    const auto found = differences(interpreter.objects(), *line.qp, *what.line, what.next, *next);
    if (!found) return std::unexpected(found.error());
    return found->empty();
}

Finding overdue(Interpreter& /*interpreter*/, const Awaited& line, const AwaitedCompletions& what) {
    return missing(line.span,
                   fmt::format("{}{} completion id={}", what.side == Side::Tester ? "tester " : "",
                               engine::name_of(what.line->queue), what.next),
                   line.patience);
}

// --- state ------------------------------------------------------------------------------------

Task<Met<>> ask_for(Interpreter& interpreter, const Awaited& line, AwaitedState& what,
                    Question question) {
    if (what.side == Side::Tester) {
        if (question.sleeps())
            co_await wait_for_engine(interpreter, deadline_of(interpreter, line));
        what.seen = interpreter.tester().state_of(*line.qp);
        co_return Met<>{};
    }
    if (!reports_state(interpreter)) {
        // Nothing tells when the device has got there: it gets the time for it.
        if (!question.sleeps()) co_return Met<>{};
        co_await interpreter.events().sleep(interpreter.clock().now() +
                                            interpreter.environment().settle);
        what.seen = what.line->state;
        co_return Met<>{};
    }
    if (question.sleeps()) {
        const wire::Duration pause = interpreter.environment().settle / 10;
        co_await interpreter.events().sleep(interpreter.clock().now() + pause);
    }
    const auto seen = co_await state_of_dut(interpreter, *line.qp, line.span);
    what.seen = seen;
    co_return Met<>{};
}

Met<> take(Interpreter& interpreter, OpenLines& /*open*/, Awaited& line, const AwaitedState& what) {
    if (what.seen == what.line->state) end_line(interpreter, line);
    return {};
}

Finding overdue(Interpreter& /*interpreter*/, const Awaited& line, const AwaitedState& what) {
    const bool ours = what.side == Side::Tester;
    Finding finding = missing(line.span, "", line.patience);
    finding.actual = "state " + state_text(what.seen);
    finding.differences.push_back({ours ? "state of the tester's QP" : "state",
                                   state_text(what.line->state), state_text(what.seen)});
    return finding;
}

// --- event ------------------------------------------------------------------------------------

Task<Met<>> ask_for(Interpreter& interpreter, const Awaited& line, AwaitedEvent& /*what*/,
                    Question question) {
    co_await collect_events(interpreter, question.wait, line.span);
    co_return Met<>{};
}

Met<> take(Interpreter& interpreter, OpenLines& /*open*/, Awaited& line, const AwaitedEvent& what) {
    auto& events = interpreter.objects().events;
    const auto found = std::ranges::find_if(events, [&](const dut::Event& one) {
        return one.type == what.line->type && (!one.qp || *one.qp == line.qp->dut_qp);
    });
    if (found == events.end()) return {};
    events.erase(found);
    end_line(interpreter, line);
    return {};
}

Finding overdue(Interpreter& /*interpreter*/, const Awaited& line, const AwaitedEvent& what) {
    return missing(line.span, event_text(what.line->type), line.patience);
}

// --- notified ---------------------------------------------------------------------------------

Task<Met<>> ask_for(Interpreter& interpreter, const Awaited& line, AwaitedNotification& what,
                    Question question) {
    dut::Request call = dut::CqWait{.cq = interpreter.objects().cqs.at(what.line->cq.text),
                                    .wait_ms = wait_ms_of(question.wait)};
    const dut::Notified seen = co_await ask<dut::Notified>(interpreter, std::move(call), line.span);
    what.came = seen.notified;
    co_return Met<>{};
}

Met<> take(Interpreter& interpreter, OpenLines& /*open*/, Awaited& line,
           const AwaitedNotification& what) {
    if (what.came) end_line(interpreter, line);
    return {};
}

Finding overdue(Interpreter& /*interpreter*/, const Awaited& line,
                const AwaitedNotification& what) {
    return missing(line.span, "notification of " + what.line->cq.text, line.patience);
}

} // namespace veriroce::interpreter
