// The time line of everything live: the kernel's CLOCK_MONOTONIC in ns as wire::Instant. Packet
// stamps of the kernel (CLOCK_REALTIME) are moved onto it by KernelClock.
#pragma once

#include "dissector/wire/instant.hpp"

namespace veriroce::net {

wire::Instant monotonic_now();

// An instant that never comes, for waits without a deadline.
inline constexpr wire::Instant kNever = wire::Instant::max();

// Moves stamps of CLOCK_REALTIME onto the monotonic line. Both clocks run at the same rate (they
// are slewed together), so the offset only changes when somebody sets the time; it is measured
// again at every conversion (or once for several that come together), and kept as long as the new
// measurement agrees with it within its own error.
class KernelClock {
  public:
    KernelClock() { measure(); }
    wire::Instant to_monotonic(std::int64_t realtime_ns);

    void measure();
    // By the last measurement.
    [[nodiscard]] wire::Instant converted(std::int64_t realtime_ns) const {
        return wire::Instant(wire::Duration(realtime_ns + offset_ns_));
    }

  private:
    std::int64_t offset_ns_ = 0;        // monotonic minus realtime
    std::int64_t error_ns_ = INT64_MAX; // half the width of the best measurement
};

} // namespace veriroce::net
