// An instant on some monotonic time line: a capture's, the kernel's or virtual time. Only
// differences mean something. There is no `now()`: whoever needs the time is given it.
#pragma once

#include <chrono>

namespace veriroce::wire {

struct Timeline {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<Timeline, duration>;
    static constexpr bool is_steady = true;
};

using Duration = std::chrono::nanoseconds;
using Instant = std::chrono::time_point<Timeline, Duration>;

// What is known of an instant: it is not before the earliest and not after the latest one. In
// virtual time both are equal.
struct Interval {
    Instant earliest;
    Instant latest;
};

} // namespace veriroce::wire
