#include "dissector/print/nearest_name.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace veriroce::print {
namespace {

// Letters to insert, delete or replace to make `b` of `a`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
        }
    }
    return row[b.size()];
}

constexpr std::size_t kLongestName = 64; // nobody mistypes a name into something longer

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
