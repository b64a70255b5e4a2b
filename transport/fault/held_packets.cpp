// Held packets, and what releases them: enough later packets, a particular packet, or time.
#include <algorithm>

#include "transport/fault/injector.hpp"

namespace veriroce::fault {

namespace {

void append(std::vector<Emission>& out, std::vector<Emission>&& emissions) {
    std::ranges::move(emissions, std::back_inserter(out));
}

} // namespace

// Packets that waited for this packet leave after it, in order of arrival.
void Injector::release_until(const Subject& subject, std::vector<Emission>& out) {
    std::vector<HeldPacket> released;
    for (auto one = held_.begin(); one != held_.end();) {
        if (one->until && selected(*one->until, one->until_state, subject)) {
            released.push_back(std::move(*one));
            one = held_.erase(one);
        } else {
            ++one;
        }
    }
    for (HeldPacket& one : released) {
        append(out, std::move(one.emissions));
        left(one.key, one.number, out);
    }
}

// The packet with this number has left. Reordered packets before it may have waited for that, and
// their leaving may release others.
void Injector::left(const FlowKey& key, std::uint64_t number, std::vector<Emission>& out) {
    for (std::size_t i = 0; i < held_.size();) {
        HeldPacket& one = held_[i];
        const bool overtaken = one.overtakers > 0 && one.key == key && one.number < number;
        if (!overtaken || --one.overtakers > 0) {
            ++i;
            continue;
        }
        HeldPacket released = std::move(one);
        held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
        append(out, std::move(released.emissions));
        left(released.key, released.number, out);
        i = 0;
    }
}

std::optional<wire::Instant> Injector::next_release() const {
    const auto first = std::ranges::min_element(held_, {}, &HeldPacket::latest);
    if (first == held_.end()) return std::nullopt;
    return first->latest;
}

std::vector<Emission> Injector::release(wire::Instant now) {
    std::vector<Emission> out;
    while (true) {
        const auto first = std::ranges::min_element(held_, {}, &HeldPacket::latest);
        if (first == held_.end() || first->latest > now) return out;
        HeldPacket released = std::move(*first);
        held_.erase(first);
        append(out, std::move(released.emissions));
        left(released.key, released.number, out);
    }
}

} // namespace veriroce::fault
