#include "dissector/print/nearest_name.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace veriroce::print {
namespace {

// The number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> two_up(b.size() + 1);
    std::vector<std::size_t> up(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(up.begin(), up.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = up[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({up[j] + 1, row[j - 1] + 1, replaced});
            const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) row[j] = std::min(row[j], two_up[j - 2] + 1);
        }
        std::swap(two_up, up);
        std::swap(up, row);
    }
    return up[b.size()];
}

constexpr std::size_t kLongestName = 64; // no typing error makes a name longer than this

} // namespace

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> names) {
    if (name.size() > kLongestName) return {};
    std::string_view best;
    std::size_t least = std::max<std::size_t>(2, name.size() / 3) + 1;
    for (const std::string_view candidate : names) {
        const std::size_t distance = edit_distance(name, candidate);
        if (distance >= least) continue;
        least = distance;
        best = candidate;
    }
    return best;
}

} // namespace veriroce::print
