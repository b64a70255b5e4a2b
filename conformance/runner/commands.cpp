// dut … and tester …: completions, states, events.
#include <algorithm>

#include <fmt/format.h>

#include "conformance/runner/dialogue.hpp"
#include "conformance/runner/notation.hpp"

namespace veriroce::runner {
namespace {

constexpr std::uint32_t poll_slice_ms = 200; // so that a wait never outlives its case by much

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

std::uint32_t slice_of(wire::Duration left) {
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(ms, 0, poll_slice_ms));
}

bool of_a_qp(const script::Command& command) {
    return std::holds_alternative<script::Post>(command) ||
           std::holds_alternative<script::Recv>(command) ||
           std::holds_alternative<script::Done>(command) ||
           std::holds_alternative<script::State>(command) ||
           std::holds_alternative<script::EventSeen>(command) ||
           std::holds_alternative<script::Modify>(command) ||
           std::holds_alternative<script::Reconnect>(command) ||
           std::holds_alternative<script::Answers>(command);
}

bool status_is(engine::WcStatus status, const std::vector<std::string>& wanted) {
    return std::ranges::any_of(wanted, [&](const std::string& one) {
        return one == engine::name_of(status) ||
               (one == "FAILED" && status != engine::WcStatus::Success);
    });
}

} // namespace

Task<Met<>> Dialogue::command(const script::SideCommand& line, script::SourceSpan span) {
    const Met<> met = co_await carry_out(line, span);
    if (!line.refused) co_return met;
    line_end_ = stage_.now();
    if (met) co_return std::unexpected(failed(span, "the verb was not refused", "done"));
    if (met.error().refused) co_return Met<>{};
    co_return met;
}

Task<Met<>> Dialogue::carry_out(const script::SideCommand& line, script::SourceSpan span) {
    if (!of_a_qp(line.command)) {
        const Met<> met = co_await object_command(line, span);
        co_return met;
    }
    const Met<Peer*> peer = peer_of(line.qp);
    if (!peer) co_return std::unexpected(peer.error());
    if (line.side == script::Side::Tester) {
        const Met<> met = co_await tester_command(**peer, line, span);
        co_return met;
    }
    const Met<> met = co_await dut_command(**peer, line, span);
    co_return met;
}

// Commands about what no single QP owns.
Task<Met<>> Dialogue::object_command(const script::SideCommand& line, script::SourceSpan span) {
    Met<> met;
    if (const auto* mr = std::get_if<script::MakeMr>(&line.command)) {
        met = co_await make_region(*mr, line.side, span);
    } else if (const auto* write = std::get_if<script::WriteMemory>(&line.command)) {
        met = co_await write_memory(*write, span);
    } else if (const auto* mw = std::get_if<script::MakeMw>(&line.command)) {
        met = co_await make_window(*mw, span);
    } else if (const auto* gone = std::get_if<script::Dereg>(&line.command)) {
        met = co_await deregister(*gone, span);
    } else if (const auto* cq = std::get_if<script::MakeCq>(&line.command)) {
        met = co_await make_cq(*cq, span);
    } else if (const auto* srq = std::get_if<script::MakeSrq>(&line.command)) {
        met = co_await make_srq(*srq, span);
    } else if (const auto* armed = std::get_if<script::ArmCq>(&line.command)) {
        met = co_await arm(*armed, span);
    } else if (const auto* told = std::get_if<script::Notified>(&line.command)) {
        met = co_await notified(*told, span);
    } else if (const auto* silent = std::get_if<script::CqQuiet>(&line.command)) {
        met = co_await unnotified(*silent, span);
    } else if (const auto* grown = std::get_if<script::Counter>(&line.command)) {
        met = co_await counter(*grown, span);
    }
    co_return met;
}

