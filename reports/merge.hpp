// Several runs as one: the shards of a plan, and repetitions of the same runs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "conformance/plan/results.hpp"

namespace veriroce::reports {

struct Part {
    std::string name; // what the user calls it: the folder
    plan::RunResults results;
};

struct Merged {
    plan::RunResults results;
    // Of each of its cases the part that its verdict, packets and command are of.
    std::vector<std::size_t> from;
    // What the parts do not agree on, as sentences: their device, link, profile, seed. They are
    // notes of the results too.
    std::vector<std::string> conflicts;
};

// Runs with one id are repetitions: the gravest verdict counts (gravity() of saved_run.hpp, the
// first of several), and the others are its other plays; measures and counts are joined. Shards in
// their order give the order of the plan, and the runs of a group stay together. There must be at
// least one part.
Merged merge(std::vector<Part> parts);

} // namespace veriroce::reports
