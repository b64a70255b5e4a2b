#include "transport/net/udp_link.hpp"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "dissector/wire/bth.hpp"
#include "transport/net/descriptor.hpp"
#include "transport/net/receive_batch.hpp"
#include "transport/net/send_batch.hpp"
#include "transport/net/socket_address.hpp"

namespace veriroce::net {

namespace {

constexpr int kBufferBytes = 8 << 20;

// Messages per system call. With joined datagrams a message may have 64 KiB; four of them fit into
// a core's own cache.
constexpr std::size_t kMessages = 64;
constexpr std::size_t kJoinedMessages = 4;

struct Option {
    int level;
    int name;
    int value;
};

// Makes the kernel send identification 0 and report metadata of received datagrams. PROBE sets DF
// and ignores path MTU discovery. The most common envelope values are the socket's own, so that
// they need not be passed with every datagram.
constexpr std::array kOptionsV4{
    Option{IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE},
    Option{IPPROTO_IP, IP_TTL, wire::Envelope{}.hop_limit},
    Option{IPPROTO_IP, IP_RECVTOS, 1},
    Option{IPPROTO_IP, IP_RECVTTL, 1},
};
constexpr std::array kOptionsV6{
    Option{IPPROTO_IPV6, IPV6_V6ONLY, 1},
    Option{IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE},
    Option{IPPROTO_IPV6, IPV6_UNICAST_HOPS, wire::Envelope{}.hop_limit},
    Option{IPPROTO_IPV6, IPV6_RECVTCLASS, 1},
    Option{IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1},
    Option{IPPROTO_UDP, UDP_NO_CHECK6_TX, 1}, // ENC-05: senders write 0
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

// The offloads that the kernel has for this socket; enables those for receiving.
UdpLink::Offloads switch_on_offloads(int fd, bool v4) {
    constexpr int kOff = 0;
    constexpr int kOn = 1;
    const auto set = [fd](int level, int name, int value) {
        return ::setsockopt(fd, level, name, &value, sizeof value) == 0;
    };
    UdpLink::Offloads offloads;
    offloads.receive = set(IPPROTO_UDP, UDP_GRO, kOn);
    // The size is passed with each run. A run over IPv6 must have a checksum.
    offloads.send =
        set(IPPROTO_UDP, UDP_SEGMENT, 0) && (v4 || set(IPPROTO_UDP, UDP_NO_CHECK6_TX, kOff));
    return offloads;
}

class SocketLink final : public UdpLink {
  public:
    SocketLink(Descriptor socket, const wire::IpAddress& address, std::uint16_t port,
               Offloads offloads, bool expected_ids_only)
        : socket_(std::move(socket)), address_(address), port_(port),
          receives_joined_(offloads.receive), sending_(offloads.send),
          receiving_({.to = {.destination = address, .destination_port = port},
                      .messages = offloads.receive ? kJoinedMessages : kMessages,
                      .joined = offloads.receive,
                      .expected_ids_only = expected_ids_only}) {}

    const wire::IpAddress& address() const override { return address_; }
    std::uint16_t port() const override { return port_; }
    int fd() const override { return socket_.fd(); }
    Offloads offloads() const override { return {sending_.segmented(), receives_joined_}; }
    std::uint64_t too_short() const override { return receiving_.too_short(); }
    std::uint64_t bad_icrc() const override { return receiving_.bad_icrc(); }
    std::uint64_t refused() const override { return refused_; }

    std::expected<void, Error> send(const wire::Envelope& envelope, wire::Bytes headers,
                                    wire::Bytes payload) override;
    std::expected<void, Error> queue(const wire::Envelope& envelope, wire::Bytes headers,
                                     wire::Bytes payload, std::uint8_t pad) override;
    std::expected<void, Error> flush() override;
    std::expected<std::optional<UdpReceived>, Error> receive(wire::Instant deadline,
                                                             std::span<const int> also) override;
    std::expected<std::span<const UdpReceived>, Error>
    receive_batch(wire::Instant deadline, std::span<const int> also) override;

  private:
    Descriptor socket_;
    wire::IpAddress address_;
    std::uint16_t port_ = 0;
    bool receives_joined_ = false;
    SendBatch sending_;
    ReceiveBatch receiving_;
    std::size_t taken_ = 0; // of receiving_, by receive()
    std::vector<std::byte> gathered_;
    std::uint64_t refused_ = 0;
};

std::expected<void, Error> SocketLink::send(const wire::Envelope& envelope, wire::Bytes headers,
                                            wire::Bytes payload) {
    if (auto queued = queue(envelope, headers, payload, 0); !queued) return queued;
    return flush();
}

std::expected<void, Error> SocketLink::queue(const wire::Envelope& envelope, wire::Bytes headers,
                                             wire::Bytes payload, std::uint8_t pad) {
    if (envelope.destination.v4() != address_.v4()) {
        ++refused_;
        return std::unexpected(
            Error{ErrorKind::Unreachable, "no route from " + address_.text() + " to " +
                                              envelope.destination.text() +
                                              ": both must be IPv4, or both IPv6"});
    }
    const auto bytes = headers.size() + payload.size() + pad + wire::kIcrcBytes;
    if (bytes > SendBatch::kMostRunBytes) {
        ++refused_;
        SendBatch::Outcome outcome;
        outcome.refuse(bytes, envelope.destination, EMSGSIZE);
        return std::unexpected(std::move(*outcome.why));
    }
    auto actual = envelope;
    actual.source = address_;
    actual.source_port = port_;
    actual.vlan.reset();
    if (headers.size() >= wire::Bth::kSize && headers.size() <= IcrcHeaders::kMostHeadBytes) {
        sending_.add(actual, headers, payload, pad);
        return sending_.full() ? flush() : std::expected<void, Error>{};
    }
    // Not RoCE headers: the ICRC cannot be split off as usual, and the bytes must be sent before
    // they are reused.
    auto before = flush();
    gathered_.assign(headers.begin(), headers.end());
    gathered_.insert(gathered_.end(), payload.begin(), payload.end());
    const auto all = wire::Bytes(gathered_);
    const auto head = all.first(std::min(all.size(), IcrcHeaders::kMostHeadBytes));
    sending_.add(actual, head, all.subspan(head.size()), pad);
    auto sent = flush();
    return before ? sent : before;
}

std::expected<void, Error> SocketLink::flush() {
    auto outcome = sending_.flush(fd());
    refused_ += outcome.refused;
    if (outcome.why) return std::unexpected(std::move(*outcome.why));
    return {};
}

std::expected<std::span<const UdpReceived>, Error>
SocketLink::receive_batch(wire::Instant deadline, std::span<const int> also) {
    const auto rest = receiving_.datagrams().subspan(taken_);
    taken_ = receiving_.datagrams().size();
    if (!rest.empty()) return rest;
    for (;;) {
        const auto messages = receiving_.fetch(fd());
        taken_ = receiving_.datagrams().size();
        if (!messages) {
            return std::unexpected(
                system_error("cannot receive on " + address_.text(), messages.error()));
        }
        if (taken_ != 0) return receiving_.datagrams();
        if (*messages != 0) continue;                                        // all were too short
        if (deadline == wire::Instant::min()) return receiving_.datagrams(); // do not wait
        if (wait_for(fd(), POLLIN, deadline, also) != Waited::Ready) return receiving_.datagrams();
    }
}

std::expected<std::optional<UdpReceived>, Error> SocketLink::receive(wire::Instant deadline,
                                                                     std::span<const int> also) {
    const auto batch = receive_batch(deadline, also);
    if (!batch) return std::unexpected(batch.error());
    if (batch->empty()) return std::nullopt;
    taken_ -= batch->size() - 1; // the remaining ones stay for the next receive
    return batch->front();
}

} // namespace

std::expected<std::unique_ptr<UdpLink>, Error> UdpLink::open(const wire::IpAddress& local,
                                                             const UdpLinkOptions& options) {
    auto where = SocketAddress::of(local, options.port);
    const auto text = where.text();
    Descriptor socket(::socket(where.family(), SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.valid()) return std::unexpected(open_error(text, errno));
    const int refused =
        local.v4() ? set_options(socket.fd(), kOptionsV4) : set_options(socket.fd(), kOptionsV6);
    if (refused != 0) return std::unexpected(open_error(text, refused));
    Offloads offloads;
    if (options.offload) offloads = switch_on_offloads(socket.fd(), local.v4());
    if (::bind(socket.fd(), where.get(), where.size) != 0) {
        return std::unexpected(open_error(text, errno));
    }
    ::getsockname(socket.fd(), where.get(), &where.size);
    return std::make_unique<SocketLink>(std::move(socket), local, where.port(), offloads,
                                        options.expected_ids_only);
}

} // namespace veriroce::net
