// Ports connected by a link in virtual time. A frame from one port arrives at all others after a
// fixed delay; frames that arrive at the same instant keep the order of sending. Two ports form a
// cable, more form a hub.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dissector/wire/bytes.hpp"
#include "dissector/wire/instant.hpp"

namespace veriroce::sim {

inline constexpr wire::Duration kLinkDelay = std::chrono::microseconds(1);

class Network {
  public:
    // Frames in flight at the same time; further ones are dropped and counted.
    static constexpr std::size_t kMaxInFlight = 1U << 20;

    explicit Network(std::size_t ports, wire::Duration delay = kLinkDelay)
        : ports_(ports), delay_(delay) {}

    // `extra` is added to the link's delay for this frame.
    void send(std::size_t port, wire::Bytes frame, wire::Instant now,
              wire::Duration extra = wire::Duration{0});

    // When the next frame arrives.
    [[nodiscard]] std::optional<wire::Instant> next_event() const;

    struct Arrival {
        std::size_t port = 0;
        std::vector<std::byte> frame;
        wire::Instant at;
    };
    // The next frame that has arrived by `now`, if any.
    std::optional<Arrival> deliver(wire::Instant now);

    [[nodiscard]] std::size_t in_flight() const { return heap_.size(); }
    [[nodiscard]] std::uint64_t lost() const { return lost_; }

  private:
    struct Flight {
        Arrival arrival;
        std::uint64_t number = 0; // in order of sending
    };
    static bool later(const Flight& a, const Flight& b);

    std::size_t ports_;
    wire::Duration delay_;
    std::vector<Flight> heap_;
    std::uint64_t next_number_ = 0;
    std::uint64_t lost_ = 0;
};

} // namespace veriroce::sim
