#include "conformance/interpreter/waiting.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "conformance/interpreter/completions.hpp"
#include "conformance/interpreter/dut_calls.hpp"
#include "conformance/interpreter/environment.hpp"
#include "conformance/interpreter/expect.hpp"
#include "conformance/interpreter/honest_peer.hpp"
#include "conformance/interpreter/objects.hpp"
#include "conformance/interpreter/one_of.hpp"
#include "conformance/interpreter/tester_peer.hpp"
#include "conformance/interpreter/values.hpp"
#include "conformance/interpreter/wire.hpp"

namespace veriroce::interpreter {
namespace {

// --- what lines wait for ----------------------------------------------------------------------

// The thing that a command waits for, and its `within`; nothing if the command does not wait.
struct Wanted {
    decltype(Awaited::what) what;
    const std::optional<script::Expr>* within = nullptr;
};

class WantedByCommand {
  public:
    WantedByCommand(Interpreter& interpreter, const script::SideCommand& line, const CaseQp& qp,
                    Span span)
        : interpreter_(interpreter), line_(line), qp_(qp), span_(span) {}

    Met<std::optional<Wanted>> operator()(const script::Done& done) const {
        const auto ids = ids_of(interpreter_.objects(), done.ids, qp_);
        if (!ids) return std::unexpected(ids.error());
        AwaitedCompletions wanted{&done, line_.side, ids->first, ids->last};
        const auto refused = [&](std::int64_t id) {
            return line_.side == Side::Dut &&
                   qp_.refused.contains({done.queue, static_cast<std::uint64_t>(id)});
        };
        while (wanted.next <= wanted.last && refused(wanted.last))
            --wanted.last;
        while (wanted.next <= wanted.last && refused(wanted.next))
            ++wanted.next;
        return Wanted{wanted, &done.within};
    }
    Met<std::optional<Wanted>> operator()(const script::State& state) const {
        return Wanted{AwaitedState{&state, line_.side, {}}, &state.within};
    }
    Met<std::optional<Wanted>> operator()(const script::EventSeen& event) const {
        if (!interpreter_.environment().capable("events")) {
            return unsupported(span_, "needs events");
        }
        return Wanted{AwaitedEvent{&event}, &event.within};
    }
    Met<std::optional<Wanted>> operator()(const script::Notified& notified) const {
        return Wanted{AwaitedNotification{&notified}, &notified.within};
    }
    template <
        OneOf<script::Post, script::Recv, script::MakeMr, script::MakeMw, script::Dereg,
              script::WriteMemory, script::MakeCq, script::MakeSrq, script::RearmSrq, script::ArmCq,
              script::Modify, script::Reconnect, script::CqQuiet, script::Counter, script::Answers>
            Command>
    Met<std::optional<Wanted>> operator()(const Command& /*command*/) const {
        return std::nullopt;
    }

  private:
    Interpreter& interpreter_;
    const script::SideCommand& line_;
    const CaseQp& qp_;
    Span span_;
};

class AwaitedByStatement {
  public:
    AwaitedByStatement(Interpreter& interpreter, Span span)
        : interpreter_(interpreter), span_(span) {}

    Met<std::optional<Awaited>> operator()(const script::ExpectPacket& line) const {
        auto packet = awaited(interpreter_, line, span_);
        if (!packet) return std::unexpected(std::move(packet.error()));
        return std::move(*packet);
    }
    Met<std::optional<Awaited>> operator()(const script::SideCommand& line) const {
        if (line.refused) return std::nullopt;
        return awaited(interpreter_, line, span_);
    }
    template <
        OneOf<script::SendPacket, script::SendRaw, script::SendFragment, script::SendPfc,
              script::FaultLine, script::ExpectRegion, script::No, script::Quiet, script::Dropped,
              script::Judged, script::Wait, script::AnyBlock, script::Unordered, script::Repeat>
            Line>
    Met<std::optional<Awaited>> operator()(const Line& /*line*/) const {
        return std::nullopt;
    }

