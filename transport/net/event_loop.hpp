// Waits for everything that an agent waits for: lines of its connections (line_server.hpp), file
// descriptors of its own (completion and event channels), signals, and its next timer.
//
//   while (!done) {
//       loop.run_once(next_timer);
//       while (auto event = server.poll_event()) ...
//       while (auto fd = loop.poll_ready()) ...
//       while (auto signal = loop.poll_signal()) ...
//   }
//
// Times are wire::Instant on the line of monotonic_now(); kNever waits for ever.
#pragma once

#include <expected>
#include <initializer_list>
#include <memory>
#include <optional>

#include "dissector/wire/instant.hpp"
#include "transport/net/error.hpp"

namespace veriroce::net {

class EventLoop {
  public:
    static std::expected<std::unique_ptr<EventLoop>, Error> open();
    ~EventLoop();
    EventLoop(const EventLoop&) = delete;
    EventLoop& operator=(const EventLoop&) = delete;

    // Returns when something stands ready to be polled, or at `deadline`.
    void run_once(wire::Instant deadline);

    // Reports `fd` as long as it can be read (level triggered), until unwatch. The descriptor stays
    // its owner's, who calls unwatch before closing it; it is made non-blocking.
    std::expected<void, Error> watch(int fd);
    void unwatch(int fd);
    std::optional<int> poll_ready();

    // Catches these signals instead of dying from them.
    std::expected<void, Error> catch_signals(std::initializer_list<int> signals);
    std::optional<int> poll_signal();

    // Makes run_once return, now or when it is next called. From any thread.
    void wake();

    struct Impl;
    [[nodiscard]] Impl& impl() { return *impl_; } // for the other classes of this room

  private:
    explicit EventLoop(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

} // namespace veriroce::net
