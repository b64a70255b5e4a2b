// The word that a mistyped one probably means: "unknown rule RSP-99, did you mean RSP-09?", and the
// same for fields, opcodes, options and commands. Works on any range of words.
//
// The distance of two words is the number of letters to insert, delete, replace or swap with a
// neighbour (optimal string alignment). Upper and lower case of ASCII letters count as equal.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <optional>
#include <ranges>
#include <string_view>
#include <type_traits>

namespace veriroce::wire {

// Longer words are not typing errors; the bound keeps the rows on the stack.
inline constexpr std::size_t kLongestWord = 64;

constexpr char lower_case(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Both words have at most longest_word letters.
constexpr std::size_t edit_distance(std::string_view from, std::string_view to) {
    assert(from.size() <= kLongestWord && to.size() <= kLongestWord);
    using Row = std::array<std::size_t, kLongestWord + 1>;
    const auto same = [&](std::size_t i, std::size_t j) {
        return lower_case(from[i - 1]) == lower_case(to[j - 1]);
    };
    Row before_last{};
    Row last{};
    for (std::size_t j = 0; j <= to.size(); ++j)
        last[j] = j;
    for (std::size_t i = 1; i <= from.size(); ++i) {
        Row row{};
        row[0] = i;
        for (std::size_t j = 1; j <= to.size(); ++j) {
            const std::size_t replaced = last[j - 1] + (same(i, j) ? 0U : 1U);
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
            if (i > 1 && j > 1 && same(i, j - 1) && same(i - 1, j)) {
                row[j] = std::min(row[j], before_last[j - 2] + 1);
            }
        }
        before_last = last;
        last = row;
    }
    return last[to.size()];
}

// A range whose words outlive the call: views, or references to strings.
template <typename Range>
concept WordRange =
    std::ranges::input_range<Range> &&
    std::convertible_to<std::ranges::range_reference_t<Range>, std::string_view> &&
    (std::is_lvalue_reference_v<std::ranges::range_reference_t<Range>> ||
     std::same_as<std::remove_cvref_t<std::ranges::range_reference_t<Range>>, std::string_view>);

// The candidate with the least distance, the first of several. Nothing if more than half of the
// letters would have to change; one letter may always change. The view points into the candidate.
template <typename Range>
    requires WordRange<const Range&>
constexpr std::optional<std::string_view> nearest_word(std::string_view word,
                                                       const Range& candidates) {
    if (word.empty() || word.size() > kLongestWord) return std::nullopt;
    std::size_t least = std::max<std::size_t>(1, word.size() / 2) + 1;
    std::optional<std::string_view> nearest;
    for (const std::string_view text : candidates) {
        if (text.size() > kLongestWord) continue;
        const std::size_t distance = edit_distance(word, text);
        if (distance >= least) continue;
        least = distance;
        nearest = text;
    }
    return nearest;
}

} // namespace veriroce::wire
