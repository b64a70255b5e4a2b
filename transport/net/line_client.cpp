#include "transport/net/line_client.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cassert>
#include <cerrno>

#include "transport/net/descriptor.hpp"
#include "transport/net/socket_address.hpp"

namespace veriroce::net {

namespace {

Error connect_error(const LineAddress& address, int number) {
    const auto where = address.text();
    switch (number) {
    case ECONNREFUSED:
        return {ErrorKind::Refused, "nothing listens on " + where +
                                        ": start the agent there, or check the address and port"};
    case ENOENT:
        return {ErrorKind::Refused,
                "there is no socket " + where + ": start the agent there, or check the path"};
    case EACCES:
    case EPERM:
        return {ErrorKind::NotPermitted,
                "not permitted to connect to " + where + ": run as the user who started the agent"};
    case ENETUNREACH:
    case EHOSTUNREACH:
        return {ErrorKind::Unreachable,
                "no way to " + where + ": check the address and the network between"};
    case ETIMEDOUT:
        return {ErrorKind::TimedOut,
                where + " does not answer: check the address and the firewalls between"};
    default: return system_error("cannot connect to " + where, number);
    }
}

// Connects to one of a name's addresses; the error is an errno.
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
        const int on = 1; // requests are small and somebody waits for each answer
        ::setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    return socket;
}

} // namespace

std::expected<LineClient, Error> LineClient::connect(const LineAddress& address,
                                                     wire::Instant deadline,
                                                     std::size_t max_line_bytes) {
    auto addresses = socket_addresses(address);
    if (!addresses) return std::unexpected(addresses.error());
    int number = ECONNREFUSED;
    for (const auto& one : *addresses) {
        auto socket = connect_one(one, deadline);
        if (socket) return LineClient(socket->release(), address, max_line_bytes);
        number = socket.error();
    }
    return std::unexpected(connect_error(address, number));
}

LineClient::LineClient(LineClient&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), peer_(std::move(other.peer_)),
      max_line_bytes_(other.max_line_bytes_), received_(std::move(other.received_)) {}

LineClient& LineClient::operator=(LineClient&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(peer_, other.peer_);
    std::swap(max_line_bytes_, other.max_line_bytes_);
    std::swap(received_, other.received_);
    return *this;
}

LineClient::~LineClient() {
    Descriptor closed(fd_);
}

std::expected<void, Error> LineClient::send_line(std::string_view line, wire::Instant deadline) {
    assert(line.find('\n') == std::string_view::npos);
    std::string bytes(line);
    bytes += '\n';
    std::size_t sent = 0;
    while (sent < bytes.size()) {
        const auto count = ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
        if (count > 0) {
            sent += static_cast<std::size_t>(count);
        } else if (errno == EAGAIN) {
            if (wait_for(fd_, POLLOUT, deadline) == Waited::Deadline) {
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

bool LineClient::has_line() const {
    return received_.has_line();
}

std::expected<std::string, Error> LineClient::receive_line(wire::Instant deadline) {
    std::array<char, 65536> chunk{};
    for (;;) {
        if (received_.longer_than(max_line_bytes_)) {
            return std::unexpected(
                Error{ErrorKind::TooLong, peer_.text() + " sent a line of more than " +
                                              std::to_string(max_line_bytes_) + " bytes"});
        }
        if (auto line = received_.take()) return std::move(*line);
        const auto count = ::recv(fd_, chunk.data(), chunk.size(), MSG_DONTWAIT);
        if (count > 0) {
            received_.append({chunk.data(), static_cast<std::size_t>(count)});
        } else if (count == 0 || errno == ECONNRESET) {
            const auto* middle = received_.empty() ? "" : " in the middle of a line";
            return std::unexpected(
                Error{ErrorKind::Closed, peer_.text() + " closed the connection" + middle});
        } else if (errno == EAGAIN) {
            if (wait_for(fd_, POLLIN, deadline) == Waited::Deadline) {
                return std::unexpected(
                    Error{ErrorKind::TimedOut, peer_.text() + " has not answered in time"});
            }
        } else if (errno != EINTR) {
            return std::unexpected(system_error("cannot receive from " + peer_.text(), errno));
        }
    }
}

} // namespace veriroce::net
