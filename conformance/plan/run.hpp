// A run of the suite: the plan's runs one after the other on a testbed, a sanity exchange behind
// each, and the results.
#pragma once

#include <optional>

#include "conformance/plan/ahead.hpp"
#include "conformance/plan/plan.hpp"
#include "conformance/plan/profile.hpp"
#include "conformance/plan/results.hpp"
#include "conformance/plan/run_player.hpp"
#include "conformance/testbed/testbed.hpp"

namespace veriroce::plan {

// Plays the plan run by run: the caller fetches a result at a time, prints it, and may stop.
class PlanRun {
  public:
    PlanRun(testbed::Testbed& testbed, const Plan& plan, const Selection& selection,
            RunOptions options);
    PlanRun(const PlanRun&) = delete;
    PlanRun& operator=(const PlanRun&) = delete;

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
    // How long the last run took; several may have been played at once.
    [[nodiscard]] wire::Duration took() const { return took_; }
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
    interpreter::CaseResult play(const PlannedRun& planned, std::optional<Played> ahead);
    [[nodiscard]] Played play_alone(std::size_t run) const;
    [[nodiscard]] std::string command_for(const PlannedRun& planned) const;

    testbed::Testbed& testbed_;
    const Plan& plan_;
    RunOptions options_;
    KnownDeviations known_;
    std::vector<std::string> notes_;
    RunPlayer player_;
    PlayedSoFar so_far_;
    std::size_t next_ = 0;
    wire::Duration took_{0};
    bool over_ = false;
    std::optional<std::string> dead_since_;
    std::size_t unanswered_tries_ = 0;   // since then, each before another case
    std::optional<Ahead<Played>> ahead_; // where each play stands alone
};

} // namespace veriroce::plan
