#include "transport/net/line_server.hpp"

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <deque>
#include <map>

#include <fmt/format.h>

#include "transport/net/clock.hpp"
#include "transport/net/event_loop_impl.hpp"
#include "transport/net/line_splitter.hpp"
#include "transport/net/listen_socket.hpp"
#include "transport/net/socket_address.hpp"

namespace veriroce::net {

namespace {

namespace asio = boost::asio;
using Protocol = asio::generic::stream_protocol;
using Socket = Protocol::socket;
using Failure = boost::system::error_code;
using Kind = LineEvent::Kind;

constexpr auto kLingerTime = std::chrono::seconds(1);
constexpr auto kAcceptPause = std::chrono::milliseconds(100);
constexpr std::size_t kChunkBytes = 64U << 10U;

enum class Phase : std::uint8_t {
    Greeting,  // the first line must come soon
    Open,      // admitted
    Finished,  // the peer has finished sending; some of its lines may still wait
    Ended,     // all lines were polled or queued, and the Closed event comes after them
    Delayed,   // will be closed without an answer when the timer expires
    Lingering, // its Closed event was reported; queued output may still be written
};

struct Connection {
    Connection(Socket accepted, asio::io_context& io) : socket(std::move(accepted)), timer(io) {}

    Socket socket;
    asio::steady_timer timer;
    Phase phase = Phase::Greeting;
    LineSplitter received;
    std::string host; // of the peer
    bool admitted = false;
    wire::Instant last_active{}; // when the last byte came or went; once admitted
    std::array<char, kChunkBytes> chunk{};
    bool reading = false;
    bool peer_finished = false;
    std::size_t lines = 0;    // line events so far
    std::size_t unpolled = 0; // line events that are still queued
    std::string writing;      // passed to the kernel
    std::size_t written = 0;  // bytes of `writing` that the kernel has taken
    std::string queued;       // output after `writing`

    [[nodiscard]] bool takes_lines() const {
        return phase == Phase::Open || phase == Phase::Finished ||
               (phase == Phase::Greeting && lines == 0);
    }
};

std::optional<SocketAddress> peer_of(Socket& socket) {
    SocketAddress address;
    address.size = sizeof address.storage;
    if (::getpeername(socket.native_handle(), address.get(), &address.size) != 0) {
        return std::nullopt;
    }
    return address;
}

// Without this the kernel would keep a connection for ever whose peer lost its power: a minute of
// silence is enough, with or without answers on their way.
void notice_lost_peer(Socket& socket) {
    const auto set = [&](int level, int option, int value) {
        ::setsockopt(socket.native_handle(), level, option, &value, sizeof value);
    };
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, 30);
    set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
    set(IPPROTO_TCP, TCP_KEEPCNT, 3);
    set(IPPROTO_TCP, TCP_USER_TIMEOUT, 60'000); // ms
}

} // namespace

// Handlers hold a weak pointer to this and name the connection by its id, because either may be
// gone when they run.
struct LineServer::Impl : std::enable_shared_from_this<LineServer::Impl> {
    Impl(EventLoop& event_loop, ListenSocket listener, const LineLimits& line_limits)
        : loop(event_loop.impl()), address(std::move(listener.address)), limits(line_limits),
          acceptor(loop.io), accept_pause(loop.io) {
        SocketAddress bound;
        bound.size = sizeof bound.storage;
        ::getsockname(listener.socket.fd(), bound.get(), &bound.size);
        acceptor.assign(Protocol(bound.family(), 0), listener.socket.release());
    }

    EventLoop::Impl& loop;
    LineAddress address;
    LineLimits limits;
    asio::basic_socket_acceptor<Protocol> acceptor;
    asio::steady_timer accept_pause;
    std::map<ConnectionId, std::unique_ptr<Connection>> connections;
    std::deque<LineEvent> events;
    std::uint64_t last_id = 0;

    Connection* find(ConnectionId id) {
        const auto found = connections.find(id);
        return found == connections.end() ? nullptr : found->second.get();
    }

