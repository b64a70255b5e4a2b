// A long test is split into parts, so that several cores share it and no part takes long:
// TEMPLATE_TEST_CASE_SIG gives each part its number.
#pragma once

#include <cstddef>
#include <ranges>
#include <vector>

namespace veriroce::test {

// Sanitizers make a test several times as long, and look for mistakes of memory, of which any
// element of a table shows as many as the next: with them a sweep takes one step of 31.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(address_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif
inline constexpr std::size_t kSweepStep = kSanitized ? 31 : 1;

// Part `part` of `parts` takes every `parts`-th element, from that one on: together all of them.
template <std::ranges::random_access_range List>
auto part_of(const List& all, std::size_t part, std::size_t parts) {
    std::vector<std::ranges::range_value_t<List>> taken;
    for (std::size_t i = part; i < std::size(all); i += parts)
        taken.push_back(all[i]);
    return taken;
}

// As part_of; with sanitizers a sample of it.
template <std::ranges::random_access_range List>
auto sweep_of(const List& all, std::size_t part, std::size_t parts) {
    return part_of(all, part, parts * kSweepStep);
}

} // namespace veriroce::test
