// The bump in the wire without its wire: frames of two ports in, frames out, a fault plan between.
// It has no clock and no socket: whoever owns the ports gives the time and sends what leaves.
//
//   bump.handle(End::A, frame, now, out);  // out: what leaves now, in order
//   ... send everything in `out` ...
//   bump.sent();                           // the bytes that `out` points to may go
//   bump.advance(bump.next_deadline(), out)
//
// A frame that is not RoCEv2 leaves as it came, at once. Bytes of an untouched frame are the
// caller's.
//
// Errors: none; what does not fit the bounds is counted. Units: instants of one time line.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "transport/fault/injector.hpp"
#include "transport/inject/connections.hpp"
#include "transport/inject/delay_queue.hpp"
#include "transport/inject/recovery.hpp"

namespace veriroce::inject {

struct Leaving {
    End to = End::B; // the port
    wire::Bytes bytes;
};

// What happened to one frame that came in.
struct Handled {
    bool roce = false;
    Place place;
    std::span<const std::size_t> rules; // that acted on it; until the next call
    std::int64_t pass = 0;
    std::int64_t message = 0;
    std::int64_t packet = 0;
};

struct Traffic {
    std::uint64_t frames = 0;
    std::uint64_t bytes = 0;
    std::uint64_t roce = 0;
};

class Bump {
  public:
    // `rules` have passed fault::check. `settle`: see fault::Injector.
    Bump(std::uint64_t seed, std::vector<fault::Rule> rules,
         wire::Duration settle = std::chrono::milliseconds(10));

    Handled handle(End from, wire::Bytes bytes, wire::Instant now, std::vector<Leaving>& out);
    // When a delayed or held frame leaves; and those that leave by `now`.
    [[nodiscard]] std::optional<wire::Instant> next_deadline() const;
    void advance(wire::Instant now, std::vector<Leaving>& out);
    // What `out` pointed to has been sent.
    void sent() { leaving_.clear(); }

    [[nodiscard]] const fault::Injector& injector() const { return injector_; }
    [[nodiscard]] const Connections& connections() const { return connections_; }
    [[nodiscard]] const Recovery& recovery() const { return recovery_; }
    // What came in at a port.
    [[nodiscard]] const Traffic& traffic(End from) const { return from == End::A ? a_ : b_; }
    // When the first RoCEv2 packet came.
    [[nodiscard]] std::optional<wire::Instant> began() const { return began_; }
    // Frames that were dropped because too many were delayed.
    [[nodiscard]] std::uint64_t overflowed() const { return overflowed_; }

  private:
    void emit(fault::Emission emission, wire::Instant now, std::vector<Leaving>& out);
    void leave(End from, std::vector<std::byte> bytes, wire::Instant now,
               std::vector<Leaving>& out);

    fault::Injector injector_;
    Connections connections_;
    Recovery recovery_;
    DelayQueue delayed_;
    std::deque<std::vector<std::byte>> leaving_; // what `out` points to
    fault::Decision decision_;
    Traffic a_;
    Traffic b_;
    std::optional<wire::Instant> began_;
    std::uint64_t overflowed_ = 0;
};

} // namespace veriroce::inject
