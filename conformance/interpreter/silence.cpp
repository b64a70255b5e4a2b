#include "conformance/interpreter/silence.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "conformance/interpreter/clock.hpp"
#include "conformance/interpreter/commands.hpp"
#include "conformance/interpreter/completions.hpp"
#include "conformance/interpreter/environment.hpp"
#include "conformance/interpreter/events.hpp"
#include "conformance/interpreter/expect.hpp"
#include "conformance/interpreter/honest_peer.hpp"
#include "conformance/interpreter/interpreter.hpp"
#include "conformance/interpreter/matching.hpp"
#include "conformance/interpreter/notation.hpp"
#include "conformance/interpreter/objects.hpp"
#include "conformance/interpreter/record.hpp"
#include "conformance/interpreter/send.hpp"
#include "conformance/interpreter/values.hpp"
#include "conformance/interpreter/work.hpp"

namespace veriroce::interpreter {
namespace {

constexpr std::uint64_t kProbeId = 0x70726F62; // id of the receive that `dropped` posts
constexpr std::uint32_t kProbeBytes = 4;
constexpr std::uint32_t kGrhBytes = 40;

// Until the time is over, the QP sends nothing but packets that lines have claimed, and no packet
// comes to a QPN that no QP has.
Task<Met<>> nothing_heard(Interpreter& interpreter, CaseQp& qp, wire::Duration time, Span span) {
    Record& record = interpreter.record();
    const wire::Instant deadline = interpreter.clock().now() + time;
    while (true) {
        while (qp.next < qp.heard.size() && passes_in_silence(interpreter, qp, qp.heard[qp.next]))
            ++qp.next;
        if (qp.next < qp.heard.size()) {
            const std::size_t index = qp.heard[qp.next];
            record[index].line = span.line;
            record[index].remarks.push_back(fmt::format("line {} expects silence", span.line));
            Finding finding = unexpected_packet(qp, record, index, span);
            finding.time = time;
            co_return failed(std::move(finding));
        }
        if (record.stranger) {
            const Entry& entry = record[*record.stranger];
            Finding finding =
                unexpected(span, std::string(opcode_text(*entry.packet)), entry_text(entry, ""));
            finding.packet = record.stranger;
            finding.detail =
                is_wrapped_twice(entry)
                    ? astray_text(entry)
                    : fmt::format("it is for QP 0x{:06X}, which the tester does not have",
                                  entry.packet->bth.dest_qp.value);
            co_return failed(std::move(finding));
        }
        if (interpreter.clock().now() >= deadline) break;
        co_await interpreter.events().wait(deadline);
    }
    interpreter.clock().line_ended();
    co_return Met<>{};
}

// Expects no completion, no event, and the QP still in the state to which the case brought it.
Task<Met<>> still_ready(Interpreter& interpreter, CaseQp& qp, Span span) {
    co_await collect_completions(interpreter, qp, wire::Duration(0), span);
    if (!qp.completions.empty()) {
        const dut::Completion& completion = qp.completions.front();
        co_return failed(
            unexpected(span, completion_name(completion), completion_text(completion)));
    }
    co_await collect_events(interpreter, wire::Duration(0), span);
    const auto& events = interpreter.objects().events;
    const auto event = std::ranges::find_if(events, [](const dut::Event& one) {
        return one.type != engine::EventType::CommEst; // COMM_EST may come
    });
    if (event != events.end()) {
        const std::string name = event_text(event->type);
        co_return failed(unexpected(span, name, name));
    }
    const auto state = co_await state_of_dut(interpreter, qp, span);
    if (state == qp.state || !reports_state(interpreter)) co_return Met<>{};
    std::vector<Difference> differing;
    differing.push_back({"state", state_text(qp.state), state_text(state)});
    co_return failed(mismatch(span, std::move(differing), "state " + state_text(state)));
}

// A small SEND with the PSN that the DUT still expects.
script::SendPacket probe_packet(const CaseQp& qp, Span span) {
    const QpIdentity& identity = qp.book.identity();
    const std::uint8_t opcode = *wire::opcode_by_name("SEND_ONLY", identity.service);
    script::SendPacket packet{.qp = {.name = identity.name}, .kind = script::Opcode{opcode}};
    packet.fields.push_back(
        {script::SpecialField::Length, script::Expr{.number = kProbeBytes}, span});
    packet.fields.push_back({wire::Field::AckReq, script::Expr{.number = 1}, span});
    return packet;
}

script::ExpectPacket probe_acknowledge(const CaseQp& qp, Span span) {
    script::ExpectPacket acknowledge{.qp = {.name = qp.book.identity().name},
                                     .kind = script::Acknowledgement::Ack};
    acknowledge.matches.push_back(
        {.field = wire::Field::Psn, .value = script::Expr{.number = qp.run_start}, .span = span});
    return acknowledge;
}

// The SEND completes the next receive.
script::SideCommand probe_done(Objects& objects, CaseQp& qp) {
    const auto& receives = objects.receives_of(qp);
    const bool datagram = qp.type == engine::QpType::Ud; // its length includes the GRH
    const std::uint32_t length = kProbeBytes + (datagram ? kGrhBytes : 0);
    const std::int64_t next = receives.empty() ? 0 : static_cast<std::int64_t>(receives.front());
    return {.qp = {.name = qp.book.identity().name},
            .command =
                script::Done{.queue = engine::Queue::Receive,
                             .ids = {script::Expr{.number = next}, script::Expr{.number = next}},
                             .length = script::Expr{.number = length},
                             .imm = {},
                             .opcode = {},
                             .within = {}}};
}

// A device that takes no packet any more is broken (N-04), whatever the case leaves open.
Met<> because(Met<> met, std::string_view what) {
    if (met) return met;
    met.error().finding.detail = what;
    met.error().at_any_level = met.error().finding.kind == FindingKind::Missing;
    return met;
}

// Sends a small SEND, which the QP must accept: so it dropped the packet before, and nothing else
// happened.
Task<Met<>> probe(Interpreter& interpreter, CaseQp& qp, Span span) {
    qp.book.rewind_next_request(qp.run_start);
    const script::Recv receive{
        .ids = {script::Expr{.number = kProbeId}, script::Expr{.number = kProbeId}}};
    co_await post_receive(interpreter, qp, receive, span);
    const script::SendPacket packet = probe_packet(qp, span);
    co_await play(interpreter, packet, span);
    if (qp.type == engine::QpType::Rc) {
        const script::ExpectPacket acknowledge = probe_acknowledge(qp, span);
        Met<> acknowledged = co_await outcome_of(play(interpreter, acknowledge, span));
        co_await because(std::move(acknowledged),
                         "'dropped' then sends a good SEND, which the DUT must acknowledge");
    }
    const script::SideCommand done = probe_done(interpreter.objects(), qp);
    Met<> completed = co_await outcome_of(play(interpreter, done, span));
    co_await because(std::move(completed),
                     "'dropped' then sends a good SEND, which must complete the next receive");
    co_return Met<>{};
}

// Whether the data of this packet is what the line writes, if it writes any.
Task<Met<bool>> has_data(Interpreter& interpreter, const script::ExpectPacket& line,
                         const CaseQp& qp, std::size_t index, Span span) {
    const auto* data = match_of(line.matches, script::SpecialField::Data);
    if (data == nullptr) co_return true;
    const wire::Bytes payload = interpreter.record()[index].packet->payload();
    const std::vector<std::byte> found(payload.begin(), payload.end());
    const std::vector<Difference> differing =
        co_await data_differences(interpreter, *data, qp, found, span);
    co_return differing.empty();
}

// Whoever judges the run later sees what had completed by then, and what came too soon. Queues that
// the script names stay as full as it makes them.
Task<Met<>> look_at_host(Interpreter& interpreter, Span span) {
    for (auto& [name, qp] : interpreter.objects().qps) {
        if (qp.setup.attribute("cq") != nullptr) continue;
        co_await collect_completions(interpreter, qp, wire::Duration(0), span);
    }
    co_await collect_events(interpreter, wire::Duration(0), span);
    co_return Met<>{};
}

} // namespace

Task<Met<>> play(Interpreter& interpreter, const script::No& line, Span span) {
    CaseQp& qp = *co_await qp_of(interpreter.objects(), line.qp);
    const wire::Duration time =
        co_await time_or(interpreter.objects(), line.time, interpreter.environment().settle, qp);
    const script::ExpectPacket unwanted{
        .qp = line.qp, .kind = line.kind, .matches = line.matches, .exact = true};
    const wire::Instant deadline = interpreter.clock().now() + time;
    Record& record = interpreter.record();
    std::size_t seen = qp.next; // packets that do not match stay for the next lines
    while (true) {
        for (; seen < qp.heard.size(); ++seen) {
            const std::size_t index = qp.heard[seen];
            if (is_early_resend(record[index], context_of(interpreter, qp))) continue;
            const Match matched =
                co_await match(unwanted, record[index], context_of(interpreter, qp));
            if (!matched.satisfied) continue;
            const bool same_data = co_await has_data(interpreter, unwanted, qp, index, span);
            if (!same_data) continue;
            record[index].line = span.line;
            record[index].remarks.push_back(fmt::format("line {} forbids it", span.line));
            Finding finding = unexpected_packet(qp, record, index, span);
            finding.time = time;
            co_return failed(std::move(finding));
        }
        if (interpreter.clock().now() >= deadline) break;
        co_await interpreter.events().wait(deadline);
    }
    interpreter.clock().line_ended();
    co_return Met<>{};
}

Task<Met<>> play(Interpreter& interpreter, const script::Quiet& line, Span span) {
    CaseQp& qp = *co_await qp_of(interpreter.objects(), line.qp);
    const wire::Duration time =
        co_await time_or(interpreter.objects(), line.time, interpreter.environment().settle, qp);
    co_await nothing_heard(interpreter, qp, time, span);
    co_return Met<>{};
}

Task<Met<>> play(Interpreter& interpreter, const script::Dropped& line, Span span) {
    CaseQp& qp = *co_await qp_of(interpreter.objects(), line.qp);
    co_await nothing_heard(interpreter, qp, interpreter.environment().settle, span);
    co_await still_ready(interpreter, qp, span);
    co_await probe(interpreter, qp, span);
    co_return Met<>{};
}

// Leaves everything that the DUT sends meanwhile to the judge, which reads every case. Completions
// and events that result from it need no line either.
Task<Met<>> play(Interpreter& interpreter, const script::Judged& line, Span span) {
    Objects& objects = interpreter.objects();
    CaseQp& qp = *co_await qp_of(objects, line.qp);
    const wire::Duration time =
        co_await time_or(objects, line.time, interpreter.environment().settle, qp);
    co_await interpreter.events().sleep(interpreter.clock().now() + time);
    qp.next = qp.heard.size();
    qp.in_run = false;
    qp.judged = true; // what comes late needs no line either
    // One answer holds a limited number of completions; a large queue needs several.
    for (bool more = true; more;) {
        co_await collect_completions(interpreter, qp, wire::Duration(0), span);
        more = !qp.completions.empty();
        for (const dut::Completion& completion : qp.completions)
            std::erase(objects.receives_of(qp), completion.id);
        qp.completions.clear();
    }
    co_await collect_events(interpreter, wire::Duration(0), span);
    std::erase_if(objects.events, [&](const dut::Event& event) { return event.qp == qp.dut_qp; });
    interpreter.clock().line_ended();
    co_return Met<>{};
}

// A script that expects packets says when the tester sends again. Where it does not, the tester is
// a correct peer while it waits, too; but nobody can tell whether a SEND lacks its receive or
// another resource.
Task<Met<>> play(Interpreter& interpreter, const script::Wait& line, Span span) {
    const wire::Duration time{
        co_await number(interpreter.objects(), line.time, interpreter.objects().own_qp())};
    for (bool again = true; std::exchange(again, false);) {
        const wire::Instant end = interpreter.clock().now() + time;
        if (time >= kWaitThatLooks) {
            co_await interpreter.events().sleep(end - time / 4);
            co_await look_at_host(interpreter, span);
        }
        co_await interpreter.events().sleep(end);
        if (!is_unscripted(interpreter)) break;
        for (auto& [name, qp] : interpreter.objects().qps) {
            if (co_await obey_refusal(interpreter, qp, span, Obeys::NeedingNoReceive)) again = true;
        }
    }
    interpreter.clock().line_ended();
    co_return Met<>{};
}

} // namespace veriroce::interpreter
