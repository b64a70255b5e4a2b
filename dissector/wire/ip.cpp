#include "dissector/wire/ip.hpp"

#include <algorithm>

#include "dissector/wire/udp.hpp"

namespace veriroce::wire {

std::uint32_t checksum_add(Bytes bytes, std::uint32_t sum) {
    std::uint64_t total = sum;
    std::size_t at = 0;
    for (; at + 4 <= bytes.size(); at += 4)
        total += load_u32(bytes, at);
    if (at + 2 <= bytes.size()) {
        total += load_u16(bytes, at);
        at += 2;
    }
    if (at < bytes.size()) total += static_cast<std::uint64_t>(load_u8(bytes, at)) << 8;
    // 2^16 and 2^32 are both 1 modulo 0xFFFF, so that words may be added in pairs and carries back.
    total = (total & 0xFFFFFFFF) + (total >> 32);
    return static_cast<std::uint32_t>(total + (total >> 32));
}

namespace {

// Addresses, protocol and length (RFC 768, RFC 8200).
std::uint32_t pseudo_header_sum(Bytes addresses, std::size_t length) {
    return checksum_add(addresses, static_cast<std::uint32_t>(length) + kProtocolUdp);
}

std::uint16_t udp_checksum(Bytes addresses, Bytes datagram, std::size_t length) {
    constexpr std::size_t kChecksumAt = 6;
    std::uint32_t sum = pseudo_header_sum(addresses, length);
    sum = checksum_add(datagram.first(kChecksumAt), sum);
    sum = checksum_add(datagram.subspan(Udp::kSize), sum);
    const std::uint16_t folded = checksum_fold(sum);
    return folded == 0 ? 0xFFFF : folded; // 0 says that there is none
}

} // namespace

std::uint16_t udp_checksum(Bytes addresses, Bytes datagram) {
    const std::uint16_t length = load_u16(datagram, 4);
    const std::size_t counted = std::clamp<std::size_t>(length, Udp::kSize, datagram.size());
    return udp_checksum(addresses, datagram.first(counted), length);
}

std::uint16_t udp_checksum_of(Bytes addresses, Bytes datagram) {
    return udp_checksum(addresses, datagram, datagram.size());
}

std::uint16_t unfinished_udp_checksum(Bytes addresses, Bytes datagram) {
    const std::uint32_t sum = pseudo_header_sum(addresses, load_u16(datagram, 4));
    return static_cast<std::uint16_t>(~checksum_fold(sum));
}

} // namespace veriroce::wire
