// What congestion control and flow control did: PFC frames and how long they stop a class, CE
// marks, CNPs, and how a sender's rate changes after one.
//
//   a class, a pause      as in transport/fault/pfc.hpp
//   in a pause            more than kPauseGrace after its begin: what was on the way has come
//   CNP reaction          the sender's bytes in kCnpWindow after an episode's first CNP, over those
//                         in the kCnpWindow before it. An episode begins kCnpWindow after the last
//
// Units: instants of the caller's time line.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "dissector/wire/frame.hpp"
#include "transport/fault/pfc.hpp"
#include "transport/inject/connections.hpp"

namespace veriroce::inject {

using fault::kClasses;
inline constexpr wire::Duration kPauseGrace = std::chrono::microseconds(100);
inline constexpr wire::Duration kCnpWindow = std::chrono::milliseconds(5);
inline constexpr std::size_t kMaxReactions = 4'096;

class Fabric {
  public:
    struct Pauses { // of one class, asked for by one end
        std::uint64_t frames = 0;
        wire::Duration time{0};
        std::uint64_t packets = 0;       // of the class that came in the pauses all the same
        std::uint64_t other_packets = 0; // of other classes in the pauses
    };
    struct Signals { // from one end
        std::array<Pauses, kClasses> pauses;
        std::uint64_t ce = 0; // packets that came marked
        std::uint64_t cnps = 0;
        std::uint64_t marked = 0;      // by the bump's virtual queue
        std::uint64_t not_capable = 0; // it would have marked, but they have no ECT bit
    };

    void set_speed(double bits_per_second) { bits_per_second_ = bits_per_second; }
    // A frame that is not RoCEv2 and leaves at once; a packet that came.
    void arrived_other(End from, wire::Bytes frame, wire::Instant now);
    void arrived(const Place& place, const wire::Frame& frame, End from, wire::Instant now);
    // The bump sends a PFC frame to `to`, as if the other end asked for it.
    void paused(End to, std::uint8_t priority, std::uint16_t quanta, wire::Instant now);
    void marked(End from, bool capable) {
        watches_ = true;
        ++(capable ? of(from).marked : of(from).not_capable);
    }

    [[nodiscard]] const Signals& signals(End from) const {
        return signals_[from == End::A ? 0 : 1];
    }
    // Rate after over rate before, of each episode that is over; the CNPs came from that end.
    [[nodiscard]] const std::vector<double>& reactions(End from) const {
        return reactions_[from == End::A ? 0 : 1];
    }
    [[nodiscard]] bool empty() const;

  private:
    struct Sender {                                               // of one connection and direction
        std::deque<std::pair<wire::Instant, std::uint32_t>> sent; // the last kCnpWindow
        std::uint64_t bytes = 0;
        std::optional<wire::Instant> episode; // it began
        std::uint64_t before = 0;
        std::uint64_t after = 0;
    };
    Signals& of(End from) { return signals_[from == End::A ? 0 : 1]; }
    void count_in_pauses(End from, std::uint8_t priority, wire::Instant now);
    void advance(Sender& sender, End cnps_from, wire::Instant now);

    double bits_per_second_ = 10e9;
    bool watches_ = false;
    std::array<Signals, 2> signals_; // by the end that they came from
    struct Span {
        wire::Instant began;
        wire::Instant until;
    };
    std::array<std::array<Span, kClasses>, 2> spans_{}; // by the end that asked
    std::array<std::vector<double>, 2> reactions_;
    std::unordered_map<std::uint64_t, Sender> senders_; // by connection and direction
};

// "class 3: 120 PFC frames, ..."; empty if there was nothing.
std::string fabric_text(const Fabric& fabric);

} // namespace veriroce::inject
