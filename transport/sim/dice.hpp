// Random numbers that are the same on every machine: splitmix64, and nothing of <random>, whose
// distributions differ between libraries. Not for secrets.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace veriroce::sim {

class Dice {
  public:
    explicit constexpr Dice(std::uint64_t seed) : state_(seed) {}

    constexpr std::uint64_t next() {
        state_ += 0x9E3779B97F4A7C15;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9;
        z = (z ^ (z >> 27U)) * 0x94D049BB133111EB;
        return z ^ (z >> 31U);
    }
    // 0 .. n-1, or 0 if n is 0. The modulo's bias does not matter for n far below 2^64.
    constexpr std::uint64_t below(std::uint64_t n) { return n == 0 ? 0 : next() % n; }
    constexpr bool one_in(std::uint64_t n) { return below(n) == 0; }
    template <typename T, std::size_t N>
    constexpr T pick(const std::array<T, N>& choices) {
        return choices[below(N)];
    }
    // Dice of their own for a part of the work, so that a change there moves nothing else.
    constexpr Dice part(std::uint64_t name) {
        Dice other(state_ ^ (name + 1) * 0xD1B54A32D192ED03);
        other.next();
        return other;
    }

  private:
    std::uint64_t state_;
};

} // namespace veriroce::sim