Task<Met<>> Dialogue::dut_command(Peer& peer, const script::SideCommand& line,
                                  script::SourceSpan span) {
    Met<> met;
    if (const auto* one = std::get_if<script::Post>(&line.command)) {
        met = co_await post(peer, *one, span);
    } else if (const auto* recv = std::get_if<script::Recv>(&line.command)) {
        met = co_await post_receive(peer, *recv, span);
    } else if (const auto* finished = std::get_if<script::Done>(&line.command)) {
        met = co_await done(script::Side::Dut, peer, *finished, span);
    } else if (const auto* wanted = std::get_if<script::State>(&line.command)) {
        met = co_await state(peer, *wanted, span);
    } else if (const auto* seen = std::get_if<script::EventSeen>(&line.command)) {
        met = co_await event(peer, *seen, span);
    } else if (const auto* change = std::get_if<script::Modify>(&line.command)) {
        met = co_await modify(peer, *change, span);
    } else if (const auto* again = std::get_if<script::Reconnect>(&line.command)) {
        met = co_await reconnect(peer, *again, span);
    }
    co_return met;
}

// --- completions ------------------------------------------------------------------------------

// Fetches what the CQ has, waiting at most `wait` for the first.
Task<Met<>> Dialogue::collect_completions(Peer& peer, wire::Duration wait,
                                          script::SourceSpan span) {
    dut::Request poll = dut::Poll{.cq = peer.cq, .max = 64, .wait_ms = slice_of(wait)};
    const auto polled = co_await ask<dut::Polled>(std::move(poll), span);
    if (!polled) co_return std::unexpected(polled.error());
    // QPs may share the queue: each completion goes to its own.
    for (const dut::Completion& completion : polled->completions) {
        const auto owner = std::ranges::find_if(
            peers_, [&](const auto& one) { return one.second.dut_qp == completion.qp; });
        (owner == peers_.end() ? peer : owner->second).completions.push_back(completion);
    }
    co_return Met<>{};
}

Task<Met<std::optional<dut::Completion>>> Dialogue::next_completion(Peer& peer, engine::Queue queue,
                                                                    wire::Instant deadline,
                                                                    script::SourceSpan span) {
    while (true) {
        const auto found = std::ranges::find(peer.completions, queue, &dut::Completion::queue);
        if (found != peer.completions.end()) {
            const dut::Completion completion = *found;
            peer.completions.erase(found);
            co_return std::optional(completion);
        }
        if (stage_.now() >= deadline) co_return std::optional<dut::Completion>{};
        const Met<> met = co_await collect_completions(peer, deadline - stage_.now(), span);
        if (!met) co_return std::unexpected(met.error());
    }
}

Met<bool> Dialogue::is_as_wanted(const dut::Completion& seen, std::uint64_t id,
                                 const script::Done& done, const Peer& peer) const {
    if (seen.id != id || !status_is(seen.status, done.statuses)) return false;
    if (done.length) {
        const auto length = number(*done.length, peer);
        if (!length) return std::unexpected(length.error());
        if (seen.byte_len != *length) return false;
    }
    if (done.imm) {
        const auto imm = number(*done.imm, peer);
        if (!imm) return std::unexpected(imm.error());
        if (seen.imm != static_cast<std::uint32_t>(*imm)) return false;
    }
    return !done.opcode || engine::name_of(seen.opcode) == done.opcode->text;
}

