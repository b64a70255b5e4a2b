// splitmix64 (public domain, Vigna): the one source of pseudo-random numbers. The same on every
// machine, unlike the distributions of <random>. Not for cryptography.
#pragma once

#include <cstdint>

namespace veriroce::wire {

// The generator's state advances by this much per number.
inline constexpr std::uint64_t kSplitmix64Step = 0x9E3779B97F4A7C15;

// The output for one state. Similar inputs give unrelated outputs.
constexpr std::uint64_t splitmix64_mix(std::uint64_t z) {
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EB;
    return z ^ (z >> 31U);
}

// Advances `state`, which begins as the seed, and returns the next number.
constexpr std::uint64_t splitmix64(std::uint64_t& state) {
    state += kSplitmix64Step;
    return splitmix64_mix(state);
}

} // namespace veriroce::wire
