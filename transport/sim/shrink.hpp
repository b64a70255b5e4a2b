// Shrinks a failing run: removes faults and work requests by delta debugging, then resets unusual
// options to their defaults, as long as the run still fails in the same way.
//
// The number of runs is bounded; the result is the smallest variant found, which is known to fail.
#pragma once

#include <string>

#include "transport/sim/swarm.hpp"

namespace veriroce::sim {

inline constexpr std::uint32_t kShrinkRuns = 2'000;

struct Shrunk {
    Scenario scenario;            // with the remaining work
    std::vector<Injected> faults; // exactly these
    Failure failure;
    std::uint32_t runs = 0; // runs played to get here
};

// `outcome` must be a failed run of `scenario`.
Shrunk shrink(const Scenario& scenario, const Outcome& outcome, const Defect& defect,
              std::uint32_t most_runs = kShrinkRuns);

// The scenario's work and faults, one per line.
std::string text_of(const Shrunk& shrunk);

} // namespace veriroce::sim
