// Internal: the messages that one system call received, split into datagrams with their ICRCs
// checked. All buffers are allocated once.
//
// With receive offload (UDP_GRO), a message may hold several datagrams from one sender. All have
// the same size, except that the last may be shorter. The kernel reports that size, but not the
// identifications.
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
        wire::Envelope to;        // the destination and port of every datagram
        std::size_t messages = 1; // per system call
        bool joined = false;      // a message may hold several datagrams
        bool expected_ids_only = false;
    };
    explicit ReceiveBatch(const Settings& settings);

    // Receives what is available, without waiting, and replaces the previous contents. Returns the
    // number of messages; the error is an errno.
    std::expected<std::size_t, int> fetch(int fd);

    // In order of arrival, without those too short for BTH and ICRC.
    [[nodiscard]] std::span<const UdpReceived> datagrams() const { return datagrams_; }

    [[nodiscard]] std::uint64_t too_short() const { return too_short_; }
    [[nodiscard]] std::uint64_t bad_icrc() const { return bad_icrc_; }

  private:
    // Metadata of a message.
    struct Facts {
        wire::Envelope envelope;
        wire::Instant stamp;
        std::size_t segment_bytes = 0; // 0: a single datagram
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
    std::vector<std::array<std::uint64_t, 32>> controls_; // aligned for cmsghdr
    std::vector<UdpReceived> datagrams_;
    std::uint64_t too_short_ = 0;
    std::uint64_t bad_icrc_ = 0;
};

} // namespace veriroce::net
