// Random numbers that are the same on every machine: splitmix64 only, because the distributions of
// <random> differ between libraries. Not for cryptography.
#pragma once

#include <array>
#include <cstdint>

#include "dissector/wire/splitmix64.hpp"

namespace veriroce::sim {

class Random {
  public:
    explicit constexpr Random(std::uint64_t seed) : state_(seed) {}

    constexpr std::uint64_t next() { return wire::splitmix64(state_); }
    // 0 .. n-1, or 0 if n is 0. The bias of the modulo is negligible if n is far below 2^64.
    constexpr std::uint64_t below(std::uint64_t n) { return n == 0 ? 0 : next() % n; }
    constexpr bool one_in(std::uint64_t n) { return below(n) == 0; }
    template <typename T, std::size_t N>
    constexpr T pick(const std::array<T, N>& choices) {
        return choices[below(N)];
    }
    // An independent generator for one part of the work, so that changes there do not affect other
    // parts.
    constexpr Random part(std::uint64_t name) {
        Random other(state_ ^ (name + 1) * 0xD1B54A32D192ED03);
        other.next();
        return other;
    }

  private:
    std::uint64_t state_;
};

} // namespace veriroce::sim
