#include "conformance/plan/run_player.hpp"

#include <algorithm>
#include <chrono>
#include <exception>

#include <fmt/format.h>

#include "conformance/interpreter/judging.hpp"
#include "dissector/command_line/stop_on_signal.hpp"

namespace veriroce::plan {

using interpreter::CaseResult;
using interpreter::Environment;
using interpreter::Finding;
using interpreter::FindingKind;
using interpreter::Verdict;
using testbed::Testbed;

namespace {

// How often the exchange after a case is held before it counts as unanswered, where no packet is
// lost.
constexpr std::size_t kSanityTries = 2;

} // namespace

std::uint32_t first_qpn_of(std::uint64_t seed) {
    return TesterQpns::kFirst + static_cast<std::uint32_t>(seed % 0x7FFF) * 0x100;
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

RunPlayer::RunPlayer(Testbed& testbed, const Plan& plan, const Selection& selection,
                     const RunOptions& options, const KnownDeviations& known)
    : testbed_(testbed), plan_(plan), selection_(selection), options_(options), known_(known),
      sanity_(sanity_script()) {}

Environment RunPlayer::environment_for(const PlannedRun& planned, PlayedSoFar& so_far) const {
    Environment environment = environment_alone(testbed_, planned, options_);
    environment.first_tester_qpn = so_far.qpns.next();
    const std::string play = fmt::format("{} {} {}", planned.id(plan_.cases[planned.case_index]),
                                         environment.seed, so_far.plays_of_run++);
    environment.wire_seed = std::hash<std::string>{}(play);
    return environment;
}

bool died(const Played& played, const PlayedSoFar& so_far) {
    return played.exchange == Exchange::Unanswered && so_far.has_answered;
}

// --- plays --------------------------------------------------------------------------------------

Played RunPlayer::play(const PlannedRun& planned, PlayedSoFar& so_far) const {
    using Clock = std::chrono::steady_clock;
    const auto began = Clock::now();
    const script::Case& script = plan_.cases[planned.case_index];
    std::optional<std::string> skip = testbed_.lacks(planned.network());
    testbed_.keep_calibrated();
    if (!skip) {
        const Environment environment = environment_alone(testbed_, planned, options_);
        skip = reason_to_skip(script, planned, testbed_, environment, selection_);
    }
    Played played;
    if (skip) {
        played.result.become(Verdict::Skip, FindingKind::Unsupported, *skip);
        return played;
    }
    so_far.plays_of_run = 0;
    played = play_once(planned, so_far);
    if (testbed_.may_lose_packets() && !died(played, so_far) && !interrupted() &&
        !known(planned, played.result)) {
        if (Replay::needed_for(played.result)) {
            played = play_again(planned, std::move(played), so_far);
        } else {
            so_far.wire.add(played.result.packets.size());
        }
    }
    so_far.has_been_asked = true;
    played.took = Clock::now() - began;
    return played;
}

bool RunPlayer::interrupted() const {
    return testbed_.broken() || command_line::StopOnSignal::requested();
}

Played RunPlayer::play_once(const PlannedRun& planned, PlayedSoFar& so_far) const {
    const script::Case& script = plan_.cases[planned.case_index];
    const Environment environment = environment_for(planned, so_far);
    Played played;
    // The program's own mistake costs this case: those played before it are still reported.
    try {
        played.result = testbed_.play(script, *planned.run, environment);
    } catch (const std::exception& escaped) {
        played.result.become(Verdict::Error, FindingKind::Internal,
                             fmt::format("the harness failed: {}", escaped.what()));
        return played;
    }
    if (testbed_.broken()) {
        played.result.become(Verdict::Error, FindingKind::Environment, *testbed_.broken());
    } else {
        judge_sanity(played, planned, environment, so_far);
    }
    return played;
}

Played RunPlayer::play_again(const PlannedRun& planned, Played first, PlayedSoFar& so_far) const {
    probe_.probe(testbed_, so_far.wire, [&] { return environment_for(planned, so_far); });
    Played last{.exchange = first.exchange};
    Replay replay(so_far.wire);
    replay.add(std::move(first.result));
    while (!replay.settled() && !died(last, so_far) && !interrupted()) {
        last = play_once(planned, so_far);
        replay.add(std::move(last.result));
    }
    if (replay.cleared()) ++so_far.cleared;
    last.result = replay.take_result();
    replay.tell(so_far.wire);
    return last;
}

bool RunPlayer::known(const PlannedRun& planned, const CaseResult& result) const {
    KnownDeviations known = known_;
    CaseResult copy = result;
    copy.id = planned.id(plan_.cases[planned.case_index]);
    known.judge(copy);
    return copy.verdict == Verdict::Xfail;
}

// --- the exchange behind a run ------------------------------------------------------------------

// It asks for an answer and for nothing else: what is wrong in it, cases say.
CaseResult RunPlayer::sanity_exchange(const Environment& environment) const {
    Environment fresh = environment;
    fresh.first_tester_qpn = {environment.first_tester_qpn.value + script::kMaxQps};
    ++fresh.wire_seed;
    fresh.plan = {};
    fresh.judged = false;
    return testbed_.play(sanity_.test_case, sanity_.runs.front(), fresh);
}

std::size_t RunPlayer::sanity_tries(const PlayedSoFar& so_far) const {
    if (!so_far.has_answered && so_far.has_been_asked) return 1;
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
    untagged.vlan = 0;
    return testbed.lacks(untagged.network()) ? planned : untagged;
}

} // namespace

bool RunPlayer::answers(const PlannedRun& planned, PlayedSoFar& so_far) const {
    const PlannedRun asked = for_sanity(testbed_, planned);
    for (std::size_t i = 0; i < sanity_tries(so_far) && !testbed_.broken(); ++i) {
        if (sanity_exchange(environment_for(asked, so_far)).verdict == Verdict::Pass) return true;
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
void RunPlayer::judge_sanity(Played& played, const PlannedRun& planned,
                             const Environment& environment, PlayedSoFar& so_far) const {
    CaseResult& result = played.result;
    const PlannedRun asked = for_sanity(testbed_, planned);
    CaseResult sanity =
        sanity_exchange(environment.vlan ? environment_for(asked, so_far) : environment);
    so_far.wire.add(sanity.packets.size());
    for (std::size_t tries = 1; tries < sanity_tries(so_far); ++tries) {
        if (sanity.verdict == Verdict::Pass || testbed_.broken()) break;
        const WireRecord::Disturbance disturbance = disturbance_of(sanity);
        sanity = sanity_exchange(environment_for(asked, so_far));
        if (sanity.verdict == Verdict::Pass) so_far.wire.add(sanity.packets.size(), disturbance);
    }
    if (command_line::StopOnSignal::requested()) return; // it was cut short
    if (sanity.verdict == Verdict::Pass) {
        so_far.has_answered = true;
        played.exchange = Exchange::Answered;
        return;
    }
    played.exchange = Exchange::Unanswered;
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
