#include "transport/net/event_loop.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>

#include "transport/net/clock.hpp"
#include "transport/net/descriptor.hpp"
#include "transport/net/event_loop_impl.hpp"

namespace veriroce::net {

namespace asio = boost::asio;

namespace {

constexpr int kHandlersAtOnce = 64;

template <typename T>
std::optional<T> take(std::deque<T>& queue) {
    if (queue.empty()) return std::nullopt;
    const T front = queue.front();
    queue.pop_front();
    return front;
}

} // namespace

std::expected<std::unique_ptr<EventLoop>, Error> EventLoop::open() {
    try { // Asio's constructors open epoll descriptors
        return std::unique_ptr<EventLoop>(new EventLoop(std::make_unique<Impl>()));
    } catch (const boost::system::system_error& refused) {
        return std::unexpected(system_error("cannot wait for events", refused.code().value()));
    }
}

EventLoop::EventLoop(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

EventLoop::~EventLoop() {
    for (auto& [fd, watch] : impl_->watches)
        watch.descriptor.release(); // the owner closes them
}

void EventLoop::run_once(wire::Instant deadline) {
    auto& io = impl_->io;
    impl_->arm_watches();
    impl_->run_ready();
    // steady_clock is CLOCK_MONOTONIC in ns, the same as our Instant.
    const std::chrono::steady_clock::time_point until(deadline.time_since_epoch());
    while (!impl_->has_events && (deadline == kNever || monotonic_now() < deadline))
        io.run_one_until(until);
    impl_->run_ready(); // so that one call serves many events
    impl_->has_events = false;
}

// Not io.poll(): while clients connect faster than they are accepted, that would never end.
void EventLoop::Impl::run_ready() {
    for (int handlers = 0; handlers < kHandlersAtOnce && io.poll_one() > 0; ++handlers) {
    }
}

void EventLoop::Impl::arm_watches() {
    for (auto& [fd, watch] : watches) {
        if (watch.armed) continue;
        watch.armed = true;
        watch.descriptor.async_wait(asio::posix::descriptor_base::wait_read,
                                    [this, fd](const boost::system::error_code& error) {
                                        const auto found = watches.find(fd);
                                        if (error || found == watches.end()) return;
                                        found->second.armed = false;
                                        ready.push_back(fd);
                                        has_events = true;
                                    });
    }
}

std::expected<void, Error> EventLoop::watch(int fd) {
    if (impl_->watches.contains(fd)) return {};
    asio::posix::stream_descriptor descriptor(impl_->io);
    boost::system::error_code error;
    descriptor.assign(fd, error);
    if (error) {
        return std::unexpected(
            system_error("cannot wait for file descriptor " + std::to_string(fd), error.value()));
    }
    impl_->watches.emplace(fd, Impl::Watch{std::move(descriptor)});
    return {};
}

void EventLoop::unwatch(int fd) {
    const auto found = impl_->watches.find(fd);
    if (found == impl_->watches.end()) return;
    found->second.descriptor.release();
    impl_->watches.erase(found);
    std::erase(impl_->ready, fd);
}

std::optional<int> EventLoop::poll_ready() {
    return take(impl_->ready);
}

std::expected<void, Error> EventLoop::catch_signals(std::span<const int> signals) {
    for (const int number : signals) {
        boost::system::error_code error;
        impl_->signals.add(number, error);
        if (error) {
            return std::unexpected(
                system_error("cannot catch signal " + std::to_string(number), error.value()));
        }
    }
    impl_->wait_for_signal();
    return {};
}

void EventLoop::Impl::wait_for_signal() {
    signals.cancel(); // only one wait may be active, also when signals are added
    signals.async_wait([this](const boost::system::error_code& error, int number) {
        if (error) return;
        caught.push_back(number);
        has_events = true;
        wait_for_signal();
    });
}

std::optional<int> EventLoop::poll_signal() {
    return take(impl_->caught);
}

void EventLoop::wake() {
    asio::post(impl_->io, [impl = impl_.get()] { impl->has_events = true; });
}

} // namespace veriroce::net
