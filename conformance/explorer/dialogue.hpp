// A dialogue: a script of the test language that mostly does not say what it expects. The same
// origin gives the same text on every machine.
#pragma once

#include <cstdint>
#include <string>

#include "conformance/explorer/origin.hpp"
#include "conformance/explorer/reach.hpp"

namespace veriroce::explorer {

struct Dialogue {
    std::uint64_t seed = 0; // of its play
    Origin origin;
    std::uint64_t begin = 0; // draws before its first line
    std::uint64_t draws = 0; // in all
    std::string text;
};

// It is played over one of them, where the device has both.
[[nodiscard]] constexpr int ip_version_of(std::uint64_t seed) {
    return seed % 4 == 3 ? 6 : 4;
}

// Origin and seed are for the same IP version.
Dialogue dialogue_of(const Origin& origin, std::uint64_t seed, const Reach& reach);
inline Dialogue dialogue_of(std::uint64_t seed, const Reach& reach) {
    return dialogue_of({.seed = seed}, seed, reach);
}

} // namespace veriroce::explorer
