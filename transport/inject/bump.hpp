// The bump in the wire without its wire: frames of two ports in, frames out, a fault plan between.
// It has no clock and no socket: whoever owns the ports gives the time and sends what leaves.
//
//   bump.handle(End::A, frame, now, out);  // out: what leaves now, in order
//   ... send everything in `out` ...
//   bump.sent();                           // the bytes that `out` points to may go
//   bump.advance(bump.next_deadline(), out)
//
// A frame that is neither RoCEv2 nor PFC leaves as it came, at once. Bytes of an untouched frame
// are the caller's.
//
// Errors: none; what does not fit the bounds is counted. Units: instants of one time line.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "transport/fault/injector.hpp"
#include "transport/inject/congestion.hpp"
#include "transport/inject/connections.hpp"
#include "transport/inject/delay_queue.hpp"
#include "transport/inject/fabric.hpp"
#include "transport/inject/recovery.hpp"

namespace veriroce::inject {

struct Leaving {
    End to = End::B; // the port
    wire::Bytes bytes;
};

// What happened to one frame that came in.
struct Handled {
    bool roce = false;
    bool pfc = false;    // a PFC frame on which a rule acted
    bool marked = false; // by the virtual queue
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

    // Before the first packet.
    void add_red(const RedOptions& options) {
        red_[options.from == End::A ? 0 : 1].emplace(options, seed_);
    }
    void set_storm(const StormOptions& options) { storm_ = options; }
    void set_link_speed(double bits_per_second) {
        fabric_.set_speed(bits_per_second);
        injector_.set_link_speed(bits_per_second);
    }
    // Whether a rule selects PFC frames, or asks whether a class is stopped.
    [[nodiscard]] bool follows_pfc() const;
    // Whether it must see every packet, whatever the rules say.
    [[nodiscard]] bool concerns_all() const { return red_[0] || red_[1]; }

    Handled handle(End from, wire::Bytes bytes, wire::Instant now, std::vector<Leaving>& out);
    // When a delayed or held frame leaves; and those that leave by `now`.
    [[nodiscard]] std::optional<wire::Instant> next_deadline() const;
    void advance(wire::Instant now, std::vector<Leaving>& out);
    // What `out` pointed to has been sent.
    void sent() { leaving_.clear(); }

    [[nodiscard]] const fault::Injector& injector() const { return injector_; }
    // What the kernel did by a rule of the plan.
    void count_elsewhere(std::size_t rule, const fault::Fired& more) {
        injector_.count_elsewhere(rule, more);
    }
    [[nodiscard]] const Connections& connections() const { return connections_; }
    [[nodiscard]] const Recovery& recovery() const { return recovery_; }
    [[nodiscard]] const Fabric& fabric() const { return fabric_; }
    // What came in at a port.
    [[nodiscard]] const Traffic& traffic(End from) const { return from == End::A ? a_ : b_; }
    // When the first RoCEv2 packet came.
    [[nodiscard]] std::optional<wire::Instant> began() const { return began_; }
    // Frames that were dropped because too many were delayed.
    [[nodiscard]] std::uint64_t overflowed() const { return overflowed_; }

  private:
    Handled handle_other(End from, wire::Bytes bytes, wire::Instant now, std::vector<Leaving>& out);
    void emit(fault::Emission emission, wire::Instant now, std::vector<Leaving>& out);
    void leave(End from, std::vector<std::byte> bytes, wire::Instant now,
               std::vector<Leaving>& out);

    [[nodiscard]] bool marks(End from, const wire::Frame& frame, wire::Instant now);
    [[nodiscard]] std::optional<wire::Instant> next_pause() const;
    void storm(wire::Instant now, std::vector<Leaving>& out);

    std::uint64_t seed_;
    fault::Injector injector_;
    Connections connections_;
    Recovery recovery_;
    Fabric fabric_;
    std::array<std::optional<VirtualQueue>, 2> red_; // by the end that the packets come from
    std::optional<StormOptions> storm_;
    wire::Instant paused_;                 // when the storm sent its last frame
    std::array<wire::MacAddress, 2> macs_; // of the last sender of RoCEv2 behind each port
    DelayQueue delayed_;
    std::deque<std::vector<std::byte>> leaving_; // what `out` points to
    fault::Decision decision_;
    Traffic a_;
    Traffic b_;
    std::optional<wire::Instant> began_;
    std::uint64_t overflowed_ = 0;
};

} // namespace veriroce::inject