  private:
    Interpreter& interpreter_;
    Span span_;
};

// --- until when -------------------------------------------------------------------------------

// When the tester answers what holds back the packet that the line waits for; nothing if nothing
// does, or if it has been answered.
std::optional<wire::Instant> window_opens_for(Interpreter& interpreter, const Awaited& line) {
    const AwaitedPacket* packet = line.packet();
    if (packet == nullptr || line.met || packet->window_opened) return std::nullopt;
    const auto psn = request_wanted(interpreter, *packet, *line.qp);
    if (!psn) return std::nullopt;
    return window_opens_at(interpreter, *line.qp, *psn);
}

// A line with its own time waits a little longer than that, because the packet's stamp decides.
wire::Instant deadline_of(Interpreter& interpreter, const Awaited& line) {
    const Clock& clock = interpreter.clock();
    const bool stamped = line.since && line.packet() != nullptr;
    return clock.interval_of(line.since.value_or(clock.line_end())).latest + line.patience +
           (stamped ? interpreter.environment().round_trip_p99 : wire::Duration(0));
}

class Overdue {
  public:
    Overdue(Interpreter& interpreter, const Awaited& line)
        : interpreter_(interpreter), line_(line) {}

    Finding operator()(const AwaitedPacket& /*packet*/) const {
        return overdue_packet(interpreter_, line_);
    }
    Finding operator()(const AwaitedCompletions& done) const {
        const bool ours = done.side == Side::Tester;
        return missing(line_.span,
                       fmt::format("{}{} completion id={}", ours ? "tester " : "",
                                   engine::name_of(done.line->queue), done.next),
                       line_.patience);
    }
    Finding operator()(const AwaitedState& state) const {
        const bool ours = state.side == Side::Tester;
        Finding finding = missing(line_.span, "", line_.patience);
        finding.actual = "state " + state_text(state.seen);
        finding.differences.push_back({ours ? "state of the tester's QP" : "state",
                                       state_text(state.line->state), state_text(state.seen)});
        return finding;
    }
    Finding operator()(const AwaitedEvent& event) const {
        return missing(line_.span, fmt::format("event {}", engine::name_of(event.line->type)),
                       line_.patience);
    }
    Finding operator()(const AwaitedNotification& notification) const {
        return missing(line_.span, "notification of " + notification.line->cq.text, line_.patience);
    }

  private:
    Interpreter& interpreter_;
    const Awaited& line_;
};

constexpr wire::Duration kShortestQuestion = std::chrono::milliseconds(1);
constexpr wire::Duration kLongestQuestion = std::chrono::seconds(1);

// --- asking -----------------------------------------------------------------------------------

// Waits for something that may change the tester's engine: a packet, or its own timer.
Task<Met<>> wait_for_engine(Interpreter& interpreter, wire::Instant deadline) {
    TesterPeer& tester = interpreter.tester();
    const auto timer = tester.next_timeout();
    co_await interpreter.events().wait(timer ? std::min(deadline, *timer) : deadline);
    if (tester.advance(interpreter.clock().now())) interpreter.wire().transmit_of_engine();
    co_return Met<>{};
}

// Asks once for the thing that a line waits for. `sleeps`: this is not the first question, so it
// may wait for the answer up to `wait`.
struct Question {
    Interpreter& interpreter;
    Awaited& line;
    wire::Duration wait;
    bool sleeps = false;

