// Plays one run of a plan as often as it takes: the case, behind it an exchange that shows whether
// the device still answers, and both again where a wire may be to blame.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conformance/plan/plan.hpp"
#include "conformance/plan/play.hpp"
#include "conformance/plan/profile.hpp"
#include "conformance/plan/replay.hpp"
#include "conformance/plan/wire_probe.hpp"
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
    unsigned threads = 1; // that play runs at once, where each play stands alone
};

// The tester's first QP number: apart for different seeds, so that a device's memory of an earlier
// run does not matter.
std::uint32_t first_qpn_of(std::uint64_t seed);

// The environment of a run that is played first, or alone: its axes, the round's seed, the profile.
interpreter::Environment environment_alone(const testbed::Testbed& testbed,
                                           const PlannedRun& planned, const RunOptions& options);

// Whether the device answered the exchange behind a run.
enum class Exchange : std::uint8_t { NotHeld, Answered, Unanswered };

struct Played {
    interpreter::CaseResult result; // without what the plan says of its case
    Exchange exchange = Exchange::NotHeld;
    wire::Duration took{0}; // of the machine's time
};

// What the plays of earlier runs leave to later ones.
struct PlayedSoFar {
    TesterQpns qpns;
    WireRecord wire;
    std::size_t cleared = 0;        // runs that passed after a play that the wire spoiled
    bool has_answered = false;      // an exchange
    bool has_been_asked = false;    // at least one run was played to its end
    std::uint64_t plays_of_run = 0; // of the run at hand, exchanges included
};

// A device that never answered is wrong, not dead: the cases say more about it.
bool died(const Played& played, const PlayedSoFar& so_far);

// Many threads may use one at the same time, each with its own PlayedSoFar, where the testbed's
// plays stand alone.
class RunPlayer {
  public:
    // All of them outlive the player.
    RunPlayer(testbed::Testbed& testbed, const Plan& plan, const Selection& selection,
              const RunOptions& options, const KnownDeviations& known);

    [[nodiscard]] Played play(const PlannedRun& planned, PlayedSoFar& so_far) const;
    // The exchange alone: whether a device answers again.
    [[nodiscard]] bool answers(const PlannedRun& planned, PlayedSoFar& so_far) const;

  private:
    // One play, and the exchange after it.
    Played play_once(const PlannedRun& planned, PlayedSoFar& so_far) const;
    // More plays of a case whose first one does not prove enough.
    Played play_again(const PlannedRun& planned, Played first, PlayedSoFar& so_far) const;
    // Whether a known deviation excuses this result.
    [[nodiscard]] bool known(const PlannedRun& planned,
                             const interpreter::CaseResult& result) const;
    [[nodiscard]] bool interrupted() const;
    interpreter::CaseResult sanity_exchange(const interpreter::Environment& environment) const;
    void judge_sanity(Played& played, const PlannedRun& planned,
                      const interpreter::Environment& environment, PlayedSoFar& so_far) const;
    [[nodiscard]] std::size_t sanity_tries(const PlayedSoFar& so_far) const;
    // Of the next play: with QPs of its own.
    [[nodiscard]] interpreter::Environment environment_for(const PlannedRun& planned,
                                                           PlayedSoFar& so_far) const;

    testbed::Testbed& testbed_;
    const Plan& plan_;
    const Selection& selection_;
    const RunOptions& options_;
    const KnownDeviations& known_;
    script::Script sanity_;
    WireProbe probe_;
};

} // namespace veriroce::plan
