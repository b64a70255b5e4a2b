// A port: our engine behind a MAC address and IP addresses. Complete frames in, complete sealed
// frames out. Time comes only from `now`, so it works in virtual time and behind a real link.
//
//   nic.receive(frame, now);                     a frame arrived
//   nic.advance(nic.next_deadline().value());    a deadline has come
//   while (auto frame = nic.poll_frame(now)) link.send(*frame);
//
// Frames for other addresses and frames that wire::unseal rejects are dropped here and counted. An
// optional filter between frame and engine implements planted defects.
//
// Source: rules ENC-13, CRC-07, CA17-24; surface_filter.hpp.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "transport/engine/engine.hpp"
#include "transport/engine/surface_filter.hpp"

namespace veriroce::sim {

struct PortOptions {
    wire::MacAddress mac;
    std::vector<wire::IpAddress> addresses;
    std::uint16_t first_ip_id = 1; // incremented for each IPv4 frame, skipping zero
};

inline constexpr std::size_t kFrameErrors = static_cast<std::size_t>(wire::FrameError::BadIcrc) + 1;

struct PortCounters {
    std::uint64_t received = 0; // frames that reached the engine or its filter
    std::uint64_t sent = 0;
    std::array<std::uint64_t, kFrameErrors> refused{}; // by wire::FrameError
    std::uint64_t other_mac = 0;
    std::uint64_t other_address = 0; // ENC-13
    std::uint64_t unresolved = 0;    // frames to an address whose MAC is unknown
    std::uint64_t overflow = 0;      // datagrams and neighbours beyond the limits

    [[nodiscard]] std::uint64_t of(wire::FrameError error) const {
        return refused[static_cast<std::size_t>(error)];
    }
};

class Nic {
  public:
    // Limits: datagrams that a filter may hold in each direction; known neighbours.
    static constexpr std::size_t kMaxHeld = 65'536;
    static constexpr std::size_t kMaxNeighbours = 1'024;

    // The caller owns the engine and the filter; both must outlive the port.
    Nic(PortOptions options, engine::Engine& engine, engine::SurfaceFilter* filter = nullptr);

    // Sets the MAC for this address. Otherwise the port learns it from received frames.
    void neighbour(const wire::IpAddress& address, const wire::MacAddress& mac);

    void receive(wire::Bytes frame, wire::Instant now);
    // Runs everything that is due: the engine's timers, datagrams that were held.
    void advance(wire::Instant now);
    // The next frame to send, valid until the next call to the port or its engine.
    std::optional<wire::Bytes> poll_frame(wire::Instant now);
    // When advance() or poll_frame() has something to do without further input.
    [[nodiscard]] std::optional<wire::Instant> next_deadline() const;

    [[nodiscard]] const PortCounters& counters() const { return counters_; }
    [[nodiscard]] const PortOptions& options() const { return options_; }

  private:
    struct Held {
        wire::Instant due;
        engine::OwnedDatagram datagram;
    };
    struct Neighbour {
        wire::IpAddress address;
        wire::MacAddress mac;
    };

    [[nodiscard]] bool owns(const wire::IpAddress& address) const;
    void take(engine::OwnedDatagram datagram, wire::Instant now);
    void hold(std::deque<Held>& queue, engine::OwnedDatagram datagram, wire::Instant now);
    void filter_out(const engine::Transmit& packet, wire::Instant now);
    std::optional<wire::Bytes> seal(const wire::Envelope& envelope, wire::Bytes headers,
                                    wire::Bytes payload);

    PortOptions options_;
    engine::Engine& engine_;
    engine::SurfaceFilter* filter_;
    std::vector<Neighbour> neighbours_;
    std::deque<Held> inbound_;  // by time; equal times in order of arrival
    std::deque<Held> outbound_; // the same
    std::vector<engine::OwnedDatagram> in_;
    std::vector<engine::OwnedDatagram> out_;
    std::vector<std::byte> padded_;
    std::vector<std::byte> frame_;
    std::uint16_t next_ip_id_ = 1;
    PortCounters counters_;
};

} // namespace veriroce::sim
