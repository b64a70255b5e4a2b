#include "conformance/explorer/corpus.hpp"

#include <algorithm>

#include "transport/sim/random.hpp"

namespace veriroce::explorer {
namespace {

constexpr std::uint64_t kFresh = 50; // percent that begin like no other
constexpr std::size_t kMostEntries = std::size_t{1} << 16;
constexpr std::uint64_t kApart = 0x636F'7270'7573'0000; // from the dialogue's own draws

} // namespace

Origin Corpus::origin_of(std::uint64_t number, std::uint64_t seed) const {
    sim::Random random(seed ^ kApart);
    const std::uint64_t batch = number / batch_;
    if (batch < 2 || random.below(100) < kFresh) return {.seed = seed};
    const std::scoped_lock lock(mutex_);
    const Entries& entries = entries_[part_of(seed)];
    const std::size_t count = entries.counts[batch - 1];
    if (count == 0) return {.seed = seed};
    // The later ones found what is rarer.
    const std::size_t chosen = std::max(random.below(count), random.below(count));
    const Entry& start = entries.all[chosen];
    const std::uint64_t turn = start.begin + random.below(start.draws - start.begin);
    Origin origin = start.origin;
    std::erase_if(origin.turns, [&](const Turn& one) { return one.draws >= turn; });
    origin.turns.push_back({.draws = turn, .seed = random.next()});
    return origin;
}

void Corpus::add(const Dialogue& dialogue, std::span<const std::uint32_t> states) {
    const std::size_t before = states_.size();
    states_.insert(states.begin(), states.end());
    const bool fresh = states_.size() > before;
    const std::scoped_lock lock(mutex_);
    if (added_ % batch_ == 0) {
        for (Entries& one : entries_)
            one.counts.push_back(one.all.size());
    }
    ++added_;
    Entries& entries = entries_[part_of(dialogue.seed)];
    if (!fresh || dialogue.draws <= dialogue.begin || entries.all.size() == kMostEntries) return;
    entries.all.push_back(
        {.origin = dialogue.origin, .begin = dialogue.begin, .draws = dialogue.draws});
}

std::size_t Corpus::size() const {
    const std::scoped_lock lock(mutex_);
    return entries_[0].all.size() + entries_[1].all.size();
}

} // namespace veriroce::explorer
