// A long test is split into parts, so that several cores share it and no part takes long under
// sanitizers: TEMPLATE_TEST_CASE_SIG gives each part its number.
#pragma once

#include <cstddef>
#include <ranges>
#include <vector>

namespace veriroce::test {

// Part `part` of `parts` takes every `parts`-th element, from that one on: together all of them.
template <std::ranges::random_access_range List>
auto part_of(const List& all, std::size_t part, std::size_t parts) {
    std::vector<std::ranges::range_value_t<List>> taken;
    for (std::size_t i = part; i < std::size(all); i += parts)
        taken.push_back(all[i]);
    return taken;
}

} // namespace veriroce::test
