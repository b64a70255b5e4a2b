// The command `veriroce bench sim`: many seeds of random work in virtual time (swarm.hpp).
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>

#include "transport/sim/swarm.hpp"

namespace veriroce::sim {

struct BenchOptions {
    std::uint64_t seeds = 1'000;
    std::optional<std::uint64_t> first; // the first seed, 1 if none is named
    bool shrink = false;                // make the first failure small and show it
};

// Plays the seeds and writes what they came to, and the first failure with the command that repeats
// it. Returns the exit code: 0 all is well, 1 a seed failed, 2 no seeds were asked for, 3 the
// output could not be written.
int bench(const BenchOptions& options, std::FILE* out, std::FILE* err, const Defect& defect = {});

} // namespace veriroce::sim
