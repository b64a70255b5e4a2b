#include "transport/net/udp_link.hpp"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <vector>

#include "dissector/wire/bth.hpp"
#include "dissector/wire/icrc.hpp"
#include "transport/net/clock.hpp"
#include "transport/net/control_messages.hpp"
#include "transport/net/descriptor.hpp"
#include "transport/net/socket_address.hpp"

namespace veriroce::net {

namespace {

constexpr std::size_t kLargestDatagram = 64U << 10U;
constexpr int kBufferBytes = 8 << 20;

struct Option {
    int level;
    int name;
    int value;
};

// What makes the kernel send identification 0 and tell what it knows of what it received.
// PROBE sets DF and trusts the interface's MTU alone.
constexpr std::array kOptionsV4{
    Option{IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE},
    Option{IPPROTO_IP, IP_RECVTOS, 1},
    Option{IPPROTO_IP, IP_RECVTTL, 1},
};
constexpr std::array kOptionsV6{
    Option{IPPROTO_IPV6, IPV6_V6ONLY, 1},
    Option{IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE},
    Option{IPPROTO_IPV6, IPV6_RECVTCLASS, 1},
    Option{IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1},
    Option{IPPROTO_UDP, UDP_NO_CHECK6_TX, 1}, // ENC-05: senders write 0 there
    Option{IPPROTO_UDP, UDP_NO_CHECK6_RX, 1},
};

int set_options(int fd, std::span<const Option> options) {
    for (const auto& option : options) {
        if (::setsockopt(fd, option.level, option.name, &option.value, sizeof option.value) != 0) {
            return errno;
        }
    }
    const int on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kBufferBytes, sizeof kBufferBytes);
    return ::setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) != 0 ? errno : 0;
}

Error open_error(const std::string& where, int number) {
    if (number == EADDRINUSE) {
        return {ErrorKind::PortTaken, "UDP " + where +
                                          " is taken: end the other veriroce or the RDMA device "
                                          "that holds it (see ss -ulpn)"};
    }
    if (number == EADDRNOTAVAIL) {
        return {ErrorKind::BadAddress,
                "cannot use UDP " + where + ": this host does not have that address (see ip addr)"};
    }
    return system_error("cannot use UDP " + where, number);
}

class SocketLink final : public UdpLink {
  public:
    SocketLink(Descriptor socket, const wire::IpAddress& address, std::uint16_t port)
        : socket_(std::move(socket)), address_(address), port_(port) {}

    const wire::IpAddress& address() const override { return address_; }
    std::uint16_t port() const override { return port_; }
    int fd() const override { return socket_.fd(); }
    std::uint64_t too_short() const override { return too_short_; }

    std::expected<void, Error> send(const wire::Envelope& envelope, wire::Bytes headers,
                                    wire::Bytes payload) override;
    std::expected<std::optional<UdpReceived>, Error> receive(wire::Instant deadline,
                                                             std::span<const int> also) override;

  private:
    // The next datagram that waits; nothing if none does. The error is an errno.
    std::expected<std::optional<UdpReceived>, int> take();

    Descriptor socket_;
    wire::IpAddress address_;
    std::uint16_t port_ = 0;
    KernelClock clock_;
    std::uint64_t too_short_ = 0;
    std::vector<std::byte> received_ = std::vector<std::byte>(kLargestDatagram);
    std::vector<std::byte> frame_;
};

void add_ip_fields(ControlMessages& controls, const wire::Envelope& envelope) {
    const int traffic_class = envelope.dscp << 2 | envelope.ecn;
    const int hop_limit = envelope.hop_limit;
    const bool v4 = envelope.destination.v4();
    controls.add(v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_TOS : IPV6_TCLASS, traffic_class);
    controls.add(v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_TTL : IPV6_HOPLIMIT, hop_limit);
}

std::expected<void, Error> SocketLink::send(const wire::Envelope& envelope, wire::Bytes headers,
                                            wire::Bytes payload) {
    auto actual = envelope;
    actual.source = address_;
    actual.source_port = port_;
    actual.vlan.reset();
    if (actual.destination.v4() != address_.v4()) {
        return std::unexpected(
            Error{ErrorKind::Unreachable, "no way from " + address_.text() + " to " +
                                              actual.destination.text() +
                                              ": both must be IPv4, or both IPv6"});
    }
    const auto outer = wire::outer_bytes(actual);
    frame_.resize(outer + headers.size() + payload.size() + wire::kIcrcBytes);
    // The kernel writes the outer headers once more; these are for the ICRC.
    wire::write_frame({}, actual, 0, headers, payload, frame_);

    auto to = SocketAddress::of(actual.destination, actual.destination_port);
    ControlMessages controls;
    add_ip_fields(controls, actual);
    iovec place{frame_.data() + outer, frame_.size() - outer};
    msghdr message{};
    message.msg_name = to.get();
    message.msg_namelen = to.size;
    message.msg_iov = &place;
    message.msg_iovlen = 1;
    controls.attach_to(message);
    while (::sendmsg(fd(), &message, 0) < 0) {
        if (errno == EINTR) continue;
        const auto what = "a datagram of " + std::to_string(place.iov_len) + " bytes";
        if (errno == EMSGSIZE) {
            return std::unexpected(
                Error{ErrorKind::TooLong, what + " does not fit the MTU of the way to " +
                                              actual.destination.text() +
                                              ": raise it, or use a smaller path MTU"});
        }
        return std::unexpected(
            system_error("cannot send " + what + " to " + actual.destination.text(), errno));
    }
    return {};
}

