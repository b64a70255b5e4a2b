#include "conformance/interpreter/judging.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "conformance/judge/judge.hpp"
#include "dissector/decode/decoder.hpp"

namespace veriroce::interpreter {
namespace {

constexpr std::size_t kCertainDamage = 2; // packets with a wrong ICRC in one run
constexpr std::size_t kMostProof = 8;     // packets that a violation names
constexpr std::string_view kRareDamage = " (a wire damages packets, but very rarely)";

// The ACK timer that the judge holds the DUT to; nothing if the DUT is known to have another.
std::optional<std::uint8_t> timer_of(const JudgedQp& qp, const Environment& environment) {
    if (environment.early_ack_timer() || qp.early_resends) return std::nullopt;
    if (qp.dut_timeout == 0) return qp.dut_timeout;
    return std::max(qp.dut_timeout, environment.ack_timer_floor);
}

// Where the packets are seen: at the DUT's port if it is known when they were there, else at ours.
judge::Assumptions known(const std::vector<JudgedQp>& qps, const Environment& environment) {
    judge::Assumptions assumptions;
    assumptions.complete = true; // a packet that the capture loses makes the case an ERROR
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
    if (environment.trait("out_of_order")) assumptions.out_of_order = {environment.dut_address};
    for (const JudgedQp& qp : qps) {
        assumptions.connections.push_back(
            {flow::Introduction{.address = environment.dut_address,
                                .qpn = qp.identity.dut_qpn,
                                .attributes = {.mtu = qp.identity.mtu,
                                               .first_psn = qp.identity.dut_start,
                                               .max_rd_atomic = std::nullopt,
                                               .timeout = timer_of(qp, environment)},
                                .service = qp.identity.service},
             flow::Introduction{.address = qp.tester_address,
                                .qpn = qp.identity.tester_qpn,
                                .attributes = {.mtu = qp.identity.mtu,
                                               .first_psn = qp.identity.tester_start,
                                               .max_rd_atomic = std::nullopt,
                                               .timeout = std::nullopt},
                                .service = qp.identity.service}});
    }
    return assumptions;
}

// Sorted by time. A packet that reaches the device at the instant at which it sends counts as
// earlier.
struct Passing {
    wire::Instant at;
    bool of_dut = false;
    std::size_t index = 0; // of the recorded packet

