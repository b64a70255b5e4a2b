// A server of line streams over TCP or a Unix socket: lines in, lines out, each ended by '\n'.
//
// Events are polled (see event_loop.hpp), in the order in which they happened: Opened, then a Line
// each, then Closed, once, and nothing after it. After the first line of a connection nothing more
// is read from it until the owner calls admit(): until then it may send one line of
// `first_line_bytes`, within `first_line_within`, and whoever does not is closed without an answer.
//
// A connection whose peer has finished sending stays open for answers until the owner has polled
// its Closed event; answers that are queued then still have a second to go out.
//
// Bounds: LineLimits. A line longer than its limit, a peer that does not read its answers and a
// connection too many are closed; the Closed event says why (a connection too many has no events).
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
    std::size_t connections = 8;
    std::size_t first_line_bytes = 4U << 10U; // without the '\n'
    std::size_t line_bytes = 16U << 20U;      // after admit()
    wire::Duration first_line_within = std::chrono::seconds(5);
    std::size_t queued_bytes = 64U << 20U; // of answers, per connection
    std::size_t unpolled_lines = 64;       // per connection; then its reading pauses
};

struct ConnectionId {
    std::uint64_t value = 0;
    friend auto operator<=>(ConnectionId, ConnectionId) = default;
};

struct LineEvent {
    enum class Kind : std::uint8_t { Opened, Line, Closed };
    Kind kind = Kind::Opened;
    ConnectionId connection;
    std::string text; // Opened: the peer's address. Line: without '\n'. Closed: why, for a log
};

class LineServer {
  public:
    // Listens. `loop` must outlive the server. A Unix socket gets mode 0600 and replaces one that
    // nobody listens on; it is removed at the end.
    static std::expected<std::unique_ptr<LineServer>, Error>
    listen(EventLoop& loop, const LineAddress& address, const LineLimits& limits = {});
    ~LineServer();
    LineServer(const LineServer&) = delete;
    LineServer& operator=(const LineServer&) = delete;

    // Where it listens, with the port that the kernel chose where 0 was asked for.
    [[nodiscard]] const LineAddress& address() const;

    std::optional<LineEvent> poll_event();

    // The connection has said hello: the full line length from now on, and no time limit.
    void admit(ConnectionId id);

    // Queues a line (without '\n'). False: there is no such connection any more, or its queue is
    // full, and then it is closed.
    bool send(ConnectionId id, std::string_view line);
    [[nodiscard]] std::size_t queued_bytes(ConnectionId id) const;

    // Closes: what is queued is still sent (for a second at most), what arrives is ignored. With a
    // delay nothing is sent and the peer waits that long for the end. Its Closed event follows.
    void close(ConnectionId id);
    void close_after(ConnectionId id, wire::Duration delay);

    struct Impl;

  private:
    explicit LineServer(std::shared_ptr<Impl> impl);
    std::shared_ptr<Impl> impl_; // handlers that wait in the loop hold it weakly
};

} // namespace veriroce::net
