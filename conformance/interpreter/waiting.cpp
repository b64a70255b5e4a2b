// Lines that wait for something that the DUT or our engine does: packets, completions, states,
// events, notifications. A line by itself and the lines of an `unordered` block wait in the same
// loop: it gives what came to the first line that wants it, and ends when every line has its own.
#include <algorithm>

#include <fmt/format.h>

#include "conformance/interpreter/interpreter.hpp"
#include "conformance/interpreter/notation.hpp"

namespace veriroce::interpreter {
namespace {

engine::Queue queue_of(const script::Done& line) {
    return line.queue == script::Queue::Send ? engine::Queue::Send : engine::Queue::Receive;
}

std::string completion_text(const dut::Completion& completion) {
    std::string text = fmt::format("done {} id={} status={}",
                                   completion.queue == engine::Queue::Send ? "send" : "recv",
                                   completion.id, engine::name_of(completion.status));
    if (completion.status == engine::WcStatus::Success) {
        text += fmt::format(" len={} opcode={}", completion.byte_len,
                            engine::name_of(completion.opcode));
    }
    if (completion.imm) text += fmt::format(" imm=0x{:X}", *completion.imm);
    return text;
}

} // namespace

// --- what a line waits for ----------------------------------------------------------------------

Met<std::optional<Awaited>> Interpreter::awaited(const script::Statement& line) {
    if (const auto* packet = std::get_if<script::ExpectPacket>(&line.node)) {
        return awaited_packet(*packet, line.span);
    }
    const auto* side = std::get_if<script::SideCommand>(&line.node);
    if (side == nullptr || side->refused) return std::nullopt;
    return awaited_of_side(*side, line.span);
}

Met<Awaited> Interpreter::awaited_packet(const script::ExpectPacket& line,
                                         script::SourceSpan span) {
    const Met<Peer*> peer = peer_of(line.qp);
    if (!peer) return std::unexpected(peer.error());
    const auto patience = time_or(line.within, environment_.patience, **peer);
    if (!patience) return std::unexpected(patience.error());
    const auto length = length_of(line, **peer, span);
    if (!length) return std::unexpected(length.error());
    Awaited one{.span = span, .peer = *peer, .patience = *patience, .since = {}, .what = {}};
    if (line.within) one.since = line_end_;
    Awaited::Packet packet{.line = &line, .next = {}, .length = *length, .data = {}, .why = {}};
    packet.next = packet_wanted(packet, **peer);
    one.what = std::move(packet);
    one.asked = true; // packets come unasked
    return one;
}

Met<std::optional<Awaited>> Interpreter::awaited_of_side(const script::SideCommand& line,
                                                         script::SourceSpan span) {
    const std::optional<script::Expr>* within = nullptr;
    const Met<Peer*> peer = peer_of(line.qp);
    if (!peer) return std::unexpected(peer.error());
    Awaited one{.span = span, .peer = *peer, .since = {}, .what = {}};
    if (const auto* done = std::get_if<script::Done>(&line.command)) {
        const auto ids = ids_of(done->ids, **peer);
        if (!ids) return std::unexpected(ids.error());
        within = &done->within;
        one.what = Awaited::Completions{done, line.side, ids->first, ids->last};
    } else if (const auto* state = std::get_if<script::State>(&line.command)) {
        within = &state->within;
        one.what = Awaited::State{state, line.side, {}};
    } else if (const auto* event = std::get_if<script::EventSeen>(&line.command)) {
        if (!environment_.capable("events")) {
            return std::unexpected(Unmet{Verdict::Skip, "needs events", span, {}, {}});
        }
        within = &event->within;
        one.what = Awaited::Event{event};
    } else if (const auto* told = std::get_if<script::Notified>(&line.command)) {
        within = &told->within;
        one.what = Awaited::Notification{told};
    } else {
        return std::nullopt;
    }
    const auto patience = time_or(*within, environment_.patience, **peer);
    if (!patience) return std::unexpected(patience.error());
    one.patience = *patience;
    if (*within) one.since = line_end_;
    return one;
}

// --- time ---------------------------------------------------------------------------------------

void Interpreter::line_ended() {
    line_end_ = {.at = events_.now(), .packet = {}};
}

// A packet that came long before its line ends it no earlier than the line before.
void Interpreter::line_ended(std::size_t index) {
    if (history_[index].at.latest < interval_of(line_end_).latest) return;
    line_end_ = {.at = history_[index].at.latest, .packet = index};
}

Interval Interpreter::interval_of(const Moment& moment) const {
    return moment.packet ? history_[*moment.packet].at : Interval{moment.at, moment.at};
}

// A packet with a time of its own is waited for a little longer than that: its stamp decides.
wire::Instant Interpreter::deadline_of(const Awaited& line) const {
    const bool stamped = line.since && std::holds_alternative<Awaited::Packet>(line.what);
    return interval_of(line.since.value_or(line_end_)).latest + line.patience +
           (stamped ? environment_.round_trip_p99 : wire::Duration(0));
}

Unmet Interpreter::overdue(const Awaited& line) const {
    const std::string time = duration_text(line.patience);
    if (const auto* packet = std::get_if<Awaited::Packet>(&line.what)) {
        if (packet->near != nullptr) {
            packet->near->remarks.push_back(
                fmt::format("not what line {} expects", line.span.line));
            return failed(line.span, fmt::format("no such packet within {}: {}", time, packet->why),
                          notation(line.peer, *packet->near));
        }
        return failed(line.span, fmt::format("no such packet within {}", time),
                      packet->passed == nullptr
                          ? "nothing"
                          : notation(line.peer, *packet->passed) + ", and nothing else");
    }
    if (const auto* done = std::get_if<Awaited::Completions>(&line.what)) {
        return failed(line.span,
                      fmt::format("{}id {} did not complete within {}",
                                  done->side == script::Side::Tester ? "the tester's " : "",
                                  done->next, time),
                      "nothing");
    }
    if (const auto* state = std::get_if<Awaited::State>(&line.what)) {
        const bool ours = state->side == script::Side::Tester;
        return failed(line.span,
                      fmt::format("{} did not get there within {}",
                                  ours ? "the tester's QP" : "the QP", time),
                      fmt::format("state {}", state->seen));
    }
    const bool event = std::holds_alternative<Awaited::Event>(line.what);
    return failed(line.span,
                  fmt::format("no {} within {}", event ? "such event" : "notification", time),
                  "nothing");
}

// --- waiting ------------------------------------------------------------------------------------

Task<Met<>> Interpreter::await_all(std::vector<Awaited> open, script::SourceSpan span) {
    while (true) {
        Met<> met = take_what_came(open, span);
        if (!met) co_return met;
        for (const Awaited& line : open) {
            if (!line.met) continue;
            met = co_await compare_data(line);
            if (!met) co_return met;
        }
        std::erase_if(open, &Awaited::met);
        if (open.empty()) co_return Met<>{};
        const auto late = std::ranges::find_if(open, [&](const Awaited& line) {
            return line.asked && events_.now() >= deadline_of(line);
        });
        if (late != open.end()) co_return std::unexpected(overdue(*late));
        met = co_await ask_or_wait(open);
        if (!met) co_return met;
    }
}

Task<Met<>> Interpreter::await_one(Awaited line) {
    const script::SourceSpan span = line.span;
    std::vector<Awaited> open;
    open.push_back(std::move(line));
    const Met<> met = co_await await_all(std::move(open), span);
    co_return met;
}

Task<Met<>> Interpreter::expect(const script::ExpectPacket& line, script::SourceSpan span) {
    Met<Awaited> one = awaited_packet(line, span);
    if (!one) co_return std::unexpected(one.error());
    const Met<> met = co_await await_one(std::move(*one));
    co_return met;
}

Task<Met<>> Interpreter::unordered(const script::Unordered& block, script::SourceSpan span) {
    std::vector<Awaited> open;
    for (const script::Statement& line : block.body) {
        auto one = awaited(line);
        if (!one) co_return std::unexpected(one.error());
        if (!*one) co_return std::unexpected(error(line.span, "this line does not wait"));
        open.push_back(std::move(**one));
    }
    const Met<> met = co_await await_all(std::move(open), span);
    co_return met;
}

// One line may sleep in its question until the answer is there. Several take turns: every question
// is asked without waiting, and again after a while or when a packet has come.
Task<Met<>> Interpreter::ask_or_wait(std::span<Awaited> open) {
    Awaited& first = open.front();
    if (open.size() == 1 && !std::holds_alternative<Awaited::Packet>(first.what)) {
        const Met<> met = co_await ask(first, deadline_of(first) - events_.now());
        co_return met;
    }
    const bool asks = std::ranges::any_of(open, [](const Awaited& line) {
        return !std::holds_alternative<Awaited::Packet>(line.what);
    });
    if (std::ranges::all_of(open, &Awaited::asked)) {
        wire::Instant until = deadline_of(first);
        for (const Awaited& line : open)
            until = std::min(until, deadline_of(line));
        if (asks) until = std::min(until, events_.now() + environment_.settle / 10);
        co_await events_.wait(until);
    }
    for (Awaited& line : open) {
        const Met<> met = co_await ask(line, wire::Duration(0));
        if (!met) co_return met;
    }
    co_return Met<>{};
}

Task<Met<>> Interpreter::ask(Awaited& line, wire::Duration wait) {
    const bool again = std::exchange(line.asked, true);
    const bool sleeps = again && wait > wire::Duration(0);
    Met<> met;
    if (const auto* done = std::get_if<Awaited::Completions>(&line.what)) {
        if (done->side == script::Side::Tester) {
            if (sleeps) co_await wait_for_engine(deadline_of(line));
            collect_tester_completions();
        } else {
            met = co_await collect_completions(*line.peer, wait, line.span);
        }
    } else if (auto* state = std::get_if<Awaited::State>(&line.what)) {
        const bool ours = state->side == script::Side::Tester;
        if (sleeps && ours) co_await wait_for_engine(deadline_of(line));
        if (sleeps && !ours) co_await events_.sleep(events_.now() + environment_.settle / 10);
        met = co_await ask_state(*state, *line.peer, line.span);
    } else if (std::holds_alternative<Awaited::Event>(line.what)) {
        met = co_await collect_events(wait, line.span);
    } else if (auto* notification = std::get_if<Awaited::Notification>(&line.what)) {
        dut::Request call =
            dut::CqWait{.cq = cqs_.at(notification->line->cq.text), .wait_ms = wait_ms_of(wait)};
        const auto seen = co_await ask<dut::Notified>(std::move(call), line.span);
        if (!seen) co_return std::unexpected(seen.error());
        notification->came = seen->notified;
    }
    co_return met;
}

Task<Met<>> Interpreter::ask_state(Awaited::State& state, const Peer& peer,
                                   script::SourceSpan span) {
    if (state.side == script::Side::Tester) {
        const auto report = engine_->query_qp(peer.engine_qp);
        state.seen = report ? engine::name_of(report->state) : "unknown";
        co_return Met<>{};
    }
    dut::Request query = dut::QpQuery{.qp = peer.dut_qp};
    const auto report = co_await ask<dut::QpQueried>(std::move(query), span);
    if (!report) co_return std::unexpected(report.error());
    const auto seen = report->attributes.state;
    state.seen = seen ? engine::name_of(*seen) : "unknown";
    co_return Met<>{};
}

// --- what came ----------------------------------------------------------------------------------

Met<bool> Interpreter::is_there(const Awaited& line) const {
    const Peer& peer = *line.peer;
    if (const auto* packet = std::get_if<Awaited::Packet>(&line.what)) {
        if (peer.next >= peer.heard.size()) return false;
        const auto matched = match(packet->next, peer, history_[peer.heard[peer.next]]);
        if (!matched) return std::unexpected(matched.error());
        return matched->satisfied;
    }
    if (const auto* done = std::get_if<Awaited::Completions>(&line.what)) {
        const bool ours = done->side == script::Side::Tester;
        const auto& seen = ours ? peer.tester_completions : peer.completions;
        const auto next = std::ranges::find(seen, queue_of(*done->line), &dut::Completion::queue);
        if (next == seen.end()) return false;
        return is_as_wanted(*next, static_cast<std::uint64_t>(done->next), *done->line, peer);
    }
    if (const auto* state = std::get_if<Awaited::State>(&line.what)) {
        return state->seen == state->line->state;
    }
    if (const auto* notification = std::get_if<Awaited::Notification>(&line.what)) {
        return notification->came;
    }
    return false;
}

Met<> Interpreter::take_what_came(std::span<Awaited> open, script::SourceSpan span) {
    if (const Met<> met = take_packets(open, span); !met) return met;
    for (Awaited& line : open) {
        if (line.met || std::holds_alternative<Awaited::Packet>(line.what)) continue;
        if (std::holds_alternative<Awaited::Completions>(line.what)) {
            if (const Met<> met = take_completions(open, line); !met) return met;
            continue;
        }
        if (const auto* event = std::get_if<Awaited::Event>(&line.what)) {
            line.met = take_event(*event->line, *line.peer);
        } else {
            const auto there = is_there(line);
            if (!there) return std::unexpected(there.error());
            line.met = *there;
        }
        if (line.met) line_ended();
    }
    return {};
}

// The completions of the queue that `of` waits for: each to the line that wants it, and none may
// come that no open line wants.
Met<> Interpreter::take_completions(std::span<Awaited> open, const Awaited& of) {
    const auto& wanted = std::get<Awaited::Completions>(of.what);
    const engine::Queue queue = queue_of(*wanted.line);
    const bool ours = wanted.side == script::Side::Tester;
    auto& seen = ours ? of.peer->tester_completions : of.peer->completions;
    const auto waits = [&](const Awaited& line) {
        const auto* done = std::get_if<Awaited::Completions>(&line.what);
        return done != nullptr && !line.met && line.peer == of.peer && done->side == wanted.side &&
               queue_of(*done->line) == queue;
    };
    while (std::ranges::any_of(open, waits)) {
        const auto next = std::ranges::find(seen, queue, &dut::Completion::queue);
        if (next == seen.end()) return {};
        Awaited* taker = nullptr;
        for (Awaited& line : open) {
            if (taker != nullptr || !waits(line)) continue;
            const auto right = is_there(line);
            if (!right) return std::unexpected(right.error());
            if (*right) taker = &line;
        }
        if (taker == nullptr) {
            return std::unexpected(failed(
                of.span, ours ? "another completion came at the tester" : "another completion came",
                completion_text(*next)));
        }
        if (!ours && queue == engine::Queue::Receive) std::erase(receives_of(*of.peer), next->id);
        seen.erase(next);
        auto& done = std::get<Awaited::Completions>(taker->what);
        taker->met = done.next++ == done.last;
        if (taker->met) line_ended();
    }
    return {};
}

bool Interpreter::take_event(const script::EventSeen& wanted, const Peer& peer) {
    const auto found = std::ranges::find_if(dut_events_, [&](const dut::Event& one) {
        return engine::name_of(one.type) == wanted.type && (!one.qp || *one.qp == peer.dut_qp);
    });
    if (found == dut_events_.end()) return false;
    dut_events_.erase(found);
    return true;
}

} // namespace veriroce::interpreter
