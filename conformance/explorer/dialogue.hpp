// A dialogue of a seed: a script of the test language that mostly does not say
// what it expects. The same seed gives the same text on every machine.
#pragma once

#include <cstdint>
#include <string>

#include "conformance/explorer/reach.hpp"

namespace veriroce::explorer {

struct Dialogue {
    std::uint64_t seed = 0;
    std::string text;
};

// It is played over one of them, where the device has both.
[[nodiscard]] constexpr int ip_version_of(std::uint64_t seed) {
    return seed % 4 == 3 ? 6 : 4;
}

Dialogue dialogue_of(std::uint64_t seed, const Reach& reach);

} // namespace veriroce::explorer
