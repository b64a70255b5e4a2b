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

} // namespace

Task<Met<>> Dialogue::command(const script::SideCommand& line, script::SourceSpan span) {
    if (const auto* mr = std::get_if<script::MakeMr>(&line.command)) {
        const Met<> met = co_await make_region(*mr, line.side, span);
        co_return met;
    }
    if (const auto* write = std::get_if<script::WriteMemory>(&line.command)) {
        const Met<> met = co_await write_memory(*write, span);
        co_return met;
    }
    const Met<Peer*> peer = peer_of(line.qp);
    if (!peer) co_return std::unexpected(peer.error());
    if (line.side == script::Side::Tester) co_return tester_command(**peer, line, span);
    const Met<> met = co_await dut_command(**peer, line, span);
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
        met = co_await done(peer, *finished, span);
    } else if (const auto* wanted = std::get_if<script::State>(&line.command)) {
        met = co_await state(peer, *wanted, span);
    } else if (const auto* seen = std::get_if<script::EventSeen>(&line.command)) {
        met = co_await event(peer, *seen, span);
    } else if (const auto* change = std::get_if<script::Modify>(&line.command)) {
        met = co_await modify(peer, *change, line.refused, span);
    } else {
        met = std::unexpected(error(span, "the interpreter cannot carry out this command yet"));
    }
    co_return met;
}

Met<> Dialogue::tester_command(Peer& peer, const script::SideCommand& line,
                               script::SourceSpan span) {
    if (!std::holds_alternative<script::Answers>(line.command)) {
        return std::unexpected(error(span, "the interpreter cannot carry out this command yet"));
    }
    if (peer.book.last_dut_request() >= 0 || peer.book.next_request() > 0) {
        return std::unexpected(
            error(span, "'tester answers' must stand before the first packet of its QP"));
    }
    peer.answering = true;
    return {};
}

// --- completions ------------------------------------------------------------------------------

// Fetches what the CQ has, waiting at most `wait` for the first.
Task<Met<>> Dialogue::collect_completions(Peer& peer, wire::Duration wait,
                                          script::SourceSpan span) {
    dut::Request poll = dut::Poll{.cq = peer.cq, .max = 64, .wait_ms = slice_of(wait)};
    const auto polled = co_await ask<dut::Polled>(std::move(poll), span);
    if (!polled) co_return std::unexpected(polled.error());
    for (const dut::Completion& completion : polled->completions) {
        peer.completions.push_back(completion);
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

Task<Met<>> Dialogue::done(Peer& peer, const script::Done& done, script::SourceSpan span) {
    const auto ids = ids_of(done.ids, peer);
    if (!ids) co_return std::unexpected(ids.error());
    const auto patience = time_or(done.within, setting_.patience, peer);
    if (!patience) co_return std::unexpected(patience.error());
    const engine::Queue queue =
        done.queue == script::Queue::Send ? engine::Queue::Send : engine::Queue::Receive;
    const wire::Instant deadline = stage_.now() + *patience;
    for (std::int64_t id = ids->first; id <= ids->last; ++id) {
        const auto completion = co_await next_completion(peer, queue, deadline, span);
        if (!completion) co_return std::unexpected(completion.error());
        if (!*completion) {
            co_return std::unexpected(failed(
                span, fmt::format("id {} did not complete within {}", id, duration_text(*patience)),
                "nothing"));
        }
        const dut::Completion& seen = **completion;
        bool right = seen.id == static_cast<std::uint64_t>(id) &&
                     engine::name_of(seen.status) == done.status;
        if (done.length) {
            const auto length = number(*done.length, peer);
            if (!length) co_return std::unexpected(length.error());
            right = right && seen.byte_len == *length;
        }
        if (done.imm) {
            const auto imm = number(*done.imm, peer);
            if (!imm) co_return std::unexpected(imm.error());
            right = right && seen.imm == static_cast<std::uint32_t>(*imm);
        }
        if (done.opcode) right = right && engine::name_of(seen.opcode) == done.opcode->text;
        if (!right) {
            co_return std::unexpected(
                failed(span, "another completion came", completion_text(seen)));
        }
        if (queue == engine::Queue::Receive) std::erase(peer.receives, seen.id);
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

Task<Met<>> Dialogue::modify(Peer& peer, const script::Modify& modify, bool refused,
                             script::SourceSpan span) {
    dut::QpModify change{.qp = peer.dut_qp};
    for (const script::Attribute& attribute : modify.attributes) {
        if (attribute.name == "state") {
            const auto* words = std::get_if<std::vector<script::Word>>(&attribute.value);
            if (words == nullptr || words->empty()) {
                co_return std::unexpected(error(attribute.span, "a state is needed here"));
            }
            change.attributes.state = engine::enum_by_name<engine::QpState>(words->front().text);
            continue;
        }
        const auto* expr = std::get_if<script::Expr>(&attribute.value);
        if (expr == nullptr) co_return std::unexpected(error(attribute.span, "a number is needed"));
        const auto value = number(*expr, peer);
        if (!value) co_return std::unexpected(value.error());
        const auto small = static_cast<std::uint8_t>(*value);
        if (attribute.name == "timeout")
            change.attributes.timeout = small;
        else if (attribute.name == "retry_cnt")
            change.attributes.retry_cnt = small;
        else if (attribute.name == "rnr_retry")
            change.attributes.rnr_retry = small;
        else if (attribute.name == "min_rnr_timer")
            change.attributes.min_rnr_timer = small;
        else {
            co_return std::unexpected(
                error(attribute.span, fmt::format("'{}' cannot be modified yet", attribute.name)));
        }
    }
    dut::Request call = std::move(change);
    const dut::Answer answer = co_await stage_.call(std::move(call));
    line_end_ = stage_.now();
    if (answer && refused) {
        co_return std::unexpected(failed(span, "the verb was not refused", "done"));
    }
    if (!answer && !(refused && answer.error().refused())) {
        co_return std::unexpected(error(span, answer.error().message));
    }
    co_return Met<>{};
}

} // namespace veriroce::runner
