#include "transport/net/descriptor.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <vector>

#include "transport/net/clock.hpp"

namespace veriroce::net {

Descriptor::~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
}

std::string errno_text(int number) {
    return std::strerror(number);
}

Error system_error(std::string what, int number) {
    return {ErrorKind::System, std::move(what) + ": " + errno_text(number)};
}

Waited wait_for(int fd, short events, wire::Instant deadline, std::span<const int> also) {
    // Waits are frequent and have few descriptors, so they do not allocate.
    std::array<pollfd, 8> few;
    std::vector<pollfd> many(also.size() < few.size() ? 0 : also.size() + 1);
    const auto polled = many.empty() ? std::span(few).first(also.size() + 1) : std::span(many);
    polled[0] = {fd, events, 0};
    for (std::size_t i = 0; i < also.size(); ++i)
        polled[i + 1] = {also[i], POLLIN, 0};

    for (;;) {
        // A wait without a deadline is split into hours, because a timespec cannot hold the
        // distance to kNever. A deadline in the past is compared, not subtracted: Instant::min()
        // would overflow.
        const auto now = monotonic_now();
        auto left = wire::Duration(0);
        if (deadline == kNever) {
            left = std::chrono::hours(1);
        } else if (deadline > now) {
            left = deadline - now;
        }
        timespec timeout{};
        timeout.tv_sec = left.count() / 1'000'000'000;
        timeout.tv_nsec = left.count() % 1'000'000'000;
        const int ready = ::ppoll(polled.data(), polled.size(), &timeout, nullptr);
        if (ready > 0) return polled.front().revents != 0 ? Waited::Ready : Waited::Also;
        if (deadline != kNever && monotonic_now() >= deadline) return Waited::Deadline;
    }
}

} // namespace veriroce::net
