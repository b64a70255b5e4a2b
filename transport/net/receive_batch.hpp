// Inside this room: what one system call has fetched from a socket, taken apart into datagrams with
// their ICRCs checked. Everything lies in buffers that are made once.
//
// With receive offload (UDP_GRO) a message may hold several datagrams of one sender, of one size
// but for a shorter last one; the kernel says that size beside it, and not the identifications.
#pragma once

#include <sys/socket.h>

#include <array>
#include <expected>
#include <memory>
#include <span>
#include <vector>

#include "transport/net/clock.hpp"
#include "transport/net/socket_address.hpp"
#include "transport/net/udp_icrc.hpp"
#include "transport/net/udp_link.hpp"

namespace veriroce::net {

class ReceiveBatch {
  public:
    struct Settings {
        wire::Envelope to;        // whose destination and port every datagram has
        std::size_t messages = 1; // of one call
        bool joined = false;      // a message may hold several datagrams
        bool expected_ids_only = false;
    };
    explicit ReceiveBatch(const Settings& settings);

    // Fetches what waits, without waiting for more, in place of what was here before. Returns how
    // many messages that were; the error is an errno.
    std::expected<std::size_t, int> fetch(int fd);

    // In the order of their arrival; those that are too short for BTH and ICRC are left out.
    [[nodiscard]] std::span<const UdpReceived> datagrams() const { return datagrams_; }

    [[nodiscard]] std::uint64_t too_short() const { return too_short_; }
    [[nodiscard]] std::uint64_t bad_icrc() const { return bad_icrc_; }

  private:
    // What a message says beside its bytes.
    struct Facts {
        wire::Envelope envelope;
        wire::Instant stamp;
        std::size_t segment_bytes = 0; // 0: a datagram alone
    };
    [[nodiscard]] Facts facts_of(std::size_t index);
    void take_apart(const Facts& facts, wire::Bytes bytes);
    void take_one(const Facts& facts, wire::Bytes bytes);

    Settings settings_;
    KernelClock clock_;
    IcrcCheck icrc_;
    std::unique_ptr<std::byte[]> bytes_;
    std::vector<iovec> places_;
    std::vector<SocketAddress> senders_;
    std::vector<mmsghdr> calls_;
    std::vector<std::array<std::uint64_t, 32>> controls_; // aligned as a cmsghdr
    std::vector<UdpReceived> datagrams_;
    std::uint64_t too_short_ = 0;
    std::uint64_t bad_icrc_ = 0;
};

} // namespace veriroce::net
