// The random numbers that a dialogue is made of: those of a seed, up to a draw from which those of
// another seed follow. Two dialogues that share their first draws begin alike.
#pragma once

#include <cstdint>
#include <vector>

namespace veriroce::explorer {

struct Turn {
    std::uint64_t draws = 0; // before it
    std::uint64_t seed = 0;
};

struct Origin {
    std::uint64_t seed = 0;
    std::vector<Turn> turns = {}; // in the order of their draws
};

} // namespace veriroce::explorer
