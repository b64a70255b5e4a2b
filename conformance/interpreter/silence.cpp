// Lines about what does not come: no, quiet, dropped; what only the judge knows: judged; and wait.
//
// "Silent" is no RoCEv2 packet, no completion, no event and no change of the QP's state; what the
// host's own stack says (ICMP, ARP, ND) does not count (corrections G1).
#include <algorithm>

#include <fmt/format.h>

#include "conformance/interpreter/interpreter.hpp"
#include "conformance/interpreter/notation.hpp"

namespace veriroce::interpreter {
namespace {

constexpr std::uint64_t probe_id = 0x70726F62; // of the receive that `dropped` posts
constexpr std::uint32_t probe_bytes = 4;
constexpr std::uint32_t grh_bytes = 40;

} // namespace

Task<Met<>> Interpreter::pause(wire::Duration time) {
    co_await events_.sleep(events_.now() + time);
    line_ended();
    co_return Met<>{};
}

Task<Met<>> Interpreter::no(const script::No& line, script::SourceSpan span) {
    const Met<Peer*> found = peer_of(line.qp);
    if (!found) co_return std::unexpected(found.error());
    Peer& peer = **found;
    const auto time = time_or(line.time, environment_.settle, peer);
    if (!time) co_return std::unexpected(time.error());
    const script::ExpectPacket unwanted{
        .qp = line.qp, .kind = line.kind, .matches = line.matches, .exact = true};
    const wire::Instant deadline = events_.now() + *time;
    std::size_t seen = peer.next; // what does not match stays for the lines behind
    while (true) {
        for (; seen < peer.heard.size(); ++seen) {
            Entry& entry = history_[peer.heard[seen]];
            const auto matched = match(unwanted, peer, entry);
            if (!matched) co_return std::unexpected(matched.error());
            if (!matched->satisfied) continue;
            entry.remarks.push_back(fmt::format("line {} forbids it", span.line));
            co_return std::unexpected(failed(span, "it came all the same", notation(&peer, entry)));
        }
        if (events_.now() >= deadline) break;
        co_await events_.wait(deadline);
    }
    line_ended();
    co_return Met<>{};
}

Task<Met<>> Interpreter::nothing_heard(Peer& peer, wire::Duration time, script::SourceSpan span) {
    const wire::Instant deadline = events_.now() + time;
    while (true) {
        if (peer.next < peer.heard.size()) {
            Entry& entry = history_[peer.heard[peer.next]];
            entry.remarks.push_back(fmt::format("line {} expects silence", span.line));
            co_return std::unexpected(
                failed(span, "the QP was not silent", notation(&peer, entry)));
        }
        if (stranger_) {
            const Entry& entry = history_[*stranger_];
            co_return std::unexpected(
                failed(span,
                       fmt::format("the DUT sent a packet to QP 0x{:06X}, which nobody has",
                                   entry.packet->bth.dest_qp.value),
                       notation(nullptr, entry)));
        }
        if (events_.now() >= deadline) break;
        co_await events_.wait(deadline);
    }
    line_ended();
    co_return Met<>{};
}

// Whatever the DUT says meanwhile is left to the judge, who looks at every case. So are completions
// and events that come of it: they have no line that could name them.
Task<Met<>> Interpreter::judged(const script::Judged& line, script::SourceSpan span) {
    const Met<Peer*> found = peer_of(line.qp);
    if (!found) co_return std::unexpected(found.error());
    Peer& peer = **found;
    const auto time = time_or(line.time, environment_.settle, peer);
    if (!time) co_return std::unexpected(time.error());
    Met<> met = co_await pause(*time);
    if (!met) co_return met;
    peer.next = peer.heard.size();
    peer.in_run = false;
    met = co_await collect_completions(peer, wire::Duration(0), span);
    if (!met) co_return met;
    for (const dut::Completion& completion : peer.completions)
        std::erase(receives_of(peer), completion.id);
    peer.completions.clear();
    met = co_await collect_events(wire::Duration(0), span);
    if (!met) co_return met;
    std::erase_if(dut_events_, [&](const dut::Event& event) { return event.qp == peer.dut_qp; });
    line_ended();
    co_return Met<>{};
}

Task<Met<>> Interpreter::quiet(const script::Quiet& line, script::SourceSpan span) {
    const Met<Peer*> found = peer_of(line.qp);
    if (!found) co_return std::unexpected(found.error());
    const auto time = time_or(line.time, environment_.settle, **found);
    if (!time) co_return std::unexpected(time.error());
    const Met<> met = co_await nothing_heard(**found, *time, span);
    co_return met;
}

// No completion, no event, and the QP still ready to send and receive.
Task<Met<>> Interpreter::still_ready(Peer& peer, script::SourceSpan span) {
    const Met<> polled = co_await collect_completions(peer, wire::Duration(0), span);
    if (!polled) co_return polled;
    if (!peer.completions.empty()) {
        const dut::Completion& completion = peer.completions.front();
        co_return std::unexpected(failed(span, "a work request completed",
                                         fmt::format("completion id={} status={}", completion.id,
                                                     engine::name_of(completion.status))));
    }
    const Met<> events = co_await collect_events(wire::Duration(0), span);
    if (!events) co_return events;
    const auto event = std::ranges::find_if(dut_events_, [](const dut::Event& one) {
        return one.type != engine::EventType::CommEst; // which may come or not
    });
    if (event != dut_events_.end()) {
        co_return std::unexpected(
            failed(span, "an event came", fmt::format("event {}", engine::name_of(event->type))));
    }
    dut::Request query = dut::QpQuery{.qp = peer.dut_qp};
    const auto report = co_await ask<dut::QpQueried>(std::move(query), span);
    if (!report) co_return std::unexpected(report.error());
    if (report->attributes.state != peer.state) {
        co_return std::unexpected(
            failed(span, fmt::format("the QP left {}", engine::name_of(peer.state)),
                   fmt::format("state {}", report->attributes.state
                                               ? engine::name_of(*report->attributes.state)
                                               : "unknown")));
    }
    co_return Met<>{};
}

// The QP takes a small SEND at the PSN that the DUT has expected all the time.
Task<Met<>> Interpreter::probe(Peer& peer, script::SourceSpan span) {
    peer.book.rewind_next_request(peer.run_start);
    const script::Recv receive{
        .ids = {script::Expr{.number = probe_id}, script::Expr{.number = probe_id}}};
    const Met<> posted = co_await post_receive(peer, receive, span);
    if (!posted) co_return posted;

    const std::string& name = peer.book.identity().name;
    const std::uint8_t opcode = *wire::opcode_by_name("SEND_ONLY", peer.book.identity().service);
    script::SendPacket packet{.qp = {.name = name}, .kind = script::Opcode{opcode}};
    packet.fields.push_back(
        {script::SpecialField::Length, script::Expr{.number = probe_bytes}, span});
    packet.fields.push_back({wire::Field::AckReq, script::Expr{.number = 1}, span});
    const Met<> sent = co_await send(packet, span);
    if (!sent) co_return sent;

    const bool acknowledges = peer.type == engine::QpType::Rc;
    script::ExpectPacket acknowledge{.qp = {.name = name}, .kind = script::Acknowledgement::Ack};
    acknowledge.matches.push_back(
        {.field = wire::Field::Psn, .value = script::Expr{.number = peer.run_start}, .span = span});
    Met<> acknowledged;
    if (acknowledges) acknowledged = co_await expect(acknowledge, span);
    if (!acknowledged) {
        acknowledged.error().reason =
            "a good SEND after it was not acknowledged: " + acknowledged.error().reason;
        co_return acknowledged;
    }
    const auto& receives = receives_of(peer);
    const bool datagram = peer.type == engine::QpType::Ud; // whose GRH is counted
    const std::uint32_t length = probe_bytes + (datagram ? grh_bytes : 0);
    const std::int64_t next = receives.empty() ? 0 : static_cast<std::int64_t>(receives.front());
    const script::SideCommand done{
        .qp = {.name = name},
        .command = script::Done{.queue = script::Queue::Recv,
                                .ids = {script::Expr{.number = next}, script::Expr{.number = next}},
                                .length = script::Expr{.number = length},
                                .imm = {},
                                .opcode = {},
                                .within = {}}};
    Met<> completed = co_await command(done, span);
    if (!completed) {
        completed.error().reason =
            "a good SEND after it did not complete the next receive: " + completed.error().reason;
    }
    co_return completed;
}

Task<Met<>> Interpreter::dropped(const script::Dropped& line, script::SourceSpan span) {
    const Met<Peer*> found = peer_of(line.qp);
    if (!found) co_return std::unexpected(found.error());
    Peer& peer = **found;
    const Met<> silent = co_await nothing_heard(peer, environment_.settle, span);
    if (!silent) co_return silent;
    const Met<> ready = co_await still_ready(peer, span);
    if (!ready) co_return ready;
    const Met<> probed = co_await probe(peer, span);
    co_return probed;
}

} // namespace veriroce::interpreter
