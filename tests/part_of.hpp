// A long test is split into parts, so that several cores share it and no part takes long:
// TEMPLATE_TEST_CASE_SIG gives each part its number.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <ranges>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace veriroce::test {

// Sanitizers make a test several times as long, and look for mistakes of memory, of which any
// element of a table shows as many as the next: with them a sweep takes one step of seventeen.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(address_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif
inline constexpr std::size_t kSweepStep = kSanitized ? 17 : 1;

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

// Of the longest sweeps SWEEP_SHARE=I/N plays part I of N; all of them without. With sanitizers
// they are samples already.
struct Share {
    std::size_t index = 1;
    std::size_t of = 1;
};
inline Share sweep_share() {
    const char* text = std::getenv("SWEEP_SHARE");
    Share share;
    if (text == nullptr || kSanitized) return share;
    const std::string_view word = text;
    const char* const end = word.data() + word.size();
    const auto [slash, first] = std::from_chars(word.data(), end, share.index);
    const bool two = first == std::errc() && slash != end && *slash == '/';
    const auto [rest, second] = std::from_chars(two ? slash + 1 : end, end, share.of);
    if (!two || second != std::errc() || rest != end || share.index < 1 || share.index > share.of)
        throw std::runtime_error("SWEEP_SHARE: expected I/N, got '" + std::string(word) + "'");
    return share;
}

// As sweep_of; of a long sweep the part that SWEEP_SHARE tells.
template <std::ranges::random_access_range List>
auto shared_sweep_of(const List& all, std::size_t part, std::size_t parts) {
    const Share share = sweep_share();
    return part_of(all, part + parts * (share.index - 1), parts * kSweepStep * share.of);
}

} // namespace veriroce::test
