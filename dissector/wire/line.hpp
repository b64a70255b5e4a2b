// How long a frame keeps the line busy. Source: IEEE 802.3.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dissector/wire/instant.hpp"

namespace veriroce::wire {

// `bytes` without the frame check sequence; at least 1 bit/s.
constexpr Duration time_on_line(std::size_t bytes, std::uint64_t bits_per_second) {
    constexpr std::size_t shortest = 60;
    constexpr std::size_t around = 24; // preamble, frame check sequence, gap
    constexpr std::uint64_t ns_per_s = 1'000'000'000;
    const std::uint64_t bits = (std::max(bytes, shortest) + around) * 8;
    return Duration(static_cast<Duration::rep>(bits * ns_per_s / bits_per_second));
}

} // namespace veriroce::wire
