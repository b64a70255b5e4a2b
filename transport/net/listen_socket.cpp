#include "transport/net/listen_socket.hpp"

#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "transport/net/socket_address.hpp"

namespace veriroce::net {

namespace {

// In a flood a client waits behind all of these, but is not lost; beyond it, it tries again after a
// second. The kernel's own limit is net.core.somaxconn.
constexpr int kBacklog = 512;

Error listen_error(const LineAddress& address, int number) {
    const auto where = address.text();
    switch (number) {
    case EADDRINUSE:
        return {ErrorKind::PortTaken, "cannot listen on " + where +
                                          ": another program already does; stop it, or choose " +
                                          (address.is_unix ? "another path" : "another port")};
    case EADDRNOTAVAIL:
        return {ErrorKind::BadAddress, "cannot listen on " + where +
                                           ": this host does not have that address (see ip addr)"};
    case EACCES:
    case EPERM:
        return {
            ErrorKind::NotPermitted,
            "not permitted to listen on " + where + ": choose " +
                (address.is_unix ? "a path in a folder that you may write" : "a port above 1023")};
    default: return system_error("cannot listen on " + where, number);
    }
}

// Removes the file of a stale Unix socket that no process listens on; leaves anything else.
void remove_stale(const LineAddress& address, const SocketAddress& where) {
    struct stat status{};
    if (::lstat(address.host.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return;
    const Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (::connect(probe.fd(), where.get(), where.size) != 0 && errno == ECONNREFUSED) {
        ::unlink(address.host.c_str());
    }
}

} // namespace

std::expected<ListenSocket, Error> open_listen_socket(const LineAddress& address) {
    const auto addresses = socket_addresses(address);
    if (!addresses) return std::unexpected(addresses.error());
    auto where = addresses->front();
    Descriptor socket(::socket(where.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.valid()) return std::unexpected(listen_error(address, errno));
    if (address.is_unix) {
        remove_stale(address, where);
        ::fchmod(socket.fd(), S_IRUSR | S_IWUSR); // bind creates the file with this mode
    } else {
        const int on = 1;
        ::setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        ::setsockopt(socket.fd(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on); // fails on IPv4
    }
    if (::bind(socket.fd(), where.get(), where.size) != 0 || ::listen(socket.fd(), kBacklog) != 0) {
        return std::unexpected(listen_error(address, errno));
    }
    auto actual = address;
    if (!address.is_unix) {
        ::getsockname(socket.fd(), where.get(), &where.size);
        actual.port = where.port();
    }
    return ListenSocket{std::move(socket), std::move(actual)};
}

} // namespace veriroce::net
