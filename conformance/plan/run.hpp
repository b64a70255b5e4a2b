// A run of the suite: the plan's runs one after the other on a testbed, a sanity exchange behind
// each, and the results.
#pragma once

#include <optional>

#include "conformance/plan/plan.hpp"
#include "conformance/plan/play.hpp"
#include "conformance/plan/profile.hpp"
#include "conformance/plan/replay.hpp"
#include "conformance/plan/results.hpp"
#include "conformance/testbed/testbed.hpp"

namespace veriroce::plan {

struct RunOptions {
    std::uint64_t seed = 1;
    double timeout_scale = 1.0;
    bool fail_fast = false;
    std::optional<Profile> profile;
    interpreter::FaultPlan plan; // for every case, and no sanity exchange
    std::string today;           // 2026-11-21: some known deviations end
    std::string command; // the options that another run of one case needs, for `command` of results
};

// The tester's first QP number: apart for different seeds, so that a device's memory of an earlier
// run does not matter.
std::uint32_t first_qpn_of(std::uint64_t seed);

// The environment of a run that is played first, or alone: its axes, the round's seed, the profile.
interpreter::Environment environment_alone(const testbed::Testbed& testbed,
                                           const PlannedRun& planned, const RunOptions& options);

// Plays the plan run by run: the caller fetches a result at a time, prints it, and may stop.
class PlanRun {
  public:
    PlanRun(testbed::Testbed& testbed, const Plan& plan, const Selection& selection,
            RunOptions options);

    // The next result; nothing after the last, when the testbed is broken or the device dead, or
    // when a signal came (command_line::StopOnSignal): the case at hand then ends at once, and
    // counts as not played.
    std::optional<interpreter::CaseResult> next();
    // What the profile has to say beside the results, and what cannot be judged here: for the
    // report.
    [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
    // What passed only because the wire was to blame for a play that failed: for the report, at the
    // end. Nothing if there is no such run.
    [[nodiscard]] std::optional<std::string> wire_note() const;
    [[nodiscard]] std::size_t done() const { return next_; }
    // The id of the run that `next` plays.
    [[nodiscard]] std::optional<std::string> upcoming() const;

    // The id of the case behind which the device stopped to answer. Until it answers again no case
    // is played: each is an ERROR that names this one, and after five of them the run is over.
    [[nodiscard]] const std::optional<std::string>& dead_since() const { return dead_since_; }
    // The device was revived, and the testbed has found it: goes on with the next case.
    void revived();
    // The device died in this case: it had to be reset, or was away and came back. A FAIL, or the
    // XFAIL of a known deviation.
    void blame_for_death(interpreter::CaseResult& killer, std::string how);

  private:
    void tell_plan();
    interpreter::CaseResult result_of(const PlannedRun& planned);
    interpreter::CaseResult play(const PlannedRun& planned);
    // One play, and the sanity exchange after it.
    interpreter::CaseResult play_once(const PlannedRun& planned);
    // More plays of a case whose first one does not prove enough.
    interpreter::CaseResult play_again(const PlannedRun& planned, interpreter::CaseResult first);
    // Whether a known deviation excuses this result.
    [[nodiscard]] bool known(const PlannedRun& planned,
                             const interpreter::CaseResult& result) const;
    // Sees to it that something is known about the wire before a device is blamed.
    void probe_wire(const PlannedRun& planned);
    bool probe_with(const script::Script& probe, const PlannedRun& planned);
    [[nodiscard]] bool interrupted() const;
    // A small exchange on a fresh QP: whether the device still answers.
    interpreter::CaseResult sanity_exchange(const interpreter::Environment& environment);
    void judge_sanity(interpreter::CaseResult& result, const PlannedRun& planned,
                      const interpreter::Environment& environment);
    [[nodiscard]] bool answers_again(const PlannedRun& planned);
    [[nodiscard]] std::size_t sanity_tries() const;
    // Of the next play: with QPs of its own.
    [[nodiscard]] interpreter::Environment environment_for(const PlannedRun& planned);
    [[nodiscard]] std::string command_for(const PlannedRun& planned) const;

    testbed::Testbed& testbed_;
    const Plan& plan_;
    const Selection& selection_;
    RunOptions options_;
    KnownDeviations known_;
    std::vector<std::string> notes_;
    script::Script sanity_;
    std::vector<script::Script> probes_;
    WireRecord wire_;
    std::size_t cleared_ = 0; // runs that passed after a play that the wire spoiled
    std::size_t next_ = 0;
    TesterQpns qpns_;
    std::uint64_t plays_of_run_ = 0; // of the run at hand, sanity exchanges included
    bool over_ = false;
    bool has_answered_ = false; // a sanity exchange of this run
    std::optional<std::string> dead_since_;
    std::size_t unanswered_tries_ = 0; // since then, each before another case
};

} // namespace veriroce::plan
