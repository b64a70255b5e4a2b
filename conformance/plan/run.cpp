#include "conformance/plan/run.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "conformance/plan/device_notes.hpp"
#include "conformance/plan/judgeable.hpp"
#include "conformance/plan/run_name.hpp"
#include "conformance/plan/shell_word.hpp"
#include "dissector/command_line/stop_on_signal.hpp"

namespace veriroce::plan {

using interpreter::CaseResult;
using interpreter::Environment;
using interpreter::Finding;
using interpreter::FindingKind;
using interpreter::Verdict;
using testbed::Testbed;

namespace {

// A device that has not answered this many times in a row, each before another case, is dead.
constexpr std::size_t kTriesOfDead = 5;

} // namespace

PlanRun::PlanRun(Testbed& testbed, const Plan& plan, const Selection& selection, RunOptions options)
    : testbed_(testbed), plan_(plan), options_(std::move(options)),
      player_(testbed, plan, selection, options_, known_) {
    so_far_.qpns = TesterQpns(first_qpn_of(options_.seed));
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
    if (testbed_.plays_stand_alone()) {
        ahead_.emplace(options_.threads, plan_.runs.size(),
                       [this](std::size_t run) { return play_alone(run); });
    }
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

// As if it were neither the first run nor behind one that the device did not survive. Its QPNs
// depend on nothing but its place in the plan.
Played PlanRun::play_alone(std::size_t run) const {
    PlayedSoFar so_far{.qpns = TesterQpns::after(first_qpn_of(options_.seed), run),
                       .has_answered = true,
                       .has_been_asked = true};
    return player_.play(plan_.runs[run], so_far);
}

CaseResult PlanRun::play(const PlannedRun& planned, std::optional<Played> ahead) {
    Played played = ahead ? std::move(*ahead) : player_.play(planned, so_far_);
    if (played.exchange == Exchange::Answered) so_far_.has_answered = true;
    if (died(played, so_far_)) dead_since_.emplace(); // result_of fills in the id
    took_ = played.took;
    return std::move(played.result);
}

CaseResult PlanRun::result_of(const PlannedRun& planned) {
    const script::Case& script = plan_.cases[planned.case_index];
    std::optional<Played> ahead;
    if (ahead_) ahead = ahead_->take();
    CaseResult result;
    took_ = {};
    if (dead_since_ && !player_.answers(planned, so_far_)) {
        result.become(
            Verdict::Error, FindingKind::Environment,
            fmt::format("not played: the DUT has not answered a SEND since {}", *dead_since_));
        if (++unanswered_tries_ == kTriesOfDead) over_ = true;
    } else {
        dead_since_.reset();
        unanswered_tries_ = 0;
        result = play(planned, std::move(ahead));
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

// No case can tell a device that loses packets from a wire that does: the reader is told.
std::optional<std::string> PlanRun::wire_note() const {
    const std::size_t cleared = so_far_.cleared;
    if (cleared == 0) return std::nullopt;
    return fmt::format("packets are lost, repeated or changed between tester and device ({}): {} "
                       "run{} failed at first and then passed. A device that loses packets itself "
                       "looks the same; the drop counters of both hosts and of the switch tell",
                       so_far_.wire.probes_text(), cleared, cleared == 1 ? "" : "s");
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

} // namespace veriroce::plan
