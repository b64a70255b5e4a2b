#include "conformance/plan/run.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <exception>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "conformance/interpreter/judging.hpp"
#include "conformance/plan/device_notes.hpp"
#include "conformance/plan/judgeable.hpp"
#include "conformance/plan/run_name.hpp"
#include "dissector/command_line/stop_on_signal.hpp"

namespace veriroce::plan {

using interpreter::CaseResult;
using interpreter::Environment;
using interpreter::Finding;
using interpreter::FindingKind;
using interpreter::Verdict;
using testbed::Testbed;

namespace {

// What the wire loses is measured with requests that need nothing but a QP; of a device that does
// not answer these, with small SENDs.
constexpr std::array<std::string_view, 2> kProbeScripts{R"(rule   LEN-08
title  "Whether the wire loses packets"
role   responder

repeat i in 0..99
  > RDMA_WRITE_ONLY  psn=2*i len=0 dmalen=0 ackreq
  > RDMA_WRITE_ONLY  psn=2*i+1 len=0 dmalen=0 ackreq
  < ACK  psn=2*i+1
end
)",
                                                        R"(rule   RSP-01
title  "Whether the wire loses packets"
role   responder

dut    recv id=1..100 len=4
repeat i in 0..49
  > SEND_ONLY  psn=2*i len=4 ackreq
  > SEND_ONLY  psn=2*i+1 len=4 ackreq
  < ACK  psn=2*i+1
end
dut    done recv id=1..100
)"};
constexpr std::uint64_t kProbePackets = 4000; // before the run blames a device
constexpr std::ptrdiff_t kProbeBurst = 2;     // packets before the first answer of a probe
constexpr wire::Duration kProbePatience = std::chrono::milliseconds(100);
constexpr std::size_t kMostProbes = 60;  // each ends with the first loss
constexpr std::size_t kMostUseless = 10; // probes that end before it

// How often the exchange after a case is held before it counts as unanswered, where no packet is
// lost.
constexpr std::size_t kSanityTries = 2;

// A device that has not answered this many times in a row, each before another case, is dead.
constexpr std::size_t kTriesOfDead = 5;

} // namespace

std::uint32_t first_qpn_of(std::uint64_t seed) {
    return TesterQpns::kFirst + static_cast<std::uint32_t>(seed % 0x7FFF) * 0x100;
}

PlanRun::PlanRun(Testbed& testbed, const Plan& plan, const Selection& selection, RunOptions options)
    : testbed_(testbed), plan_(plan), selection_(selection), options_(std::move(options)),
      sanity_(sanity_script()), qpns_(first_qpn_of(options_.seed)) {
    for (const std::string_view text : kProbeScripts) {
        auto probe = script::compile("probe.roce", text);
        assert(probe.has_value());
        probes_.push_back(std::move(*probe));
    }
    if (options_.profile) {
        const dut::Welcome dut = testbed_.environment({}).dut;
        known_ = KnownDeviations(
            *options_.profile,
            {.firmware = dut.firmware, .kernel = dut.kernel, .today = options_.today});
        tell_plan();
    }
    notes_ = known_.notes();
    interpreter::Environment environment = testbed_.environment({});
    if (options_.profile) environment = options_.profile->applied(std::move(environment));
    for (std::string& note : device_notes(environment.dut, options_.profile))
        notes_.push_back(std::move(note));
    for (std::string& note : not_judgeable(plan_, testbed_.environment({}).stamp_width))
        notes_.push_back(std::move(note));
}

// A busy machine may hide what a case about time shows: its passes prove nothing.
void PlanRun::tell_plan() {
    for (const PlannedRun& planned : plan_.runs) {
        const script::Case& of = plan_.cases[planned.case_index];
        if (of.tagged("timing")) continue;
        std::vector<std::string> rules;
        for (const script::Word& rule : of.rules)
            rules.push_back(rule.text);
        known_.will_play(planned.id(of), rules);
    }
}

Environment environment_alone(const Testbed& testbed, const PlannedRun& planned,
                              const RunOptions& options) {
    Environment environment = testbed.environment(planned.network());
    double scale = options.timeout_scale;
    if (options.profile) {
        environment = options.profile->applied(std::move(environment));
        scale *= options.profile->time_scale;
    }
    environment.seed = options.seed + planned.round;
    environment.plan = options.plan;
    environment.start_psn = planned.start_psn;
    if (planned.mig_req) environment.mig_req = planned.mig_req;
    environment.path_mtu = planned.path_mtu;
    scale_times(environment, scale);
    environment.first_tester_qpn = {first_qpn_of(options.seed)};
    return environment;
}