    Task<Met<>> operator()(AwaitedPacket& /*packet*/) const { co_return Met<>{}; }
    Task<Met<>> operator()(AwaitedCompletions& done) const {
        if (done.side == Side::Dut) {
            co_await collect_completions(interpreter, *line.qp, wait, line.span);
            co_return Met<>{};
        }
        if (sleeps) co_await wait_for_engine(interpreter, deadline_of(interpreter, line));
        interpreter.tester().collect_completions(interpreter.objects());
        co_return Met<>{};
    }
    Task<Met<>> operator()(AwaitedState& state) const {
        if (state.side == Side::Tester) {
            if (sleeps) co_await wait_for_engine(interpreter, deadline_of(interpreter, line));
            state.seen = interpreter.tester().state_of(*line.qp);
            co_return Met<>{};
        }
        if (!reports_state(interpreter)) {
            state.seen = state.line->state;
            co_return Met<>{};
        }
        if (sleeps) {
            const wire::Duration pause = interpreter.environment().settle / 10;
            co_await interpreter.events().sleep(interpreter.clock().now() + pause);
        }
        const auto seen = co_await state_of_dut(interpreter, *line.qp, line.span);
        state.seen = seen;
        co_return Met<>{};
    }
    Task<Met<>> operator()(AwaitedEvent& /*event*/) const {
        co_await collect_events(interpreter, wait, line.span);
        co_return Met<>{};
    }
    Task<Met<>> operator()(AwaitedNotification& notification) const {
        dut::Request call =
            dut::CqWait{.cq = interpreter.objects().cqs.at(notification.line->cq.text),
                        .wait_ms = wait_ms_of(wait)};
        const dut::Notified seen =
            co_await ask<dut::Notified>(interpreter, std::move(call), line.span);
        notification.came = seen.notified;
        co_return Met<>{};
    }
};

// A single line may sleep in its question until the answer is there, or for the `longest` time. A
// packet that a correct peer reacts to (an RNR NAK) is seen between two questions only, and mostly
// comes soon: so each question is longer than the one before. Several lines take turns: each asks
// without waiting, and asks again after a while or when a packet has come.
Task<Met<>> ask_or_wait(Interpreter& interpreter, std::span<Awaited> open,
                        wire::Duration& longest) {
    Awaited& first = open.front();
    const wire::Instant now = interpreter.clock().now();
    if (open.size() == 1 && first.packet() == nullptr) {
        const wire::Duration left = deadline_of(interpreter, first) - now;
        co_await ask_for(interpreter, first, std::min(left, longest));
        longest = std::min(2 * longest, kLongestQuestion);
        co_return Met<>{};
    }
    if (std::ranges::all_of(open, &Awaited::asked)) {
        wire::Instant until = deadline_of(interpreter, first);
        for (const Awaited& line : open) {
            until = std::min(until, deadline_of(interpreter, line));
            until = std::min(until, window_opens_for(interpreter, line).value_or(until));
        }
        const bool asks =
            std::ranges::any_of(open, [](const Awaited& line) { return line.packet() == nullptr; });
        if (asks) until = std::min(until, now + interpreter.environment().settle / 10);
        co_await interpreter.events().wait(until);
    }
    for (Awaited& line : open)
        co_await ask_for(interpreter, line, wire::Duration(0));
    co_return Met<>{};
}

// --- what came --------------------------------------------------------------------------------

bool take_event(Interpreter& interpreter, const script::EventSeen& wanted, const CaseQp& qp) {
    auto& events = interpreter.objects().events;
    const auto found = std::ranges::find_if(events, [&](const dut::Event& one) {
        return one.type == wanted.type && (!one.qp || *one.qp == qp.dut_qp);
    });
    if (found == events.end()) return false;
    events.erase(found);
    return true;
}

// Gives each completion of the queue that `of` waits for to the open line that expects it. A
// completion that no open line expects is a finding.
Met<> take_completions(Interpreter& interpreter, std::span<Awaited> open, const Awaited& of) {
    const auto& wanted = std::get<AwaitedCompletions>(of.what);
    CaseQp& qp = *of.qp;
    const engine::Queue queue = wanted.line->queue;
    const bool ours = wanted.side == Side::Tester;
    auto& seen = ours ? qp.tester_completions : qp.completions;
    const auto waits = [&](const Awaited& line) {
        const auto* done = std::get_if<AwaitedCompletions>(&line.what);
        return done != nullptr && !line.met && line.qp == &qp && done->side == wanted.side &&
               done->line->queue == queue;
    };
    while (std::ranges::any_of(open, waits)) {
        const auto next = std::ranges::find(seen, queue, &dut::Completion::queue);
        if (next == seen.end()) return {};
        Awaited* taker = nullptr;
        std::vector<Difference> why;
        for (Awaited& line : open) {
            if (taker != nullptr || !waits(line)) continue;
            const auto& done = std::get<AwaitedCompletions>(line.what);
            auto found = differences(interpreter.objects(), qp, *done.line, done.next, *next);
            if (!found) return std::unexpected(std::move(found.error()));
            if (found->empty()) taker = &line;
            if (why.empty()) why = std::move(*found);
        }
        if (taker == nullptr && (is_unscripted(interpreter) || qp.judged)) {
            if (!ours && queue == engine::Queue::Receive)
                std::erase(interpreter.objects().receives_of(qp), next->id);
            seen.erase(next);
            continue;
        }
        if (taker == nullptr) {
            Finding finding =
                std::ranges::count_if(open, waits) == 1
                    ? mismatch(of.span, std::move(why), completion_text(*next))
                    : unexpected(of.span, completion_name(*next), completion_text(*next));
            if (ours) finding.detail = "at the tester";
            return failed(std::move(finding));
        }
        if (!ours && queue == engine::Queue::Receive) {
            std::erase(interpreter.objects().receives_of(qp), next->id);
        }
        seen.erase(next);
        auto& done = std::get<AwaitedCompletions>(taker->what);
        taker->met = done.next++ == done.last;
        if (taker->met) interpreter.clock().line_ended();
    }
    return {};
}

// Whether the line now has the thing that it waits for. Completions and packets have been assigned
// before.
struct Taken {
    Interpreter& interpreter;
    const Awaited& line;

