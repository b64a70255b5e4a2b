// Delta debugging: reduces a list that causes a failure (faults, work requests, lines of a script)
// to the items that the failure needs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace veriroce::fault {

// Removes runs of consecutive items while the rest still fails: half of the list at a time, then a
// quarter, down to single items. `items` must fail. `still_fails(const std::vector<T>&)` may always
// return false once a budget is used up.
template <typename T, typename StillFails>
std::vector<T> reduce_to_failure(std::vector<T> items, StillFails still_fails) {
    for (std::size_t piece = std::max<std::size_t>(1, items.size() / 2);; piece /= 2) {
        for (std::size_t at = 0; at < items.size();) {
            std::vector<T> rest = items;
            const auto begin = rest.begin() + static_cast<std::ptrdiff_t>(at);
            const std::size_t length = std::min(piece, rest.size() - at);
            rest.erase(begin, begin + static_cast<std::ptrdiff_t>(length));
            if (still_fails(rest)) {
                items = std::move(rest);
            } else {
                at += piece;
            }
        }
        if (piece <= 1) return items;
    }
}

} // namespace veriroce::fault
