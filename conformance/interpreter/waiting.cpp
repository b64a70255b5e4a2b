#include "conformance/interpreter/waiting.hpp"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include "conformance/interpreter/attributes.hpp"
#include "conformance/interpreter/environment.hpp"
#include "conformance/interpreter/events.hpp"
#include "conformance/interpreter/honest_peer.hpp"
#include "conformance/interpreter/interpreter.hpp"
#include "conformance/interpreter/objects.hpp"
#include "conformance/interpreter/one_of.hpp"
#include "conformance/interpreter/record.hpp"
#include "conformance/interpreter/values.hpp"

namespace veriroce::interpreter {
namespace {

// --- what lines wait for ----------------------------------------------------------------------

// The thing that a line waits for, and its `within`.
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
        auto what = awaited_by(interpreter_, done, line_.side, qp_);
        if (!what) return std::unexpected(std::move(what.error()));
        return Wanted{*what, &done.within};
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
    template <OneOf<script::Post, script::Recv, script::MakeMr, script::MakeMw, script::Dereg,
                    script::WriteMemory, script::MakeCq, script::MakeSrq, script::RearmSrq,
                    script::ArmCq, script::Congestion, script::Connection, script::Modify,
                    script::Reconnect, script::CqQuiet, script::Counter, script::Answers>
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

// The line begins to wait.
Met<Awaited> begun(Interpreter& interpreter, CaseQp& qp, Wanted wanted, Span span) {
    const auto* done = std::get_if<AwaitedCompletions>(&wanted.what);
    Awaited line{.span = span,
                 .qp = &qp,
                 .patience = interpreter.environment().patience,
                 .since = {},
                 .what = std::move(wanted.what),
                 .asked = false,
                 .met = done != nullptr && done->none()};
    line.asked = line.packet() != nullptr; // packets need no question
    if (const auto& within = *wanted.within) {
        const auto time = number(interpreter.objects(), *within, qp);
        if (!time) return std::unexpected(time.error());
        line.patience = wire::Duration(*time);
        line.since = interpreter.clock().line_end();
    }
    return line;
}

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

constexpr wire::Duration kShortestQuestion = std::chrono::milliseconds(1);
constexpr wire::Duration kLongestQuestion = std::chrono::seconds(1);

// --- asking -----------------------------------------------------------------------------------

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

// Packets first: they have a time of their own, and end their lines with it.
Met<> take_what_came(Interpreter& interpreter, OpenLines& open) {
    for (const bool packets : {true, false}) {
        for (Awaited& line : open.lines) {
            if (line.met || (line.packet() != nullptr) != packets) continue;
            const auto take_one = [&](const auto& what) {
                return take(interpreter, open, line, what);
            };
            if (const Met<> met = std::visit(take_one, line.what); !met) return met;
        }
    }
    return {};
}

} // namespace

Met<Awaited> awaited(Interpreter& interpreter, const script::ExpectPacket& line, Span span) {
    const auto qp = qp_of(interpreter.objects(), line.qp);
    if (!qp) return std::unexpected(qp.error());
    auto packet = awaited_by(interpreter, line, **qp, span);
    if (!packet) return std::unexpected(std::move(packet.error()));
    return begun(interpreter, **qp, {std::move(*packet), &line.within}, span);
}

Met<std::optional<Awaited>> awaited(Interpreter& interpreter, const script::SideCommand& line,
                                    Span span) {
    const auto qp = qp_of(interpreter.objects(), line.qp);
    if (!qp) return std::unexpected(qp.error());
    auto wanted = std::visit(WantedByCommand(interpreter, line, **qp, span), line.command);
    if (!wanted) return std::unexpected(std::move(wanted.error()));
    if (!*wanted) return std::nullopt;
    return begun(interpreter, **qp, std::move(**wanted), span);
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

// A dialogue cannot know how long its lines take: each RNR NAK that the tester obeys takes time, so
// does each reconnect, and some devices have timers of their own.
bool may_be_late(Interpreter& interpreter) {
    const auto waited = [](const auto& one) { return one.second.refusals > 0; };
    return interpreter.environment().early_ack_timer() || !interpreter.objects().past.empty() ||
           std::ranges::any_of(interpreter.objects().qps, waited);
}

// TMO-03: whether the DUT says that its retries are used up, and has sent one packet that often
// where a dialogue may be late. The model judges whether the DUT gave up too soon.
Task<Met<bool>> has_given_up(Interpreter& interpreter, CaseQp& qp, Span span) {
    const bool excused = is_unscripted(interpreter) && may_be_late(interpreter);
    if (!excused || qp.type != engine::QpType::Rc) co_return false;
    co_await collect_completions(interpreter, qp, wire::Duration(0), span);
    co_return retries_used_up(interpreter.record(), qp);
}

} // namespace

wire::Instant deadline_of(Interpreter& interpreter, const Awaited& line) {
    const Clock& clock = interpreter.clock();
    // A line with its own time waits a little longer than that, because the packet's stamp decides.
    const bool stamped = line.since && line.packet() != nullptr;
    return clock.interval_of(line.since.value_or(clock.line_end())).latest + line.patience +
           (stamped ? interpreter.environment().round_trip_p99 : wire::Duration(0));
}

void end_line(Interpreter& interpreter, Awaited& line) {
    line.met = true;
    interpreter.clock().line_ended();
}

Task<Met<>> await_all(Interpreter& interpreter, OpenLines open) {
    wire::Duration longest = kShortestQuestion;
    while (true) {
        co_await take_what_came(interpreter, open);
        for (const Awaited& line : open.lines) {
            if (line.met) co_await compare_data(interpreter, line);
        }
        std::erase_if(open.lines, &Awaited::met);
        if (open.lines.empty()) co_return Met<>{};
        if (co_await act_as_peer(interpreter, open.lines)) continue;
        const auto late = std::ranges::find_if(open.lines, [&](const Awaited& line) {
            return line.asked && interpreter.clock().now() >= deadline_of(interpreter, line);
        });
        if (late != open.lines.end()) {
            if (late->packet() != nullptr && repeat_duplicates(interpreter, *late->qp)) {
                if (late->since) late->since = interpreter.clock().line_end();
                continue;
            }
            if (co_await has_given_up(interpreter, *late->qp, late->span))
                co_return dialogue_ends();
            const auto finding = [&](const auto& what) {
                return overdue(interpreter, *late, what);
            };
            co_return failed(std::visit(finding, late->what));
        }
        co_await ask_or_wait(interpreter, open.lines, longest);
    }
}

Task<Met<>> await_one(Interpreter& interpreter, Awaited line) {
    OpenLines open{.lines = {}, .span = line.span};
    open.lines.push_back(std::move(line));
    co_await await_all(interpreter, std::move(open));
    co_return Met<>{};
}

Task<Met<>> ask_for(Interpreter& interpreter, Awaited& line, wire::Duration wait) {
    const bool again = std::exchange(line.asked, true);
    const Question question{.wait = wait, .again = again};
    const auto ask_one = [&](auto& what) { return ask_for(interpreter, line, what, question); };
    co_await std::visit(ask_one, line.what);
    co_return Met<>{};
}

Met<bool> is_there(Interpreter& interpreter, const Awaited& line) {
    if (line.met) return true;
    if (const AwaitedPacket* packet = line.packet()) return is_there(interpreter, line, *packet);
    const auto* done = std::get_if<AwaitedCompletions>(&line.what);
    return done == nullptr ? Met<bool>(false) : is_there(interpreter, line, *done);
}

} // namespace veriroce::interpreter
