#include "transport/port/port.hpp"

#include <algorithm>

#include "transport/net/clock.hpp"

namespace veriroce::port {

std::expected<bool, net::Error> Port::step(wire::Instant now) {
    std::size_t received = 0;
    while (received < most_received) {
        const auto taken = take_some(wire::Instant::min(), {});
        if (!taken) return std::unexpected(taken.error());
        if (*taken == 0) break;
        received += *taken;
    }
    if (const auto next = due(); next && *next <= now) run_due(now);
    std::size_t sent = 0;
    while (sent < most_sent && send_one(now))
        ++sent;
    flush();
    more_ = received >= most_received || sent == most_sent;
    return more_;
}

std::expected<void, net::Error> Port::run(wire::Instant deadline, std::span<const int> also) {
    // What was posted leaves before anybody waits.
    while (send_one(net::monotonic_now())) {
    }
    flush();
    const wire::Instant until = std::min(deadline, next_deadline().value_or(deadline));
    const auto taken = take_some(until, also);
    if (!taken) return std::unexpected(taken.error());
    const auto stepped = step(net::monotonic_now());
    if (!stepped) return std::unexpected(stepped.error());
    return {};
}

std::optional<wire::Instant> Port::next_deadline() const {
    if (more_) return wire::Instant::min();
    return due();
}

} // namespace veriroce::port
