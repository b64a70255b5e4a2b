#include "dissector/dissect/not_followed.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace veriroce::dissect {
namespace {

constexpr std::size_t kListed = 4; // types on one line

} // namespace

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

void NotFollowedCounts::append(std::string& out) const {
    if (total_ == 0) return;
    const auto to = std::back_inserter(out);
    fmt::format_to(to, "{} frame{} not followed:", total_, total_ == 1 ? "" : "s");
    const char* before = " ";
    for (const Count& one : largest(kListed)) {
        fmt::format_to(to, "{}{} {}", before, one.text, one.frames);
        before = ", ";
    }
    if (types() > kListed) fmt::format_to(to, ", and {} more types", types() - kListed);
    out += '\n';
}

std::vector<NotFollowedCounts::Count> NotFollowedCounts::largest(std::size_t most) const {
    std::vector<Count> all;
    for (const auto& [what, frames] : counts_)
        all.push_back({what.text(), frames});
    if (others_ > 0) all.push_back({"other types", others_});
    std::ranges::sort(all, [](const Count& a, const Count& b) {
        return a.frames != b.frames ? a.frames > b.frames : a.text < b.text;
    });
    if (all.size() > most) all.resize(most);
    return all;
}

} // namespace veriroce::dissect