    // Wraps a handler so that it runs only if the server and the connection still exist.
    template <typename F>
    auto guarded(ConnectionId id, F body) {
        return [weak = weak_from_this(), id, body](const Failure& error, auto... rest) {
            const auto self = weak.lock();
            if (!self) return;
            if (auto* connection = self->find(id)) body(*self, *connection, error, rest...);
        };
    }

    void push(Kind kind, ConnectionId id, std::string text) {
        events.push_back({kind, id, std::move(text)});
        loop.has_events = true;
    }

    void accept();
    void welcome(Socket socket);
    [[nodiscard]] std::size_t admitted() const;
    void make_way();
    void start_timer(ConnectionId id, Connection& connection, wire::Duration delay);
    void timer_ran_out(ConnectionId id, Connection& connection);
    void check_idle(ConnectionId id, Connection& connection);
    void advance(ConnectionId id, Connection& connection);
    void cut_lines(ConnectionId id, Connection& connection);
    void read(ConnectionId id, Connection& connection);
    void finish_reading(ConnectionId id, Connection& connection, const Failure& error);
    void write(ConnectionId id, Connection& connection);
    void write_rest(ConnectionId id, Connection& connection);
    void drop(ConnectionId id, std::string why);
    void linger(ConnectionId id, Connection& connection);
    void end_linger(ConnectionId id, Connection& connection);
    void forget_lines(ConnectionId id);
};

void LineServer::Impl::accept() {
    acceptor.async_accept([weak = weak_from_this()](const Failure& error, Socket socket) {
        const auto self = weak.lock();
        if (!self || error == asio::error::operation_aborted) return;
        if (!error) {
            self->welcome(std::move(socket));
            self->accept();
            return;
        }
        // For example, out of file descriptors: waiting clients stay in the kernel's queue.
        self->accept_pause.expires_after(kAcceptPause);
        self->accept_pause.async_wait([weak](const Failure& cancelled) {
            const auto again = weak.lock();
            if (again && !cancelled) again->accept();
        });
    });
}

void LineServer::Impl::welcome(Socket socket) {
    const auto peer = peer_of(socket);
    if (!peer) return; // it has gone; the socket's destructor closes it
    const int on = 1;  // answers are small, and each is waited for; fails on Unix sockets
    ::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    notice_lost_peer(socket);
    const ConnectionId id{++last_id};
    auto& connection =
        *connections.emplace(id, std::make_unique<Connection>(std::move(socket), loop.io))
             .first->second;
    connection.host = peer->family() == AF_UNIX ? peer->text() : peer->ip().text();
    push(Kind::Opened, id, peer->text());
    start_timer(id, connection, limits.first_line_within);
    advance(id, connection);
    make_way();
}

std::size_t LineServer::Impl::admitted() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(connections, [](const auto& one) { return one.second->admitted; }));
}

// Closes newcomers until there are no more than may be: the oldest ones of the hosts that have the
// most, so that neither silence nor a flood from one host keeps others out.
void LineServer::Impl::make_way() {
    while (connections.size() - admitted() > limits.newcomers) {
        std::map<std::string_view, std::size_t> of_host;
        for (const auto& [id, one] : connections) {
            if (!one->admitted) ++of_host[one->host];
        }
        const auto most =
            std::ranges::max_element(of_host, {}, [](const auto& count) { return count.second; });
        const auto oldest = std::ranges::find_if(connections, [&](const auto& one) {
            return !one.second->admitted && one.second->host == most->first;
        });
        const ConnectionId id = oldest->first;
        if (oldest->second->phase == Phase::Lingering)
            connections.erase(oldest);
        else
            drop(id, "closed for a newer connection");
    }
}

void LineServer::Impl::start_timer(ConnectionId id, Connection& connection, wire::Duration delay) {
    connection.timer.expires_after(delay);
    // A handler that was already due still runs after the timer is set again; the phase shows
    // whether it applies.
    connection.timer.async_wait(guarded(
        id, [id, phase = connection.phase](Impl& self, Connection& found, const Failure& error) {
            if (!error && found.phase == phase) self.timer_ran_out(id, found);
        }));
}

void LineServer::Impl::timer_ran_out(ConnectionId id, Connection& connection) {
    switch (connection.phase) {
    case Phase::Greeting:
        if (connection.lines == 0) drop(id, "sent no line in time");
        break;
    case Phase::Delayed: drop(id, "the agent closed it after a delay"); break;
    case Phase::Lingering: connections.erase(id); break;
    case Phase::Open: check_idle(id, connection); break;
    case Phase::Finished:
    case Phase::Ended: break;
    }
}