Environment PlanRun::environment_for(const PlannedRun& planned) {
    Environment environment = environment_alone(testbed_, planned, options_);
    environment.first_tester_qpn = qpns_.next();
    const std::string play = fmt::format("{} {} {}", planned.id(plan_.cases[planned.case_index]),
                                         environment.seed, plays_of_run_++);
    environment.wire_seed = std::hash<std::string>{}(play);
    return environment;
}

std::optional<CaseResult> PlanRun::next() {
    if (over_ || next_ >= plan_.runs.size()) return std::nullopt;
    const PlannedRun& planned = plan_.runs[next_++];
    CaseResult result = result_of(planned);
    // A case that a signal cut short found nothing.
    if (command_line::StopOnSignal::requested()) {
        --next_;
        over_ = true;
        return std::nullopt;
    }
    known_.judge(result);
    if (options_.fail_fast && result.verdict == Verdict::Fail) over_ = true;
    if (testbed_.broken()) {
        over_ = true;
        if (!dead_since_) dead_since_ = result.id;
    }
    return result;
}

std::optional<std::string> PlanRun::upcoming() const {
    if (over_ || next_ >= plan_.runs.size()) return std::nullopt;
    const PlannedRun& planned = plan_.runs[next_];
    return planned.id(plan_.cases[planned.case_index]);
}

void PlanRun::revived() {
    dead_since_.reset();
    unanswered_tries_ = 0;
    over_ = false;
}

void PlanRun::blame_for_death(CaseResult& killer, std::string how) {
    if (killer.verdict == Verdict::Skip) return;
    // The profile is asked again: an entry for another failure does not excuse a death.
    std::erase_if(killer.findings, [](const Finding& one) {
        return one.kind == FindingKind::KnownDeviation || one.kind == FindingKind::DeviationAbsent;
    });
    const bool told = std::ranges::any_of(
        killer.findings, [](const Finding& one) { return one.kind == FindingKind::Unanswering; });
    if (!told) {
        killer.findings.insert(killer.findings.begin(),
                               Finding{.kind = FindingKind::Unanswering, .detail = std::move(how)});
    }
    killer.verdict = Verdict::Fail;
    known_.judge(killer);
}

CaseResult PlanRun::result_of(const PlannedRun& planned) {
    const script::Case& script = plan_.cases[planned.case_index];
    CaseResult result;
    if (dead_since_ && !answers_again(planned)) {
        result.become(
            Verdict::Error, FindingKind::Environment,
            fmt::format("not played: the DUT has not answered a SEND since {}", *dead_since_));
        if (++unanswered_tries_ == kTriesOfDead) over_ = true;
    } else {
        dead_since_.reset();
        unanswered_tries_ = 0;
        result = play(planned);
    }
    if (result.rules.empty()) {
        for (const script::Word& rule : script.rules)
            result.rules.push_back(rule.text);
        result.level = script.level;
        result.title = planned.run->title;
    }
    result.id = planned.id(script);
    result.file = script.path;
    result.command = command_for(planned);
    if (dead_since_ && dead_since_->empty()) dead_since_ = result.id;
    return result;
}

CaseResult PlanRun::play(const PlannedRun& planned) {
    const script::Case& script = plan_.cases[planned.case_index];
    std::optional<std::string> skip = testbed_.lacks(planned.network());
    testbed_.keep_calibrated();
    if (!skip) {
        const Environment environment = environment_alone(testbed_, planned, options_);
        skip = reason_to_skip(script, planned, testbed_, environment, selection_);
    }
    if (skip) {
        CaseResult result;
        result.become(Verdict::Skip, FindingKind::Unsupported, *skip);
        return result;
    }
    plays_of_run_ = 0;
    CaseResult result = play_once(planned);
    if (!testbed_.may_lose_packets() || interrupted() || known(planned, result)) return result;
    if (Replay::needed_for(result)) return play_again(planned, std::move(result));
    wire_.add(result.packets.size());
    return result;
}

bool PlanRun::interrupted() const {
    return dead_since_ || testbed_.broken() || command_line::StopOnSignal::requested();
}

