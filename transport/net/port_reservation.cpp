#include "transport/net/port_reservation.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "dissector/wire/udp.hpp"
#include "transport/net/clock.hpp"
#include "transport/net/packet_filter.hpp"
#include "transport/net/socket_address.hpp"

namespace veriroce::net {

namespace {

// A new IPv6 address cannot be bound until duplicate address detection has finished (1 s).
constexpr auto kTentativeTime = std::chrono::milliseconds(2500);
constexpr auto kRetryPause = std::chrono::milliseconds(50);

// Returns 0 or an errno.
int bind_patiently(const Descriptor& socket, const SocketAddress& where) {
    const auto deadline = monotonic_now() + kTentativeTime;
    for (;;) {
        if (::bind(socket.fd(), where.get(), where.size) == 0) return 0;
        if (errno != EADDRNOTAVAIL || monotonic_now() >= deadline) return errno;
        ::poll(nullptr, 0, kRetryPause.count());
    }
}

} // namespace

std::expected<std::vector<Descriptor>, Error> reserve_roce_port(const Interface& interface) {
    std::vector<Descriptor> held;
    for (const auto& address : interface.addresses) {
        const auto where = SocketAddress::of(address, wire::kRocePort, interface.index);
        Descriptor socket(::socket(where.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
        int number = socket.valid() ? attach(socket.fd(), drop_all_filter()) : errno;
        if (number == 0) {
            const int on = 1;
            ::setsockopt(socket.fd(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on); // fails on IPv4
            number = bind_patiently(socket, where);
        }
        if (number == EADDRINUSE) {
            return std::unexpected(
                Error{ErrorKind::PortTaken, "UDP port 4791 on " + address.text() +
                                                " is taken: end the other veriroce or the RDMA "
                                                "device that holds it (see ss -ulpn)"});
        }
        if (number != 0) {
            return std::unexpected(
                system_error("cannot hold UDP port 4791 on " + address.text(), number));
        }
        held.push_back(std::move(socket));
    }
    return held;
}

} // namespace veriroce::net