    friend auto operator<=>(const Passing&, const Passing&) = default;
};

// The packets that passed the port at which they are seen.
std::vector<Passing> passing(const std::vector<RecordedPacket>& packets,
                             const Environment& environment) {
    const wire::Duration delay = environment.path_delay.value_or(wire::Duration(0));
    std::vector<Passing> all;
    for (std::size_t i = 0; i < packets.size(); ++i) {
        const RecordedPacket& packet = packets[i];
        if (!packet.on_wire) continue;
        const bool of_dut = packet.from == Side::Dut;
        all.push_back({packet.at.latest + (of_dut ? -delay : delay), of_dut, i});
    }
    std::ranges::sort(all);
    return all;
}

// Numbers the packets from 1 in the order in which they passed.
judge::Judge judged(const std::vector<Passing>& order, const std::vector<RecordedPacket>& packets,
                    judge::Assumptions assumptions, wire::Instant end) {
    judge::Judge judge(std::move(assumptions));
    decode::Dissection dissection;
    std::uint64_t number = 0;
    for (const Passing& one : order) {
        const wire::Bytes frame = packets[one.index].frame;
        const decode::FrameFacts facts{.bytes = frame,
                                       .original_length = static_cast<std::uint32_t>(frame.size()),
                                       .number = ++number,
                                       .time_ns = one.at.time_since_epoch().count()};
        decode::dissect_frame(facts, {}, dissection);
        judge.observe(dissection);
    }
    judge.finish(end);
    return judge;
}

bool certain(const judge::Violation& one) {
    return one.certainty == judge::Certainty::Certain;
}

bool same(const judge::Violation& one, const judge::Violation& other) {
    return one.rule == other.rule && one.measured == other.measured &&
           one.packets.numbers == other.packets.numbers;
}

} // namespace

std::vector<Violation> judge_packets(const std::vector<RecordedPacket>& packets,
                                     const std::vector<JudgedQp>& qps,
                                     const Environment& environment, wire::Instant end) {
    const std::vector<Passing> order = passing(packets, environment);
    const judge::Judge judge = judged(order, packets, known(qps, environment), end);
    // A wire may lose what the DUT sent: what is certain even then, no lost packet explains.
    std::optional<judge::Judge> unsure;
    if (!environment.path_delay && std::ranges::any_of(judge.violations(), certain)) {
        judge::Assumptions assumptions = known(qps, environment);
        assumptions.complete = false;
        unsure.emplace(judged(order, packets, std::move(assumptions), end));
    }
    const auto contradicts = [&](const judge::Violation& one) {
        return !unsure || std::ranges::any_of(unsure->violations(), [&](const auto& other) {
            return certain(other) && same(one, other);
        });
    };
    // A line may give what the tester sends the address of a stranger.
    const auto of_tester = [&](const judge::Violation& one) {
        const std::span numbers(one.packets.numbers.data(), one.packets.size);
        return one.device != environment.dut_address &&
               std::ranges::all_of(numbers, [&](std::uint64_t number) {
                   return packets[order[number - 1].index].from == Side::Tester;
               });
    };
    std::vector<Violation> found;
    for (const judge::Violation& one : judge.violations()) {
        if (one.certainty == judge::Certainty::Undecidable) continue;
        // The model looks at it as well, and knows that answers and resent requests may have
        // others.
        if (one.rule == "ENC-02") continue;
        if (of_tester(one)) continue;
        Violation& violation = found.emplace_back(
            Violation{.rule = std::string(one.rule),
                      .level = one.level,
                      .certain = certain(one),
                      .packets = {},
                      .measured = one.measured,
                      .allowed = one.allowed,
                      .of_class = contradicts(one) ? rules::FindingClass::Contradiction
                                                   : rules::FindingClass::Absence});
        for (std::size_t i = 0; i < one.packets.size; ++i)
            violation.packets.push_back(order[one.packets.numbers[i] - 1].index);
    }
    return found;
}

std::vector<Violation> judge_damage(const std::vector<DamagedPacket>& packets) {
    const bool certain = packets.size() >= kCertainDamage;
    std::vector<Violation> found;
    for (const bool cnp : {false, true}) {
        std::vector<std::size_t> proof;
        const DamagedPacket* first = nullptr;
        for (const DamagedPacket& one : packets) {
            if (one.cnp != cnp) continue;
            if (first == nullptr) first = &one;
            if (proof.size() < kMostProof) proof.push_back(one.packet);
        }
        if (first == nullptr) continue;
        const auto count =
            std::ranges::count_if(packets, [&](const auto& one) { return one.cnp == cnp; });
        found.push_back(
            {.rule = cnp ? "CRC-10" : "CRC-01",
             .level = rules::Level::Must,
             .certain = certain,
             .packets = std::move(proof),
             .measured = count == 1
                             ? fmt::format("the ICRC of one packet is 0x{:08X}", first->found)
                             : fmt::format("{} packets have a wrong ICRC, the first 0x{:08X}",
                                           count, first->found),
             .allowed = fmt::format("{} must be 0x{:08X}{}", count == 1 ? "it" : "that",
                                    first->right, certain ? "" : kRareDamage),
             .of_class = rules::FindingClass::Absence});
    }
    return found;
}

bool is_icrc_rule(std::string_view rule) {
    return rule == "CRC-01" || rule == "CRC-10";
}

namespace {

// A rule that the device must keep, and a packet or a value that no right device sends or gives.
bool proven(const Violation& violation) {
    return violation.certain && violation.level == rules::Level::Must &&
           violation.of_class == rules::FindingClass::Contradiction;
}

// Whether the violation makes the verdict worse.
bool is_graver(const Violation& violation, Verdict becomes, const CaseResult& result) {
    switch (result.verdict) {
    case Verdict::Pass:
    case Verdict::Info: return true;
    case Verdict::Warn: return becomes == Verdict::Fail;
    case Verdict::Error: {
        // The breach may be why the case was not played to its end: the tester drops a packet with
        // a wrong ICRC, and refuses a wrong request before a fault can act on it.
        const FindingKind kind =
            result.findings.empty() ? FindingKind::Internal : result.findings.front().kind;
        const bool cut_short = kind == FindingKind::Unplayable || kind == FindingKind::Noisy;
        const bool icrc = is_icrc_rule(violation.rule) && becomes == Verdict::Fail;
        return cut_short && (icrc || proven(violation));
    }
    case Verdict::Skip: return proven(violation);
    case Verdict::Fail:
    case Verdict::Xfail:
    case Verdict::Xpass: return false;
    }
    return false;
}

Finding finding_of(const CaseResult& result, const Violation& violation) {
    Finding finding{.kind = FindingKind::Violation,
                    .differences = {{.field = violation.rule,
                                     .expected = violation.allowed,
                                     .actual = violation.measured}},
                    .rules = {violation.rule},
                    .known_class = violation.of_class};
    if (violation.packets.empty()) return finding; // memory, completions
    finding.packet = violation.packets.front();
    finding.actual = result.packets[violation.packets.front()].script;
    return finding;
}

void add_rule(CaseResult& result, const std::string& rule) {
    if (std::ranges::find(result.rules, rule) == result.rules.end()) result.rules.push_back(rule);
}

} // namespace

void blame_violations(CaseResult& result) {
    bool damage_told = false;
    for (const Violation& violation : result.violations) {
        const bool damage = is_icrc_rule(violation.rule);
        if (violation.level == rules::Level::Info) continue;
        if (!violation.certain && !damage) continue;
        const bool must = violation.certain && violation.level == rules::Level::Must;
        const Verdict becomes = must ? Verdict::Fail : Verdict::Warn;
        if (is_graver(violation, becomes, result)) {
            result.verdict = becomes;
            result.findings.insert(result.findings.begin(), finding_of(result, violation));
        } else if (damage && !damage_told && result.verdict != Verdict::Skip) {
            result.findings.push_back(finding_of(result, violation));
        } else {
            continue;
        }
        damage_told = damage_told || damage;
        add_rule(result, violation.rule);
    }
}

void tell_contradictions(CaseResult& result) {
    for (const Violation& violation : result.violations) {
        if (!proven(violation)) continue;
        Finding finding = finding_of(result, violation);
        if (std::ranges::find(result.findings, finding) != result.findings.end()) continue;
        result.findings.push_back(std::move(finding));
        add_rule(result, violation.rule);
    }
}

void make_damage_certain(CaseResult& result) {
    for (Violation& violation : result.violations) {
        if (is_icrc_rule(violation.rule)) violation.certain = true;
    }
    for (Finding& finding : result.findings) {
        for (Difference& one : finding.differences) {
            const std::size_t at = one.expected.find(kRareDamage);
            if (at != std::string::npos) one.expected.erase(at, kRareDamage.size());
        }
    }
    result.verdict = Verdict::Fail;
}

} // namespace veriroce::interpreter
