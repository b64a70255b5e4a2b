#include "transport/sim/network.hpp"

#include <algorithm>

namespace veriroce::sim {

bool Network::later(const Flight& a, const Flight& b) {
    return a.arrival.at != b.arrival.at ? a.arrival.at > b.arrival.at : a.number > b.number;
}

void Network::send(std::size_t port, wire::Bytes frame, wire::Instant now, wire::Duration extra) {
    assert(port < ports_);
    for (std::size_t other = 0; other < ports_; ++other) {
        if (other == port) continue;
        if (heap_.size() == kMaxInFlight) {
            ++lost_;
            continue;
        }
        heap_.push_back({.arrival = {.port = other,
                                     .frame = {frame.begin(), frame.end()},
                                     .at = now + delay_ + extra},
                         .number = next_number_++});
        std::ranges::push_heap(heap_, later);
    }
}

std::optional<wire::Instant> Network::next_event() const {
    if (heap_.empty()) return std::nullopt;
    return heap_.front().arrival.at;
}

std::optional<Network::Arrival> Network::deliver(wire::Instant now) {
    if (heap_.empty() || heap_.front().arrival.at > now) return std::nullopt;
    std::ranges::pop_heap(heap_, later);
    Arrival arrival = std::move(heap_.back().arrival);
    heap_.pop_back();
    return arrival;
}

} // namespace veriroce::sim
