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

std::uint32_t pseudo_header_sum(Bytes addresses, std::uint16_t length) {
    std::array<std::byte, 4> rest{}; // what stands in it beside the addresses
    store_be<2>(rest, 0, kProtocolUdp);
    store_be<2>(rest, 2, length);
    return checksum_add(addresses, checksum_add(rest));
}

} // namespace

std::uint16_t udp_checksum(Bytes addresses, Bytes datagram) {
    const std::uint16_t length = load_u16(datagram, 4);
    const std::size_t counted = std::clamp<std::size_t>(length, Udp::kSize, datagram.size());
    std::uint32_t sum = pseudo_header_sum(addresses, length);
    sum = checksum_add(datagram.first(6), sum);
    sum = checksum_add(datagram.first(counted).subspan(Udp::kSize), sum);
    const std::uint16_t folded = checksum_fold(sum);
    return folded == 0 ? 0xFFFF : folded;
}

std::uint16_t unfinished_udp_checksum(Bytes addresses, Bytes datagram) {
    const std::uint32_t sum = pseudo_header_sum(addresses, load_u16(datagram, 4));
    return static_cast<std::uint16_t>(~checksum_fold(sum));
}

} // namespace veriroce::wire
