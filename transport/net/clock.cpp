#include "transport/net/clock.hpp"

#include <ctime>

namespace veriroce::net {

namespace {

std::int64_t read_ns(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

} // namespace

wire::Instant monotonic_now() {
    return wire::Instant(wire::Duration(read_ns(CLOCK_MONOTONIC)));
}

void KernelClock::measure() {
    const auto before = read_ns(CLOCK_MONOTONIC);
    const auto realtime = read_ns(CLOCK_REALTIME);
    const auto after = read_ns(CLOCK_MONOTONIC);
    const auto error = (after - before + 1) / 2;
    const auto offset = before + error - realtime;
    const auto change = offset > offset_ns_ ? offset - offset_ns_ : offset_ns_ - offset;
    // If the measurements agree within both errors, keep the narrower one. Otherwise the clock was
    // set, and only the new one is right.
    const bool agrees = error_ns_ != INT64_MAX && change <= error + error_ns_;
    if (agrees && error >= error_ns_) return;
    offset_ns_ = offset;
    error_ns_ = error;
}

wire::Instant KernelClock::to_monotonic(std::int64_t realtime_ns) {
    measure();
    return converted(realtime_ns);
}

} // namespace veriroce::net
