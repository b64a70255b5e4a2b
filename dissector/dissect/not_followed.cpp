#include "dissector/dissect/not_followed.hpp"

#include <algorithm>

namespace veriroce::dissect {

void NotFollowedCounts::count(const decode::NotFollowed& what) {
    ++total_;
    const auto known = std::ranges::find(counts_, what, [](const auto& one) { return one.first; });
    if (known != counts_.end()) {
        ++known->second;
    } else if (counts_.size() < kMostTypes) {
        counts_.emplace_back(what, 1);
    } else {
        ++others_;
    }
}

std::vector<NotFollowedCounts::Count> NotFollowedCounts::largest(std::size_t most) const {
    std::vector<Count> all;
    for (const auto& [what, frames] : counts_)
        all.push_back({what.text(), frames});
    if (others_ > 0) all.push_back({"other types", others_});
    std::ranges::stable_sort(all, std::ranges::greater(), &Count::frames);
    if (all.size() > most) all.resize(most);
    return all;
}

} // namespace veriroce::dissect
