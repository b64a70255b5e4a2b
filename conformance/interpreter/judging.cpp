#include "conformance/interpreter/judging.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "conformance/judge/judge.hpp"
#include "dissector/decode/decoder.hpp"

namespace veriroce::interpreter {
namespace {

// Where the packets are seen: at the DUT's port if it is known when they were there, else at ours.
judge::Assumptions known(const std::vector<JudgedQp>& qps, const Environment& environment) {
    judge::Assumptions assumptions;
    assumptions.complete = true; // what a ring loses makes the case an ERROR
    assumptions.not_judged.push_back(environment.tester.address);
    for (const auto& [name, address] : environment.tester.named)
        assumptions.not_judged.push_back(address);
    if (environment.path_delay) {
        assumptions.ordered = true;
        assumptions.recorded_at = {environment.dut_address};
        assumptions.patience = environment.patience;
    } else {
        assumptions.recorded_at = assumptions.not_judged;
        assumptions.round_trip = environment.round_trip_p99;
        assumptions.clock_error = std::max(assumptions.clock_error, environment.round_trip_p99);
    }
    for (const JudgedQp& qp : qps) {
        assumptions.connections.push_back(
            {flow::Introduction{.address = environment.dut_address,
                                .qpn = qp.identity.dut_qpn,
                                .attributes = {.mtu = qp.identity.mtu,
                                               .first_psn = qp.identity.dut_start,
                                               .max_rd_atomic = std::nullopt,
                                               .timeout = qp.dut_timeout}},
             flow::Introduction{.address = qp.tester_address,
                                .qpn = qp.identity.tester_qpn,
                                .attributes = {.mtu = qp.identity.mtu,
                                               .first_psn = qp.identity.tester_start,
                                               .max_rd_atomic = std::nullopt,
                                               .timeout = std::nullopt}}});
    }
    return assumptions;
}

// In order of time. What comes to a device at the instant at which it sends came before.
struct Passing {
    wire::Instant at;
    Side from = Side::Tester;
    std::size_t index = 0; // of the recorded packet

    friend auto operator<=>(const Passing&, const Passing&) = default;
};

// What passed the port where the packets are seen.
std::vector<Passing> passing(const std::vector<RecordedPacket>& packets,
                             const Environment& environment) {
    const wire::Duration delay = environment.path_delay.value_or(wire::Duration(0));
    std::vector<Passing> all;
    for (std::size_t i = 0; i < packets.size(); ++i) {
        const RecordedPacket& packet = packets[i];
        if (!packet.on_wire) continue;
        const wire::Duration way = packet.from == Side::Dut ? -delay : delay;
        all.push_back({packet.at.latest + way, packet.from, i});
    }
    std::ranges::sort(all);
    return all;
}

} // namespace

std::vector<Violation> judge_packets(const std::vector<RecordedPacket>& packets,
                                     const std::vector<JudgedQp>& qps,
                                     const Environment& environment, wire::Instant end) {
    judge::Judge judge(known(qps, environment));
    decode::Dissection dissection;
    std::vector<std::size_t> order; // by the judge's numbers, which rise from 1
    for (const Passing& one : passing(packets, environment)) {
        order.push_back(one.index);
        const wire::Bytes frame = packets[one.index].frame;
        const decode::FrameFacts facts{.bytes = frame,
                                       .original_length = static_cast<std::uint32_t>(frame.size()),
                                       .number = order.size(),
                                       .time_ns = one.at.time_since_epoch().count()};
        decode::dissect_frame(facts, {}, dissection);
        judge.observe(dissection);
    }
    judge.finish(end);
    std::vector<Violation> found;
    for (const judge::Violation& one : judge.violations()) {
        if (one.certainty == judge::Certainty::Undecidable) continue;
        Violation& violation =
            found.emplace_back(Violation{.rule = std::string(one.rule),
                                         .level = one.level,
                                         .certain = one.certainty == judge::Certainty::Certain,
                                         .packets = {},
                                         .measured = one.measured,
                                         .allowed = one.allowed});
        for (std::size_t i = 0; i < one.packets.size; ++i)
            violation.packets.push_back(order[one.packets.numbers[i] - 1]);
    }
    return found;
}

void blame_violations(CaseResult& result) {
    for (const Violation& violation : result.violations) {
        if (!violation.certain || violation.packets.empty()) continue;
        const RecordedPacket& proof = result.packets[violation.packets.front()];
        const bool must = violation.level == rules::Level::Must;
        const bool graver =
            result.verdict == Verdict::Pass || (must && result.verdict == Verdict::Warn);
        if (!graver || violation.level == rules::Level::Info) continue;
        result.verdict = must ? Verdict::Fail : Verdict::Warn;
        result.findings.insert(result.findings.begin(),
                               Finding{.kind = FindingKind::Violation,
                                       .differences = {{.field = violation.rule,
                                                        .expected = violation.allowed,
                                                        .actual = violation.measured}},
                                       .packet = violation.packets.front(),
                                       .rules = {violation.rule},
                                       .actual = proof.script});
        if (std::ranges::find(result.rules, violation.rule) == result.rules.end()) {
            result.rules.push_back(violation.rule);
        }
    }
}

} // namespace veriroce::interpreter
