// PFC frames (priority flow control), and which classes they stop at a moment.
//
//   a class of a packet   the priority of its VLAN tag, or the three upper bits of its DSCP
//   a pause               from a PFC frame until its quanta are over, at the speed of the link;
//                         a later frame for the class replaces what is left of it, 0 ends it
//
// Units: a quantum is the time of 512 bits.
// Source: IEEE 802.1Qbb; IEEE 802.3, annex 31D.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "transport/fault/rule.hpp"

namespace veriroce::fault {

inline constexpr std::size_t kClasses = 8;
inline constexpr std::size_t kMaxChanges = 4'096; // of PauseClock, in the future

struct PfcFrame {
    std::uint8_t enabled = 0; // a bit for each class that the frame is about
    std::array<std::uint16_t, kClasses> quanta{};

    [[nodiscard]] bool about(std::size_t priority) const { return (enabled >> priority & 1U) != 0; }
};

// Empty if the frame is not PFC.
std::optional<PfcFrame> pfc_of(wire::Bytes frame);

std::uint8_t class_of(const wire::Envelope& envelope);

wire::Duration pause_time(std::uint16_t quanta, double bits_per_second);

// Which classes each end has been told to stop. Instants that are passed in never go back.
class PauseClock {
  public:
    void set_speed(double bits_per_second) { bits_per_second_ = bits_per_second; }
    // A frame reaches `end` at this instant, which may be in the future.
    void tell(End end, const PfcFrame& frame, wire::Instant at);
    // Whether `end` must not send now in one of these classes.
    bool paused(End end, const Range& classes, wire::Instant now);

  private:
    struct Change {
        End end = End::A;
        PfcFrame frame;
    };
    void apply(const Change& change, wire::Instant at);

    double bits_per_second_ = 10e9;
    std::multimap<wire::Instant, Change> later_;
    std::array<std::array<wire::Instant, kClasses>, 2> until_{}; // by the end that is stopped
};

} // namespace veriroce::fault
