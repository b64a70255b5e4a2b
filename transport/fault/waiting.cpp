// Packets that are held back, and what lets them go: enough later ones, a packet that was waited
// for, or the time.
#include <algorithm>

#include "transport/fault/injector.hpp"

namespace veriroce::fault {

namespace {

void append(std::vector<Emission>& out, std::vector<Emission>&& emissions) {
    std::ranges::move(emissions, std::back_inserter(out));
}

} // namespace

// Whoever waits for this packet leaves behind it, in order of coming.
void Injector::release_until(const Subject& subject, std::vector<Emission>& out) {
    std::vector<Waiting> released;
    for (auto one = waiting_.begin(); one != waiting_.end();) {
        if (one->until && selected(*one->until, one->until_state, subject)) {
            released.push_back(std::move(*one));
            one = waiting_.erase(one);
        } else {
            ++one;
        }
    }
    for (Waiting& one : released) {
        append(out, std::move(one.emissions));
        left(one.key, one.number, out);
    }
}

// The packet with this number has left: reordered ones that came before it may have been waiting
// for that, and their leaving may be what others wait for.
void Injector::left(const FlowKey& key, std::uint64_t number, std::vector<Emission>& out) {
    for (std::size_t i = 0; i < waiting_.size();) {
        Waiting& one = waiting_[i];
        const bool overtaken = one.overtakers > 0 && one.key == key && one.number < number;
        if (!overtaken || --one.overtakers > 0) {
            ++i;
            continue;
        }
        Waiting released = std::move(one);
        waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
        append(out, std::move(released.emissions));
        left(released.key, released.number, out);
        i = 0;
    }
}

std::optional<wire::Instant> Injector::next_release() const {
    const auto first = std::ranges::min_element(waiting_, {}, &Waiting::latest);
    if (first == waiting_.end()) return std::nullopt;
    return first->latest;
}

std::vector<Emission> Injector::release(wire::Instant now) {
    std::vector<Emission> out;
    while (true) {
        const auto first = std::ranges::min_element(waiting_, {}, &Waiting::latest);
        if (first == waiting_.end() || first->latest > now) return out;
        Waiting released = std::move(*first);
        waiting_.erase(first);
        append(out, std::move(released.emissions));
        left(released.key, released.number, out);
    }
}

} // namespace veriroce::fault