void LineServer::Impl::check_idle(ConnectionId id, Connection& connection) {
    const auto end = connection.last_active + limits.idle_within;
    const auto now = monotonic_now();
    if (end > now) {
        start_timer(id, connection, end - now);
        return;
    }
    const auto seconds = std::chrono::duration<double>(limits.idle_within).count();
    drop(id, fmt::format("idle for {} s", seconds));
}

// Called after any change of a connection: turns received bytes into events, and continues reading.
void LineServer::Impl::advance(ConnectionId id, Connection& connection) {
    const auto limit =
        connection.phase == Phase::Greeting ? limits.first_line_bytes : limits.line_bytes;
    while (connection.takes_lines() && connection.unpolled < limits.unpolled_lines) {
        if (connection.received.longer_than(limit)) {
            drop(id, "sent a line of more than " + std::to_string(limit) + " bytes");
            return;
        }
        auto line = connection.received.take();
        if (!line) {
            if (connection.phase == Phase::Finished) {
                connection.phase = Phase::Ended;
                push(Kind::Closed, id, "the peer closed the connection");
            } else {
                read(id, connection);
            }
            return;
        }
        ++connection.lines;
        ++connection.unpolled;
        push(Kind::Line, id, std::move(*line));
    }
}

void LineServer::Impl::read(ConnectionId id, Connection& connection) {
    if (connection.reading) return;
    connection.reading = true;
    connection.socket.async_read_some(
        asio::buffer(connection.chunk),
        guarded(id, [id](Impl& self, Connection& found, const Failure& error, std::size_t bytes) {
            found.reading = false;
            if (error) {
                self.finish_reading(id, found, error);
                return;
            }
            if (found.phase == Phase::Lingering) {
                self.read(id,
                          found); // ignored, but reading them keeps the kernel from sending a reset
                return;
            }
            found.last_active = monotonic_now();
            found.received.append({found.chunk.data(), bytes});
            self.advance(id, found);
        }));
}

void LineServer::Impl::finish_reading(ConnectionId id, Connection& connection,
                                      const Failure& error) {
    connection.peer_finished = true;
    if (connection.phase == Phase::Lingering) {
        if (connection.writing.empty()) connections.erase(id);
        return;
    }
    if (connection.phase == Phase::Delayed) return;
    if (error != asio::error::eof) {
        drop(id, "connection lost: " + error.message());
        return;
    }
    connection.phase = Phase::Finished;
    advance(id, connection);
}

void LineServer::Impl::write(ConnectionId id, Connection& connection) {
    if (!connection.writing.empty()) return;
    if (connection.queued.empty()) {
        if (connection.phase == Phase::Lingering) end_linger(id, connection);
        return;
    }
    std::swap(connection.writing, connection.queued);
    connection.written = 0;
    write_rest(id, connection);
}

// Not asio::async_write: between two partial writes it would use a socket that may no longer exist.
void LineServer::Impl::write_rest(ConnectionId id, Connection& connection) {
    connection.socket.async_write_some(
        asio::buffer(connection.writing) + connection.written,
        guarded(id, [id](Impl& self, Connection& found, const Failure& error, std::size_t bytes) {
            found.written += bytes;
            found.last_active = monotonic_now();
            if (!error && found.written < found.writing.size()) {
                self.write_rest(id, found);
                return;
            }
            found.writing.clear();
            if (!error)
                self.write(id, found);
            else if (found.phase == Phase::Lingering)
                self.connections.erase(id);
            else
                self.drop(id, "connection lost: " + error.message());
        }));
}

// Closes at once: queued output is discarded, and so are lines that were not polled yet.
void LineServer::Impl::drop(ConnectionId id, std::string why) {
    const auto* connection = find(id);
    const bool said = connection != nullptr && connection->phase == Phase::Ended;
    forget_lines(id);
    connections.erase(id);
    if (!said) push(Kind::Closed, id, std::move(why));
}

