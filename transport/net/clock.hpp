// The time line of everything live: the kernel's CLOCK_MONOTONIC in ns as wire::Instant.
// KernelClock converts the kernel's packet stamps (CLOCK_REALTIME) to it.
#pragma once

#include "dissector/wire/instant.hpp"

namespace veriroce::net {

wire::Instant monotonic_now();

// An instant that never comes, to wait without a deadline.
inline constexpr wire::Instant kNever = wire::Instant::max();

// Converts CLOCK_REALTIME stamps to the monotonic time line. Both clocks run at the same rate (they
// are slewed together), so the offset changes only if the time is set. It is measured at every
// conversion (or once for several at the same time), and a better earlier measurement is kept as
// long as the new one agrees with it within the error.
class KernelClock {
  public:
    KernelClock() { measure(); }
    wire::Instant to_monotonic(std::int64_t realtime_ns);

    void measure();
    // Uses the last measurement.
    [[nodiscard]] wire::Instant converted(std::int64_t realtime_ns) const {
        return wire::Instant(wire::Duration(realtime_ns + offset_ns_));
    }

  private:
    std::int64_t offset_ns_ = 0;        // monotonic minus realtime
    std::int64_t error_ns_ = INT64_MAX; // half the width of the best measurement
};

} // namespace veriroce::net