std::expected<std::optional<UdpReceived>, int> SocketLink::take() {
    SocketAddress from;
    iovec place{received_.data(), received_.size()};
    alignas(cmsghdr) std::array<std::byte, 256> controls{};
    msghdr message{};
    message.msg_name = from.get();
    message.msg_namelen = sizeof from.storage;
    message.msg_iov = &place;
    message.msg_iovlen = 1;
    message.msg_control = controls.data();
    message.msg_controllen = controls.size();
    const auto count = ::recvmsg(fd(), &message, MSG_DONTWAIT);
    if (count < 0) {
        if (errno == EAGAIN || errno == EINTR) return std::nullopt;
        return std::unexpected(errno);
    }

    UdpReceived received;
    received.stamp = monotonic_now();
    auto& envelope = received.datagram.envelope;
    envelope.source = from.ip();
    envelope.source_port = from.port();
    envelope.destination = address_;
    envelope.destination_port = port_;
    std::uint8_t tos = 0;
    int traffic_class = 0;
    int hop_limit = envelope.hop_limit;
    for (auto* control = CMSG_FIRSTHDR(&message); control != nullptr;
         control = CMSG_NXTHDR(&message, control)) {
        timespec stamp{};
        if (read_control(*control, IPPROTO_IP, IP_TOS, tos)) traffic_class = tos; // one byte there
        read_control(*control, IPPROTO_IPV6, IPV6_TCLASS, traffic_class);
        read_control(*control, IPPROTO_IP, IP_TTL, hop_limit);
        read_control(*control, IPPROTO_IPV6, IPV6_HOPLIMIT, hop_limit);
        if (read_control(*control, SOL_SOCKET, SCM_TIMESTAMPNS, stamp)) {
            received.stamp = clock_.to_monotonic(stamp.tv_sec * 1'000'000'000LL + stamp.tv_nsec);
        }
    }
    envelope.dscp = static_cast<std::uint8_t>(traffic_class >> 2 & 0x3F);
    envelope.ecn = static_cast<std::uint8_t>(traffic_class & 0x3);
    envelope.hop_limit = static_cast<std::uint8_t>(hop_limit);
    received.datagram.bytes = wire::Bytes(received_).first(static_cast<std::size_t>(count));
    return received;
}

std::expected<std::optional<UdpReceived>, Error> SocketLink::receive(wire::Instant deadline,
                                                                     std::span<const int> also) {
    for (;;) {
        auto taken = take();
        if (!taken) {
            return std::unexpected(
                system_error("cannot receive on " + address_.text(), taken.error()));
        }
        if (*taken) {
            auto& received = **taken;
            auto& bytes = received.datagram.bytes;
            if (bytes.size() < wire::Bth::kSize + wire::kIcrcBytes) {
                ++too_short_;
                continue;
            }
            received.icrc = wire::load_icrc(bytes.last(wire::kIcrcBytes));
            bytes = bytes.first(bytes.size() - wire::kIcrcBytes);
            received.icrc_good =
                icrc_matches_some_id(received.datagram.envelope, bytes, received.icrc).has_value();
            return std::move(*taken);
        }
        if (wait_for(fd(), POLLIN, deadline, also) != Waited::Ready) return std::nullopt;
    }
}

} // namespace

std::expected<std::unique_ptr<UdpLink>, Error> UdpLink::open(const wire::IpAddress& local,
                                                             std::uint16_t port) {
    auto where = SocketAddress::of(local, port);
    const auto text = where.text();
    Descriptor socket(::socket(where.family(), SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.valid()) return std::unexpected(open_error(text, errno));
    const int refused =
        local.v4() ? set_options(socket.fd(), kOptionsV4) : set_options(socket.fd(), kOptionsV6);
    if (refused != 0) return std::unexpected(open_error(text, refused));
    if (::bind(socket.fd(), where.get(), where.size) != 0) {
        return std::unexpected(open_error(text, errno));
    }
    ::getsockname(socket.fd(), where.get(), &where.size);
    return std::make_unique<SocketLink>(std::move(socket), local, where.port());
}

} // namespace veriroce::net
