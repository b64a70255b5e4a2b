// IPv4 (RFC 791, RFC 2474, RFC 3168) and IPv6 (RFC 8200) headers. Options and extension headers
// are not part of these structs: `Ipv4::header_length` and `next_header` say that they follow.
#pragma once

#include <optional>

#include "dissector/wire/bytes.hpp"
#include "dissector/wire/ip_address.hpp"

namespace veriroce::wire {

inline constexpr std::uint8_t kProtocolTcp = 6;
inline constexpr std::uint8_t kProtocolUdp = 17;
inline constexpr std::size_t kShortestTcp = 20; // a header without options

inline constexpr std::uint8_t kMaxDscp = 0x3F;

struct Ipv4 {
    static constexpr std::size_t kSize = 20; // without options

    std::uint8_t version = 4;       // 4 bits
    std::uint8_t header_length = 5; // IHL, 4 bits, in words of 4 bytes
    std::uint8_t dscp = 0;          // 6 bits
    std::uint8_t ecn = 0;           // 2 bits
    std::uint16_t total_length = 0; // bytes, this header included
    std::uint16_t id = 0;           // covered by the ICRC
    bool reserved_flag = false;
    bool dont_fragment = false;
    bool more_fragments = false;
    std::uint16_t fragment_offset = 0; // 13 bits, in units of 8 bytes
    std::uint8_t ttl = 0;
    std::uint8_t protocol = 0;
    std::uint16_t checksum = 0;
    std::uint32_t source = 0;
    std::uint32_t destination = 0;

    friend constexpr bool operator==(const Ipv4&, const Ipv4&) = default;

    [[nodiscard]] constexpr std::size_t header_bytes() const {
        return std::size_t{header_length} * 4;
    }
    // The first kSize of `bytes`, which are there.
    static constexpr Ipv4 read(Bytes bytes) {
        assert(bytes.size() >= kSize);
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
    static constexpr std::optional<Ipv4> decode(Bytes bytes) {
        if (bytes.size() < kSize) return std::nullopt;
        return read(bytes);
    }

    constexpr void encode(MutableBytes out) const {
        assert(out.size() >= kSize);
        // In words, because the checksum reads words at once: a processor hands on to a load what
        // one store has written, and waits where several have.
        const std::uint32_t first = (version & 0xFU) << 28 | (header_length & 0xFU) << 24 |
                                    (dscp & 0x3FU) << 18 | (ecn & 0x3U) << 16;
        const std::uint32_t fragment =
            (reserved_flag ? 0x8000U : 0U) | (dont_fragment ? 0x4000U : 0U) |
            (more_fragments ? 0x2000U : 0U) | (fragment_offset & 0x1FFFU);
        store_be<4>(out, 0, first | total_length);
        store_be<4>(out, 4, std::uint32_t{id} << 16 | fragment);
        store_be<4>(out, 8, std::uint32_t{ttl} << 24 | std::uint32_t{protocol} << 16 | checksum);
        store_be<4>(out, 12, source);
        store_be<4>(out, 16, destination);
    }
};

struct Ipv6 {
    static constexpr std::size_t kSize = 40;

    std::uint8_t version = 6;         // 4 bits
    std::uint8_t dscp = 0;            // 6 bits
    std::uint8_t ecn = 0;             // 2 bits
    std::uint32_t flow_label = 0;     // 20 bits
    std::uint16_t payload_length = 0; // bytes after this header
    std::uint8_t next_header = 0;
    std::uint8_t hop_limit = 0;
    IpAddress source;
    IpAddress destination;

    friend constexpr bool operator==(const Ipv6&, const Ipv6&) = default;

    // The first kSize of `bytes`, which are there.
    static constexpr Ipv6 read(Bytes bytes) {
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
    static constexpr std::optional<Ipv6> decode(Bytes bytes) {
        if (bytes.size() < kSize) return std::nullopt;
        return read(bytes);
    }

    constexpr void encode(MutableBytes out) const {
        store_be<4>(out, 0,
                    (version & 0xFU) << 28 | (dscp & 0x3FU) << 22 | (ecn & 0x3U) << 20 |
                        (flow_label & 0xFFFFFU));
        store_be<2>(out, 4, payload_length);
        store_be<1>(out, 6, next_header);
        store_be<1>(out, 7, hop_limit);
        copy<16>(source.bytes, out.subspan(8));
        copy<16>(destination.bytes, out.subspan(24));
    }
};

// The Internet checksum (RFC 1071): adds the 16-bit words of `bytes` to a sum already made. Only
// the last piece of a sum may have an odd length.
std::uint32_t checksum_add(Bytes bytes, std::uint32_t sum = 0);
// Folds a sum, of less than 2^48, and complements it: the number that goes on the wire. Over bytes
// that already contain a right checksum it is 0.
constexpr std::uint16_t checksum_fold(std::uint64_t sum) {
    sum = (sum & 0xFFFFFFFF) + (sum >> 32U); // 2^32 is 1 modulo 0xFFFF
    sum = (sum & 0xFFFF) + (sum >> 16U);
    sum = (sum & 0xFFFF) + (sum >> 16U);
    return static_cast<std::uint16_t>(~(sum + (sum >> 16U)));
}

// The words of an IPv4 header, options included, added up; without a loop where it has 20 bytes, as
// nearly always. A header length that cannot be is taken at its word.
constexpr std::uint64_t ipv4_header_sum(Bytes header) {
    std::uint64_t sum = 0;
    if (header.size() == Ipv4::kSize) {
        for (std::size_t at = 0; at < Ipv4::kSize; at += 4)
            sum += load_u32(header, at);
        return sum;
    }
    std::size_t at = 0;
    for (; at + 4 <= header.size(); at += 4)
        sum += load_u32(header, at);
    return sum + checksum_add(header.subspan(at));
}

// The checksum of an IPv4 header; its own field counts as zero.
constexpr std::uint16_t ipv4_checksum(Bytes header) {
    return checksum_fold(ipv4_header_sum(header) - load_u16(header, 10));
}

// The checksum of a UDP datagram over its pseudo header (RFC 768, RFC 8200). `addresses` are source
// and destination as they are in the IP header (8 or 32 bytes); `datagram` begins at the UDP
// header, whose checksum field counts as zero and whose length field is the pseudo header's length;
// bytes beyond that length do not count. Never 0: a sum of zero is sent as 0xFFFF.
std::uint16_t udp_checksum(Bytes addresses, Bytes datagram);
// The same over all of `datagram`, whatever its length field says.
std::uint16_t udp_checksum_of(Bytes addresses, Bytes datagram);

// The sum of the pseudo header alone, folded and not complemented. It is what an operating system
// leaves in the checksum field for the network card to finish; captures taken before the card, and
// packets between two virtual machines of one host, have it.
std::uint16_t unfinished_udp_checksum(Bytes addresses, Bytes datagram);

} // namespace veriroce::wire
