// Waits for everything that an agent needs to react to: lines from its connections
// (line_server.hpp), its own file descriptors (completion and event channels), signals, and its
// next timer.
//
//   while (!done) {
//       loop.run_once(next_timer);
//       while (auto event = server.poll_event()) ...
//       while (auto fd = loop.poll_ready()) ...
//       while (auto signal = loop.poll_signal()) ...
//   }
//
// Times are wire::Instant on the line of monotonic_now(); kNever waits without a deadline.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <span>

#include "dissector/wire/instant.hpp"
#include "transport/net/error.hpp"

namespace veriroce::net {

class EventLoop {
  public:
    static std::expected<std::unique_ptr<EventLoop>, Error> open();
    ~EventLoop();
    EventLoop(const EventLoop&) = delete;
    EventLoop& operator=(const EventLoop&) = delete;

    // Returns when there is something to poll, or at `deadline`.
    void run_once(wire::Instant deadline);

    // Reports `fd` while it is readable (level triggered), until unwatch. The caller keeps
    // ownership and must call unwatch before closing it. It becomes non-blocking.
    std::expected<void, Error> watch(int fd);
    void unwatch(int fd);
    std::optional<int> poll_ready();

    // Catches these signals, which would otherwise end the process.
    std::expected<void, Error> catch_signals(std::span<const int> signals);
    std::optional<int> poll_signal();

    // Makes the current or next call of run_once return. May be called from any thread.
    void wake();

    struct Impl;
    [[nodiscard]] Impl& impl() { return *impl_; } // for other classes of this room

  private:
    explicit EventLoop(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

} // namespace veriroce::net