CaseResult PlanRun::play_once(const PlannedRun& planned) {
    const script::Case& script = plan_.cases[planned.case_index];
    const Environment environment = environment_for(planned);
    CaseResult result;
    // The program's own mistake costs this case: those played before it are still reported.
    try {
        result = testbed_.play(script, *planned.run, environment);
    } catch (const std::exception& escaped) {
        result.become(Verdict::Error, FindingKind::Internal,
                      fmt::format("the harness failed: {}", escaped.what()));
        return result;
    }
    if (testbed_.broken()) {
        result.become(Verdict::Error, FindingKind::Environment, *testbed_.broken());
    } else {
        judge_sanity(result, planned, environment);
    }
    return result;
}

CaseResult PlanRun::play_again(const PlannedRun& planned, CaseResult first) {
    probe_wire(planned);
    Replay replay(wire_);
    replay.add(std::move(first));
    while (!replay.settled() && !interrupted())
        replay.add(play_once(planned));
    if (replay.cleared()) ++cleared_;
    CaseResult result = replay.take_result();
    replay.tell(wire_);
    return result;
}

// No case can tell a device that loses packets from a wire that does: the reader is told.
std::optional<std::string> PlanRun::wire_note() const {
    if (cleared_ == 0) return std::nullopt;
    return fmt::format("packets are lost, repeated or changed between tester and device ({}): {} "
                       "run{} failed at first and then passed. A device that loses packets itself "
                       "looks the same; the drop counters of both hosts and of the switch tell",
                       wire_.probes_text(), cleared_, cleared_ == 1 ? "" : "s");
}

bool PlanRun::known(const PlannedRun& planned, const CaseResult& result) const {
    KnownDeviations known = known_;
    CaseResult copy = result;
    copy.id = planned.id(plan_.cases[planned.case_index]);
    known.judge(copy);
    return copy.verdict == Verdict::Xfail;
}

void PlanRun::probe_wire(const PlannedRun& planned) {
    for (const script::Script& probe : probes_) {
        if (probe_with(probe, planned)) return;
    }
    // A device that is wrong in all of them says nothing about the wire: two plays of three decide.
    wire_.add_probe(kProbePackets);
}

namespace {

// Answers that came more than once. A right device answers no packet of a probe twice.
std::uint64_t copies_in(const CaseResult& probe) {
    std::map<std::string_view, std::uint64_t> answers; // in script notation
    for (const interpreter::RecordedPacket& packet : probe.packets) {
        if (packet.from == interpreter::Side::Dut) ++answers[packet.script];
    }
    std::uint64_t copies = 0;
    for (const auto& [answer, times] : answers)
        copies += times - 1;
    return copies;
}

} // namespace

// Whether enough is known. What ends at once is more likely the device's doing than the wire's.
bool PlanRun::probe_with(const script::Script& probe, const PlannedRun& planned) {
    std::size_t useless = 0; // in a row
    for (std::size_t i = 0; i < kMostProbes && wire_.probed() < kProbePackets; ++i) {
        if (interrupted()) return true;
        Environment environment = environment_for(planned);
        environment.plan = {};
        environment.judged = false;
        environment.patience = std::min(environment.patience, kProbePatience);
        const CaseResult played = testbed_.play(probe.test_case, probe.runs.front(), environment);
        const bool passed = played.verdict == Verdict::Pass;
        const auto sent = std::ranges::count(played.packets, interpreter::Side::Tester,
                                             &interpreter::RecordedPacket::from);
        if (!passed && sent <= kProbeBurst) {
            if (++useless == kMostUseless) return false;
            continue;
        }
        useless = 0;
        if (passed) {
            wire_.add_copies(played.packets.size(), copies_in(played));
        } else {
            wire_.add_probe(played.packets.size(), disturbance_of(played));
        }
    }
    return true;
}

// This run alone, with what made it this run: its values, its axes, and the round's seed.
std::string PlanRun::command_for(const PlannedRun& planned) const {
    const script::Case& script = plan_.cases[planned.case_index];
    const std::string id = without_round(planned.id(script));
    const std::string values = id.substr(script.id().size());
    const std::string name = (planned.file.empty() ? script.id() : planned.file) + values;
    std::string text = fmt::format("veriroce test {}{}", shell_word(name), options_.command);
    std::vector<std::string> over = planned.over();
    const std::string mtu = fmt::format("mtu={}", wire::bytes_of(planned.path_mtu));
    const bool usual = planned.path_mtu == wire::Mtu{script::kUsualMtu} || planned.sets_mtu();
    // Elsewhere another path MTU may be the usual one.
    if (!usual && std::ranges::find(over, mtu) == over.end()) over.push_back(mtu);
    for (const std::string& axis : over)
        text += " --over " + axis;
    return text + fmt::format(" --seed {}", options_.seed + planned.round);
}

