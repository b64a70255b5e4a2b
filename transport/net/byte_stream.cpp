#include "transport/net/byte_stream.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>
#include <utility>

#include "transport/net/listen_socket.hpp"
#include "transport/net/socket_address.hpp"

namespace veriroce::net {

namespace {

Error connect_error(const LineAddress& address, int number, std::string_view who) {
    const auto where = address.text();
    switch (number) {
    case ECONNREFUSED:
        return {ErrorKind::Refused, "nothing listens on " + where + ": start " + std::string(who) +
                                        " there, or check the address and port"};
    case ENOENT:
        return {ErrorKind::Refused, "there is no socket " + where + ": start " + std::string(who) +
                                        " there, or check the path"};
    case EACCES:
    case EPERM:
        return {ErrorKind::NotPermitted, "not permitted to connect to " + where +
                                             ": run as the user who started " + std::string(who)};
    case ENETUNREACH:
    case EHOSTUNREACH:
        return {ErrorKind::Unreachable,
                "no route to " + where + ": check the address and the network between"};
    case ETIMEDOUT:
        return {ErrorKind::TimedOut,
                where + " does not answer: check the address and the firewalls between"};
    default: return system_error("cannot connect to " + where, number);
    }
}

// Connects to one of the addresses that a name resolves to; the error is an errno.
std::expected<Descriptor, int> connect_one(const SocketAddress& to, wire::Instant deadline) {
    Descriptor socket(::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.valid()) return std::unexpected(errno);
    if (::connect(socket.fd(), to.get(), to.size) != 0) {
        if (errno != EINPROGRESS) return std::unexpected(errno);
        if (wait_for(socket.fd(), POLLOUT, deadline) == Waited::Deadline) {
            return std::unexpected(ETIMEDOUT);
        }
        int number = 0;
        socklen_t size = sizeof number;
        ::getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &number, &size);
        if (number != 0) return std::unexpected(number);
    }
    if (to.family() != AF_UNIX) {
        const int on = 1; // requests are small, and each is waited for
        ::setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    return socket;
}

} // namespace

std::expected<ByteStream, Error> ByteStream::connect(const LineAddress& address,
                                                     wire::Instant deadline, std::string_view who) {
    const auto addresses = socket_addresses(address);
    if (!addresses) return std::unexpected(addresses.error());
    int number = ECONNREFUSED;
    for (const auto& one : *addresses) {
        auto socket = connect_one(one, deadline);
        if (socket) return ByteStream(std::move(*socket), address);
        number = socket.error();
    }
    return std::unexpected(connect_error(address, number, who));
}

std::expected<void, Error> ByteStream::send(std::string_view bytes, wire::Instant deadline) {
    while (!bytes.empty()) {
        const auto count =
            ::send(socket_.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count > 0) {
            bytes.remove_prefix(static_cast<std::size_t>(count));
        } else if (errno == EAGAIN) {
            if (wait_for(socket_.fd(), POLLOUT, deadline) == Waited::Deadline) {
                return std::unexpected(
                    Error{ErrorKind::TimedOut, peer_.text() + " does not read what is sent to it"});
            }
        } else if (errno == EPIPE || errno == ECONNRESET) {
            return std::unexpected(
                Error{ErrorKind::Closed, peer_.text() + " closed the connection"});
        } else if (errno != EINTR) {
            return std::unexpected(system_error("cannot send to " + peer_.text(), errno));
        }
    }
    return {};
}

std::expected<std::size_t, Error> ByteStream::receive(std::span<char> room,
                                                      wire::Instant deadline) {
    while (true) {
        const auto count = ::recv(socket_.fd(), room.data(), room.size(), MSG_DONTWAIT);
        if (count > 0) return static_cast<std::size_t>(count);
        if (count == 0 || errno == ECONNRESET) {
            return std::unexpected(
                Error{ErrorKind::Closed, peer_.text() + " closed the connection"});
        }
        if (errno == EAGAIN) {
            if (wait_for(socket_.fd(), POLLIN, deadline) == Waited::Deadline) {
                return std::unexpected(
                    Error{ErrorKind::TimedOut, peer_.text() + " has not answered in time"});
            }
        } else if (errno != EINTR) {
            return std::unexpected(system_error("cannot receive from " + peer_.text(), errno));
        }
    }
}

std::expected<void, Error> ByteStream::receive_all(std::span<char> room, wire::Instant deadline) {
    while (!room.empty()) {
        const auto count = receive(room, deadline);
        if (!count) return std::unexpected(count.error());
        room = room.subspan(*count);
    }
    return {};
}

std::optional<wire::IpAddress> ByteStream::local_address() const {
    if (peer_.is_unix) return std::nullopt;
    SocketAddress local;
    local.size = sizeof local.storage;
    if (::getsockname(socket_.fd(), local.get(), &local.size) != 0) return std::nullopt;
    return local.ip();
}

// --- listening --------------------------------------------------------------------------------

std::expected<StreamListener, Error> StreamListener::open(const LineAddress& address) {
    auto listening = open_listen_socket(address);
    if (!listening) return std::unexpected(listening.error());
    return StreamListener(std::move(listening->socket), listening->address);
}

std::expected<std::optional<ByteStream>, Error> StreamListener::accept(wire::Instant deadline,
                                                                       std::span<const int> also) {
    while (true) {
        SocketAddress from;
        from.size = sizeof from.storage;
        Descriptor socket(
            ::accept4(socket_.fd(), from.get(), &from.size, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (socket.valid()) {
            const LineAddress peer{address_.is_unix,
                                   address_.is_unix ? address_.host : from.ip().text(),
                                   address_.is_unix ? std::uint16_t{0} : from.port()};
            return ByteStream(std::move(socket), peer);
        }
        // Not an error: the connection was closed before it was accepted.
        if (errno == EINTR || errno == ECONNABORTED) continue;
        if (errno != EAGAIN) {
            return std::unexpected(system_error("cannot accept on " + address_.text(), errno));
        }
        if (wait_for(socket_.fd(), POLLIN, deadline, also) != Waited::Ready) return std::nullopt;
    }
}

} // namespace veriroce::net
