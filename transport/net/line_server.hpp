// A server of line streams over TCP or a Unix socket: lines in, lines out, each ended by '\n'.
//
// Events are polled (see event_loop.hpp) in order: Opened, then one Line per line, then exactly one
// Closed. After the first line of a connection the server reads nothing more until the owner calls
// admit(). Before that the connection may send one line of at most `first_line_bytes`, within
// `first_line_within`; otherwise it is closed without an answer.
//
// Connections that are not admitted cannot keep others out. There are at most `newcomers` of them;
// one more closes the oldest one of the host that has the most of them. So a client that speaks at
// once is heard, whatever silent ones do.
//
// A connection whose peer vanished (no keepalive answers, nothing acknowledged) or said nothing for
// `idle_within` is closed.
//
// If a peer finishes sending, the connection stays open for answers until the owner has polled the
// Closed event; answers queued by then have another second to be sent.
//
// Bounds: LineLimits. A connection is closed if a line exceeds its limit, or if the peer does not
// read its answers. The Closed event gives the reason.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "dissector/wire/instant.hpp"
#include "transport/net/error.hpp"
#include "transport/net/event_loop.hpp"
#include "transport/net/line_address.hpp"

namespace veriroce::net {

struct LineLimits {
    std::size_t connections = 8;              // admitted at a time
    std::size_t newcomers = 256;              // not admitted, or closing
    std::size_t first_line_bytes = 4U << 10U; // without the '\n'
    std::size_t line_bytes = 16U << 20U;      // after admit()
    wire::Duration first_line_within = std::chrono::seconds(5);
    // Without a byte in either direction, after admit(); longer than a peer waits for one answer.
    wire::Duration idle_within = std::chrono::minutes(10);
    std::size_t queued_bytes = 64U << 20U; // answers per connection
    std::size_t unpolled_lines = 64;       // per connection; at this number, reading pauses
};

struct ConnectionId {
    std::uint64_t value = 0;
    friend auto operator<=>(ConnectionId, ConnectionId) = default;
};

struct LineEvent {
    enum class Kind : std::uint8_t { Opened, Line, Closed };
    Kind kind = Kind::Opened;
    ConnectionId connection;
    // Opened: the peer's address. Line: without '\n'. Closed: the reason, for a log.
    std::string text;
};

class LineServer {
  public:
    // `loop` must outlive the server. A Unix socket gets mode 0600. It replaces a stale one that no
    // process listens on, and is removed at the end.
    static std::expected<std::unique_ptr<LineServer>, Error>
    listen(EventLoop& loop, const LineAddress& address, const LineLimits& limits = {});
    ~LineServer();
    LineServer(const LineServer&) = delete;
    LineServer& operator=(const LineServer&) = delete;

    // With the actual port if port 0 was requested.
    [[nodiscard]] const LineAddress& address() const;

    std::optional<LineEvent> poll_event();

    // Whether as many connections are admitted as may be.
    [[nodiscard]] bool full() const;
    // Accepts the connection after its first line: full line length, `idle_within`. Only while the
    // server is not full().
    void admit(ConnectionId id);

    // Queues a line (without '\n'). Returns false if the connection no longer exists, or if its
    // queue is full; then it is closed.
    bool send(ConnectionId id, std::string_view line);
    [[nodiscard]] std::size_t queued_bytes(ConnectionId id) const;

    // Closes: queued output is still sent (for at most a second), input is ignored. With a delay,
    // nothing is sent and the connection closes after that time. A Closed event follows.
    void close(ConnectionId id);
    void close_after(ConnectionId id, wire::Duration delay);

    struct Impl;

  private:
    explicit LineServer(std::shared_ptr<Impl> impl);
    std::shared_ptr<Impl> impl_; // handlers in the loop hold weak pointers to it
};

} // namespace veriroce::net
