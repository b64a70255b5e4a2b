// A digest of the parts that a retransmission must repeat (REQ-31): the extended headers and the
// payload, but nothing else of the BTH than its opcode, and no outer header. Also a digest of plain
// bytes.
#pragma once

#include <array>
#include <cstddef>

#include "dissector/flow/packet.hpp"

namespace veriroce::flow {

// BTH and extended headers as they are on the wire, so that a digest forgets none of them.
struct TransportHeaders {
    explicit TransportHeaders(const wire::Packet& packet);

    std::array<std::byte, wire::kMaxTransportHeaderBytes> bytes{};
    std::size_t size = 0;
};
std::uint64_t digest_of(const TransportHeaders& headers);

// 0 if the capture does not hold the whole packet; otherwise never 0.
std::uint64_t digest_of(const Packet& packet);
std::uint64_t digest_of_bytes(wire::Bytes bytes);

// What no switch changes of a packet's headers, by which two capture points know it again:
// transport headers without the bits that switches write (CRC-05, CRC-06), addresses, UDP source
// port, IPv4 identification, length. Of IPv6 packets a retransmission that differs in nothing has
// the same.
std::uint64_t identity_of_headers(const Packet& packet);

inline constexpr std::uint64_t kDigestFactor = 0x9E3779B97F4A7C15U;

// Adds a number to a digest.
constexpr void mix_into(std::uint64_t& digest, std::uint64_t word) {
    digest = (digest ^ word) * kDigestFactor;
    digest ^= digest >> 32;
}

} // namespace veriroce::flow