// It asks for an answer and for nothing else: what is wrong in it, cases say.
CaseResult PlanRun::sanity_exchange(const Environment& environment) {
    Environment fresh = environment;
    fresh.first_tester_qpn = {environment.first_tester_qpn.value + script::kMaxQps};
    ++fresh.wire_seed;
    fresh.plan = {};
    fresh.judged = false;
    return testbed_.play(sanity_.test_case, sanity_.runs.front(), fresh);
}

std::size_t PlanRun::sanity_tries() const {
    if (!has_answered_ && next_ != 1) return 1;
    return testbed_.may_lose_packets() ? kSanityTriesOnWire : kSanityTries;
}

namespace {

// The run outside of its VLAN, in which the device may be wrong and yet alive; the run as it is if
// the device has no address outside of it.
PlannedRun for_sanity(Testbed& testbed, const PlannedRun& planned) {
    if (!planned.network().vlan) return planned;
    auto run = std::make_shared<script::Run>(*planned.run);
    std::erase_if(run->qps.front().attributes,
                  [](const script::Attribute& one) { return one.name.starts_with("vlan"); });
    PlannedRun untagged = planned;
    untagged.run = std::move(run);
    return testbed.lacks(untagged.network()) ? planned : untagged;
}

} // namespace

bool PlanRun::answers_again(const PlannedRun& planned) {
    const PlannedRun asked = for_sanity(testbed_, planned);
    for (std::size_t i = 0; i < sanity_tries() && !testbed_.broken(); ++i) {
        if (sanity_exchange(environment_for(asked)).verdict == Verdict::Pass) return true;
    }
    return false;
}

namespace {

// Whether the case saw nothing but silence. In front of a device that cannot even be asked, that
// proves nothing; a packet or completion that is wrong does.
bool saw_silence(const CaseResult& result) {
    return std::ranges::all_of(result.findings, [](const Finding& one) {
        return one.kind == FindingKind::Missing && !one.packet;
    });
}

} // namespace

// Whatever the case found, a device that no longer answers is the graver finding. A sanity exchange
// that could not be held (the agent is gone, the way to the device is broken) says nothing about
// the device, but no later case can be played either. What the case itself found stays in the
// message. An exchange that fails is held again: a wire may lose a packet.
void PlanRun::judge_sanity(CaseResult& result, const PlannedRun& planned,
                           const Environment& environment) {
    const PlannedRun asked = for_sanity(testbed_, planned);
    CaseResult sanity = sanity_exchange(environment.vlan ? environment_for(asked) : environment);
    wire_.add(sanity.packets.size());
    for (std::size_t tries = 1; tries < sanity_tries(); ++tries) {
        if (sanity.verdict == Verdict::Pass || testbed_.broken()) break;
        const WireRecord::Disturbance disturbance = disturbance_of(sanity);
        sanity = sanity_exchange(environment_for(asked));
        if (sanity.verdict == Verdict::Pass) wire_.add(sanity.packets.size(), disturbance);
    }
    if (command_line::StopOnSignal::requested()) return; // it was cut short
    if (sanity.verdict == Verdict::Pass) {
        has_answered_ = true;
        return;
    }
    // A device that never answered is wrong, not dead: the cases say more about it.
    if (has_answered_) dead_since_.emplace(); // result_of fills in the id
    Finding finding{.kind = FindingKind::Unanswering, .detail = sanity.reason()};
    // A SKIP: the DUT refused a verb that it says it has.
    if (sanity.verdict == Verdict::Error || sanity.verdict == Verdict::Skip) {
        finding.kind = FindingKind::Environment;
        finding.detail =
            fmt::format("the exchange after the case could not run: {}", sanity.reason());
        const bool proven = result.verdict == Verdict::Fail && !saw_silence(result);
        result.verdict = proven ? Verdict::Fail : Verdict::Error;
    } else {
        result.verdict = Verdict::Fail;
    }
    result.findings.insert(result.findings.begin(), std::move(finding));
}

} // namespace veriroce::plan