// Completions of the DUT, or of our engine: in this order, each once.
Task<Met<>> Dialogue::done(script::Side side, Peer& peer, const script::Done& done,
                           script::SourceSpan span) {
    const bool ours = side == script::Side::Tester;
    const auto ids = ids_of(done.ids, peer);
    if (!ids) co_return std::unexpected(ids.error());
    const auto patience = time_or(done.within, setting_.patience, peer);
    if (!patience) co_return std::unexpected(patience.error());
    const engine::Queue queue =
        done.queue == script::Queue::Send ? engine::Queue::Send : engine::Queue::Receive;
    const wire::Instant deadline = stage_.now() + *patience;
    for (std::int64_t id = ids->first; id <= ids->last; ++id) {
        Met<std::optional<dut::Completion>> completion;
        if (ours) {
            completion = co_await next_tester_completion(peer, queue, deadline);
        } else {
            completion = co_await next_completion(peer, queue, deadline, span);
        }
        if (!completion) co_return std::unexpected(completion.error());
        if (!*completion) {
            co_return std::unexpected(
                failed(span,
                       fmt::format("{}id {} did not complete within {}",
                                   ours ? "the tester's " : "", id, duration_text(*patience)),
                       "nothing"));
        }
        const dut::Completion& seen = **completion;
        const auto right = is_as_wanted(seen, static_cast<std::uint64_t>(id), done, peer);
        if (!right) co_return std::unexpected(right.error());
        if (!*right) {
            co_return std::unexpected(failed(
                span, ours ? "another completion came at the tester" : "another completion came",
                completion_text(seen)));
        }
        if (!ours && queue == engine::Queue::Receive) std::erase(receives_of(peer), seen.id);
    }
    line_end_ = stage_.now();
    co_return Met<>{};
}

// --- states and events ------------------------------------------------------------------------

Task<Met<>> Dialogue::state(Peer& peer, const script::State& state, script::SourceSpan span) {
    const auto patience = time_or(state.within, setting_.patience, peer);
    if (!patience) co_return std::unexpected(patience.error());
    const wire::Instant deadline = stage_.now() + *patience;
    while (true) {
        dut::Request query = dut::QpQuery{.qp = peer.dut_qp};
        const auto report = co_await ask<dut::QpQueried>(std::move(query), span);
        if (!report) co_return std::unexpected(report.error());
        const auto seen = report->attributes.state;
        const std::string_view name = seen ? engine::name_of(*seen) : "unknown";
        if (name == state.state) break;
        if (stage_.now() >= deadline) {
            co_return std::unexpected(failed(
                span, fmt::format("the QP did not get there within {}", duration_text(*patience)),
                fmt::format("state {}", name)));
        }
        co_await stage_.sleep(stage_.now() + setting_.settle / 10);
    }
    line_end_ = stage_.now();
    co_return Met<>{};
}

// COMM_EST may come or not; every other event belongs to a line.
Task<Met<>> Dialogue::collect_events(wire::Duration wait, script::SourceSpan span) {
    if (!setting_.capable("events")) co_return Met<>{};
    dut::Request call = dut::Events{.wait_ms = slice_of(wait)};
    const auto list = co_await ask<dut::EventList>(std::move(call), span);
    if (!list) co_return std::unexpected(list.error());
    for (const dut::Event& event : list->events) {
        if (event.type != engine::EventType::CommEst) events_.push_back(event);
    }
    co_return Met<>{};
}

Task<Met<>> Dialogue::event(Peer& peer, const script::EventSeen& event, script::SourceSpan span) {
    const auto patience = time_or(event.within, setting_.patience, peer);
    if (!patience) co_return std::unexpected(patience.error());
    if (!setting_.capable("events")) {
        co_return std::unexpected(Unmet{Verdict::Skip, "needs events", span, {}, {}});
    }
    const wire::Instant deadline = stage_.now() + *patience;
    while (true) {
        const auto found = std::ranges::find_if(events_, [&](const dut::Event& one) {
            return engine::name_of(one.type) == event.type && (!one.qp || *one.qp == peer.dut_qp);
        });
        if (found != events_.end()) {
            events_.erase(found);
            break;
        }
        if (stage_.now() >= deadline) {
            co_return std::unexpected(failed(
                span, fmt::format("no such event within {}", duration_text(*patience)), "nothing"));
        }
        const Met<> met = co_await collect_events(deadline - stage_.now(), span);
        if (!met) co_return met;
    }
    line_end_ = stage_.now();
    co_return Met<>{};
}

} // namespace veriroce::runner
