// Packets for the UDP link's tests: known by their PSN, with content that follows from it, so that
// what arrived is compared byte by byte.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dissector/wire/bth.hpp"
#include "tests/transport/net/lab.hpp"
#include "transport/net/udp_link.hpp"

namespace veriroce::net_test {

std::unique_ptr<net::UdpLink> open_udp(const std::string& address,
                                       const net::UdpLinkOptions& options = {});

// Frames of 9,000 bytes on both sides.
void allow_jumbo_frames(const Lab& lab);

// Header, payload and pad of a SEND_ONLY; `payload_bytes` need not be a multiple of four.
struct UdpPacket {
    std::array<std::byte, wire::Bth::kSize> header{};
    std::vector<std::byte> payload;
    std::uint8_t pad = 0;

    UdpPacket(std::uint32_t psn, std::size_t payload_bytes);
    // What must arrive: BTH to the last pad byte.
    [[nodiscard]] std::vector<std::byte> bytes() const;
};

// `count` packets of one size with PSNs that count up from `first_psn`.
std::vector<UdpPacket> udp_packets(std::size_t count, std::size_t payload_bytes,
                                   std::uint32_t first_psn = 1);

// Queues them, without flush; the test fails where the link refuses. They must stay until then.
void queue_all(net::UdpLink& link, std::span<const UdpPacket> packets,
               const wire::Envelope& envelope);

// A datagram as it was received, with bytes of its own.
struct UdpSeen {
    net::UdpReceived received;
    std::vector<std::byte> bytes;
};
// As many datagrams as named, and nothing after them; the test fails if they do not come.
std::vector<UdpSeen> receive_count(net::UdpLink& link, std::size_t count);

// The number of datagrams that are not, at their place, what was sent.
std::size_t differences(const std::vector<UdpSeen>& seen, const std::vector<UdpPacket>& sent);

} // namespace veriroce::net_test
