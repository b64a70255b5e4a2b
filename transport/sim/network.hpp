// Ports joined by a link in virtual time. A frame that one port sends arrives at all others a fixed
// time later; what arrives at the same instant arrives in the order in which it was sent. Two ports
// are a cable, more are a hub.
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
    // Frames on their way at the same time; more are lost, and counted.
    static constexpr std::size_t kMaxInFlight = 1U << 20;

    explicit Network(std::size_t ports, wire::Duration delay = kLinkDelay)
        : ports_(ports), delay_(delay) {}

    // `extra` makes this frame later than the link's delay alone.
    void send(std::size_t port, wire::Bytes frame, wire::Instant now,
              wire::Duration extra = wire::Duration{0});

    // When the next frame arrives.
    [[nodiscard]] std::optional<wire::Instant> next_event() const;

    struct Arrival {
        std::size_t port = 0;
        std::vector<std::byte> frame;
        wire::Instant at;
    };
    // The next frame that has arrived by now; nothing if there is none.
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