    bool operator()(const AwaitedPacket& /*packet*/) const { return line.met; }
    bool operator()(const AwaitedCompletions& /*done*/) const { return line.met; }
    bool operator()(const AwaitedState& state) const { return state.seen == state.line->state; }
    bool operator()(const AwaitedEvent& event) const {
        return take_event(interpreter, *event.line, *line.qp);
    }
    bool operator()(const AwaitedNotification& notification) const { return notification.came; }
};

Met<> take_what_came(Interpreter& interpreter, std::span<Awaited> open, Span span) {
    if (const Met<> met = take_packets(interpreter, open, span); !met) return met;
    for (Awaited& line : open) {
        if (line.met) continue;
        if (std::holds_alternative<AwaitedCompletions>(line.what)) {
            if (const Met<> met = take_completions(interpreter, open, line); !met) return met;
            continue;
        }
        line.met = std::visit(Taken{interpreter, line}, line.what);
        if (line.met) interpreter.clock().line_ended();
    }
    return {};
}

} // namespace

Met<Awaited> awaited(Interpreter& interpreter, const script::ExpectPacket& line, Span span) {
    const auto qp = qp_of(interpreter.objects(), line.qp);
    if (!qp) return std::unexpected(qp.error());
    const auto patience =
        time_or(interpreter.objects(), line.within, interpreter.environment().patience, **qp);
    if (!patience) return std::unexpected(patience.error());
    auto packet = awaited_packet(interpreter, line, **qp, span);
    if (!packet) return std::unexpected(packet.error());
    Awaited one{.span = span,
                .qp = *qp,
                .patience = *patience,
                .since = {},
                .what = std::move(*packet),
                .asked = true}; // packets need no question
    if (line.within) one.since = interpreter.clock().line_end();
    return one;
}

Met<std::optional<Awaited>> awaited(Interpreter& interpreter, const script::SideCommand& line,
                                    Span span) {
    const auto qp = qp_of(interpreter.objects(), line.qp);
    if (!qp) return std::unexpected(qp.error());
    auto wanted = std::visit(WantedByCommand(interpreter, line, **qp, span), line.command);
    if (!wanted) return std::unexpected(std::move(wanted.error()));
    if (!*wanted) return std::nullopt;
    const std::optional<script::Expr>& within = *(*wanted)->within;
    const auto patience =
        time_or(interpreter.objects(), within, interpreter.environment().patience, **qp);
    if (!patience) return std::unexpected(patience.error());
    Awaited one{.span = span,
                .qp = *qp,
                .patience = *patience,
                .since = {},
                .what = std::move((*wanted)->what)};
    if (within) one.since = interpreter.clock().line_end();
    const auto* done = std::get_if<AwaitedCompletions>(&one.what);
    one.met = done != nullptr && done->next > done->last; // the DUT refused these posts
    return one;
}

Met<std::optional<Awaited>> awaited(Interpreter& interpreter, const script::Statement& line) {
    return std::visit(AwaitedByStatement(interpreter, line.span), line.node);
}

namespace {

// Does what a correct peer would do by itself at this moment. Whether that was anything: then the
// lines wait as if it had been the line before them.
Task<Met<bool>> act_as_peer(Interpreter& interpreter, std::span<Awaited> open) {
    bool acted = false;
    for (Awaited& line : open) {
        const bool obeyed = co_await obey_refusal(interpreter, *line.qp, line.span);
        const auto opens = window_opens_for(interpreter, line);
        const bool holds_back = opens && interpreter.clock().now() >= *opens;
        if (holds_back) {
            line.packet()->window_opened = true;
            co_await open_window(interpreter, *line.qp, line.span);
        }
        acted = acted || obeyed || holds_back;
    }
    if (!acted) co_return false;
    for (Awaited& line : open) {
        if (line.since) line.since = interpreter.clock().line_end();
    }
    co_return true;
}

} // namespace

Task<Met<>> await_all(Interpreter& interpreter, std::vector<Awaited> open, Span span) {
    wire::Duration question = kShortestQuestion;
    while (true) {
        co_await take_what_came(interpreter, open, span);
        for (const Awaited& line : open) {
            if (line.met) co_await compare_data(interpreter, line);
        }
        std::erase_if(open, &Awaited::met);
        if (open.empty()) co_return Met<>{};
        if (co_await act_as_peer(interpreter, open)) continue;
        const auto late = std::ranges::find_if(open, [&](const Awaited& line) {
            return line.asked && interpreter.clock().now() >= deadline_of(interpreter, line);
        });
        if (late != open.end()) {
            if (late->packet() != nullptr && repeat_duplicates(interpreter, *late->qp)) {
                if (late->since) late->since = interpreter.clock().line_end();
                continue;
            }
            co_return failed(std::visit(Overdue(interpreter, *late), late->what));
        }
        co_await ask_or_wait(interpreter, open, question);
    }
}

Task<Met<>> await_one(Interpreter& interpreter, Awaited line) {
    const Span span = line.span;
    std::vector<Awaited> open;
    open.push_back(std::move(line));
    co_await await_all(interpreter, std::move(open), span);
    co_return Met<>{};
}

Task<Met<>> ask_for(Interpreter& interpreter, Awaited& line, wire::Duration wait) {
    const bool again = std::exchange(line.asked, true);
    const Question question{interpreter, line, wait, again && wait > wire::Duration(0)};
    co_await std::visit(question, line.what);
    co_return Met<>{};
}

Met<bool> is_there(Interpreter& interpreter, const Awaited& line) {
    if (line.met) return true;
    if (line.packet() != nullptr) return packet_is_there(interpreter, line);
    const auto* done = std::get_if<AwaitedCompletions>(&line.what);
    if (done == nullptr) return false; // alternatives begin with packets or completions
    const CaseQp& qp = *line.qp;
    const bool ours = done->side == Side::Tester;
    const auto& seen = ours ? qp.tester_completions : qp.completions;
    const auto next = std::ranges::find(seen, done->line->queue, &dut::Completion::queue);
    if (next == seen.end()) return false;
    const auto found = differences(interpreter.objects(), qp, *done->line, done->next, *next);
    if (!found) return std::unexpected(found.error());
    return found->empty();
}

} // namespace veriroce::interpreter
