#include "dissector/wire/ip.hpp"

#include <algorithm>

#include "dissector/wire/udp.hpp"

namespace veriroce::wire {

std::optional<Ipv4> Ipv4::decode(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    const unsigned first = load_u8(bytes, 0);
    const unsigned tos = load_u8(bytes, 1);
    const unsigned fragment = load_u16(bytes, 6);
    return Ipv4{
        .version = static_cast<std::uint8_t>(first >> 4),
        .header_length = static_cast<std::uint8_t>(first & 0xF),
        .dscp = static_cast<std::uint8_t>(tos >> 2),
        .ecn = static_cast<std::uint8_t>(tos & 0x3),
        .total_length = load_u16(bytes, 2),
        .id = load_u16(bytes, 4),
        .reserved_flag = (fragment & 0x8000) != 0,
        .dont_fragment = (fragment & 0x4000) != 0,
        .more_fragments = (fragment & 0x2000) != 0,
        .fragment_offset = static_cast<std::uint16_t>(fragment & 0x1FFF),
        .ttl = load_u8(bytes, 8),
        .protocol = load_u8(bytes, 9),
        .checksum = load_u16(bytes, 10),
        .source = load_u32(bytes, 12),
        .destination = load_u32(bytes, 16),
    };
}

void Ipv4::encode(MutableBytes out) const {
    store_be<1>(out, 0, (version & 0xFU) << 4 | (header_length & 0xFU));
    store_be<1>(out, 1, (dscp & 0x3FU) << 2 | (ecn & 0x3U));
    store_be<2>(out, 2, total_length);
    store_be<2>(out, 4, id);
    store_be<2>(out, 6,
                (reserved_flag ? 0x8000U : 0U) | (dont_fragment ? 0x4000U : 0U) |
                    (more_fragments ? 0x2000U : 0U) | (fragment_offset & 0x1FFFU));
    store_be<1>(out, 8, ttl);
    store_be<1>(out, 9, protocol);
    store_be<2>(out, 10, checksum);
    store_be<4>(out, 12, source);
    store_be<4>(out, 16, destination);
}

std::optional<Ipv6> Ipv6::decode(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    const std::uint32_t first = load_u32(bytes, 0);
    return Ipv6{
        .version = static_cast<std::uint8_t>(first >> 28),
        .dscp = static_cast<std::uint8_t>(first >> 22 & 0x3F),
        .ecn = static_cast<std::uint8_t>(first >> 20 & 0x3),
        .flow_label = first & 0xFFFFF,
        .payload_length = load_u16(bytes, 4),
        .next_header = load_u8(bytes, 6),
        .hop_limit = load_u8(bytes, 7),
        .source = IpAddress::from_v6(bytes.subspan(8, 16)),
        .destination = IpAddress::from_v6(bytes.subspan(24, 16)),
    };
}

void Ipv6::encode(MutableBytes out) const {
    store_be<4>(out, 0,
                (version & 0xFU) << 28 | (dscp & 0x3FU) << 22 | (ecn & 0x3U) << 20 |
                    (flow_label & 0xFFFFFU));
    store_be<2>(out, 4, payload_length);
    store_be<1>(out, 6, next_header);
    store_be<1>(out, 7, hop_limit);
    std::ranges::copy(source.bytes, out.begin() + 8);
    std::ranges::copy(destination.bytes, out.begin() + 24);
}

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
    while (total >> 32 != 0)
        total = (total & 0xFFFFFFFF) + (total >> 32);
    return static_cast<std::uint32_t>(total);
}

std::uint16_t checksum_fold(std::uint32_t sum) {
    while (sum >> 16 != 0)
        sum = (sum & 0xFFFF) + (sum >> 16);
    return static_cast<std::uint16_t>(~sum);
}

std::uint16_t ipv4_checksum(Bytes header) {
    return checksum_fold(checksum_add(header.subspan(12), checksum_add(header.first(10))));
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
