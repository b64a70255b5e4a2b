// A device that sends some packets later than it could, in their order. Inside the room only.
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>
#include <vector>

#include "conformance/mutants/packets.hpp"

namespace veriroce::mutants {

// When a packet leaves, and from when on the next one to the same QP counts its delay.
struct Departure {
    wire::Instant at;
    wire::Instant next;
};

// What a device's port holds at most: a longer queue stops the QPs, which then send what an answer
// has made the next packet.
inline constexpr wire::Duration kLongestQueue = std::chrono::microseconds(500);

// `Rule` has `delays(packet)`, whether it is about such packets at all, and `departure(packet,
// earliest)`: the departure of one that could leave at `earliest`. With `kQueues` packets wait for
// each other, kLongestQueue at most.
template <typename Rule>
class SendsLater final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant now,
                  std::vector<engine::OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && rule_.delays(*packet)) {
            wire::Instant& free = free_[packet->bth.dest_qp];
            const wire::Instant earliest = std::max(free, now + datagram.delay);
            const Departure departure = rule_.departure(*packet, earliest);
            datagram.delay = departure.at - now;
            free = departure.next;
            if constexpr (requires { Rule::kQueues; }) free = std::min(free, now + kLongestQueue);
        }
        out.push_back(std::move(datagram));
    }

  private:
    Rule rule_;
    std::map<wire::Qpn, wire::Instant> free_; // by the peer's QP
};

} // namespace veriroce::mutants
