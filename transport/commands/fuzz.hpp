// The command `veriroce fuzz`: random work of built-in engines in virtual time, under faults,
// compared with a reference model (transport/sim/swarm.hpp).
#pragma once

#include <cstdint>
#include <cstdio>

#include "dissector/command_line/command.hpp"
#include "transport/sim/swarm.hpp"

namespace veriroce::commands {

struct FuzzOptions {
    std::uint64_t seeds = 1'000;
    std::uint64_t first = 1; // seed
    bool shrink = false;     // shrink the first failure and print it
};

void add_fuzz(command_line::Command program);

// Plays the seeds. Prints their sums, and the first failure with the command that repeats it.
// Returns the exit code: kExitFound a seed failed, kExitUsage no seeds, kExitUnable the output
// cannot be written, kExitInterrupted a signal came: the sums are those of the seeds until then.
int run_fuzz(const FuzzOptions& options, std::FILE* out, std::FILE* err,
             const sim::Defect& defect = {});

} // namespace veriroce::commands