// Queued output is still sent. Then the peer is told that no more follows, and its data is read
// until it finishes too. Closing earlier would make the kernel send a reset, which can overtake the
// last answer.
void LineServer::Impl::linger(ConnectionId id, Connection& connection) {
    connection.phase = Phase::Lingering;
    connection.admitted = false;
    start_timer(id, connection, kLingerTime);
    write(id, connection);
    make_way();
}

void LineServer::Impl::end_linger(ConnectionId id, Connection& connection) {
    if (connection.peer_finished) {
        connections.erase(id);
        return;
    }
    Failure ignored;
    (void)connection.socket.shutdown(Socket::shutdown_send, ignored);
    read(id, connection);
}

void LineServer::Impl::forget_lines(ConnectionId id) {
    std::erase_if(events, [id](const LineEvent& event) {
        return event.connection == id && event.kind == Kind::Line;
    });
}

LineServer::LineServer(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

LineServer::~LineServer() {
    if (impl_->address.is_unix) ::unlink(impl_->address.host.c_str());
}

std::expected<std::unique_ptr<LineServer>, Error>
LineServer::listen(EventLoop& loop, const LineAddress& address, const LineLimits& limits) {
    auto listener = open_listen_socket(address);
    if (!listener) return std::unexpected(listener.error());
    auto impl = std::make_shared<Impl>(loop, std::move(*listener), limits);
    impl->accept();
    return std::unique_ptr<LineServer>(new LineServer(std::move(impl)));
}

const LineAddress& LineServer::address() const {
    return impl_->address;
}

std::optional<LineEvent> LineServer::poll_event() {
    if (impl_->events.empty()) return std::nullopt;
    auto event = std::move(impl_->events.front());
    impl_->events.pop_front();
    auto* connection = impl_->find(event.connection);
    if (connection == nullptr) return event;
    if (event.kind == Kind::Line) {
        --connection->unpolled;
        impl_->advance(event.connection, *connection);
    } else if (event.kind == Kind::Closed && connection->phase == Phase::Ended) {
        impl_->linger(event.connection, *connection);
    }
    return event;
}

bool LineServer::full() const {
    return impl_->admitted() >= impl_->limits.connections;
}

void LineServer::admit(ConnectionId id) {
    assert(!full());
    auto* connection = impl_->find(id);
    if (connection == nullptr || connection->phase != Phase::Greeting) return;
    connection->phase = Phase::Open;
    connection->admitted = true;
    connection->last_active = monotonic_now();
    impl_->start_timer(id, *connection, impl_->limits.idle_within);
    impl_->advance(id, *connection);
}

bool LineServer::send(ConnectionId id, std::string_view line) {
    assert(line.find('\n') == std::string_view::npos);
    auto* connection = impl_->find(id);
    if (connection == nullptr || connection->phase == Phase::Delayed ||
        connection->phase == Phase::Lingering) {
        return false;
    }
    if (queued_bytes(id) + line.size() + 1 > impl_->limits.queued_bytes) {
        impl_->drop(id, "does not read its answers: more than " +
                            std::to_string(impl_->limits.queued_bytes) + " bytes wait");
        return false;
    }
    connection->queued.append(line).append(1, '\n');
    impl_->write(id, *connection);
    return true;
}

std::size_t LineServer::queued_bytes(ConnectionId id) const {
    const auto* connection = impl_->find(id);
    return connection == nullptr ? 0 : connection->writing.size() + connection->queued.size();
}

void LineServer::close(ConnectionId id) {
    auto* connection = impl_->find(id);
    if (connection == nullptr || connection->phase == Phase::Lingering) return;
    impl_->forget_lines(id);
    if (connection->phase != Phase::Ended) impl_->push(Kind::Closed, id, "the agent closed it");
    impl_->linger(id, *connection);
}

void LineServer::close_after(ConnectionId id, wire::Duration delay) {
    auto* connection = impl_->find(id);
    if (connection == nullptr || connection->phase == Phase::Lingering ||
        connection->phase == Phase::Ended) {
        return;
    }
    impl_->forget_lines(id);
    connection->queued.clear();
    connection->phase = Phase::Delayed;
    impl_->start_timer(id, *connection, delay);
}

} // namespace veriroce::net
