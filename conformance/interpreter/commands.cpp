// dut … and tester …: completions, states, events.
#include <algorithm>

#include <fmt/format.h>

#include "conformance/interpreter/interpreter.hpp"
#include "conformance/interpreter/notation.hpp"

namespace veriroce::interpreter {
namespace {

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

std::uint32_t Interpreter::wait_ms_of(wire::Duration left) {
    constexpr std::int64_t most = 200;
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(ms, 0, most));
}

Task<Met<>> Interpreter::command(const script::SideCommand& line, script::SourceSpan span) {
    const Met<> met = co_await carry_out(line, span);
    if (!line.refused) co_return met;
    line_ended();
    if (met) co_return std::unexpected(failed(span, "the verb was not refused", "done"));
    if (met.error().refused) co_return Met<>{};
    co_return met;
}

Task<Met<>> Interpreter::carry_out(const script::SideCommand& line, script::SourceSpan span) {
    auto waiting = awaited_of_side(line, span);
    if (!waiting) co_return std::unexpected(waiting.error());
    if (*waiting && line.side == script::Side::Dut) {
        const Met<> met = co_await await_one(std::move(**waiting));
        co_return met;
    }
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
Task<Met<>> Interpreter::object_command(const script::SideCommand& line, script::SourceSpan span) {
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
    } else if (const auto* silent = std::get_if<script::CqQuiet>(&line.command)) {
        met = co_await unnotified(*silent, span);
    } else if (const auto* grown = std::get_if<script::Counter>(&line.command)) {
        met = co_await counter(*grown, span);
    }
    co_return met;
}

Task<Met<>> Interpreter::dut_command(Peer& peer, const script::SideCommand& line,
                                     script::SourceSpan span) {
    Met<> met;
    if (const auto* one = std::get_if<script::Post>(&line.command)) {
        met = co_await post(peer, *one, span);
    } else if (const auto* recv = std::get_if<script::Recv>(&line.command)) {
        met = co_await post_receive(peer, *recv, span);
    } else if (const auto* change = std::get_if<script::Modify>(&line.command)) {
        met = co_await modify(peer, *change, span);
    } else if (const auto* again = std::get_if<script::Reconnect>(&line.command)) {
        met = co_await reconnect(peer, *again, span);
    }
    co_return met;
}

// --- completions ------------------------------------------------------------------------------

// Fetches what the CQ has, waiting at most `wait` for the first.
Task<Met<>> Interpreter::collect_completions(Peer& peer, wire::Duration wait,
                                             script::SourceSpan span) {
    dut::Request poll = dut::Poll{.cq = peer.cq, .max = 64, .wait_ms = wait_ms_of(wait)};
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

Met<bool> Interpreter::is_as_wanted(const dut::Completion& seen, std::uint64_t id,
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

// --- events -----------------------------------------------------------------------------------

Task<Met<>> Interpreter::collect_events(wire::Duration wait, script::SourceSpan span) {
    if (!environment_.capable("events")) co_return Met<>{};
    dut::Request call = dut::Events{.wait_ms = wait_ms_of(wait)};
    const auto list = co_await ask<dut::EventList>(std::move(call), span);
    if (!list) co_return std::unexpected(list.error());
    dut_events_.insert(dut_events_.end(), list->events.begin(), list->events.end());
    co_return Met<>{};
}

} // namespace veriroce::interpreter
