// Makes a failing run small: leaves out faults and work requests (delta debugging), and then what
// is left of the scenario's oddities, as long as the run still fails in the same way.
//
// The number of runs is bounded; what is reached by then is given back, and it fails for certain.
#pragma once

#include <string>

#include "transport/sim/swarm.hpp"

namespace veriroce::sim {

inline constexpr std::uint32_t kShrinkRuns = 2'000;

struct Shrunk {
    Scenario scenario;            // with the work that is left
    std::vector<Injected> faults; // and no others
    Failure failure;
    std::uint32_t runs = 0; // that were played for it
};

// `outcome` is a failed run of `scenario`.
Shrunk shrink(const Scenario& scenario, const Outcome& outcome, const Defect& defect,
              std::uint32_t most_runs = kShrinkRuns);

// The scenario's work and the faults, a line each.
std::string text_of(const Shrunk& shrunk);

} // namespace veriroce::sim
