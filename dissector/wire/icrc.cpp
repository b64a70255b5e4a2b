#include "dissector/wire/icrc.hpp"

#include <algorithm>

#include "dissector/wire/bth.hpp"
#include "dissector/wire/crc32.hpp"
#include "dissector/wire/field_places.hpp"
#include "dissector/wire/ip.hpp"
#include "dissector/wire/udp.hpp"

namespace veriroce::wire {
namespace {

// CRC-32 of eight bytes of ones, in place of the LRH that RoCEv2 does not have (CRC-01).
constexpr std::uint32_t kAfterDummyLrh = 0x2144DF1C;

// Where bits are masked, in an IP header of this many bytes and what follows it: all of them lie
// in front of the BTH's end.
constexpr std::size_t head_bytes(std::size_t ip_bytes) {
    return ip_bytes + Udp::kSize + Bth::kSize;
}
template <std::size_t N>
using Head = std::array<std::byte, N>;

// The bits of a field, in a header that begins at `header_at`, count as ones.
template <std::size_t N>
constexpr void cover(Head<N>& mask, std::size_t header_at, Location field) {
    for (std::size_t bit = field.bit; bit < std::size_t{field.bit} + field.bits; ++bit)
        mask[header_at + bit / 8] |= std::byte{0x80} >> bit % 8;
}

template <std::size_t N>
constexpr void mask_bth(Head<N>& mask, std::size_t at) { // CRC-05
    cover(mask, at, where("roce.bth.fecn"));
    cover(mask, at, where("roce.bth.becn"));
    cover(mask, at, where("roce.bth.reserved6"));
}

template <std::size_t N>
constexpr void mask_udp_and_bth(Head<N>& mask, std::size_t ip_bytes) {
    cover(mask, ip_bytes, where("udp.checksum")); // CRC-04
    mask_bth(mask, ip_bytes + Udp::kSize);
}

template <std::size_t N>
constexpr void mask_ipv4(Head<N>& mask) { // CRC-02
    cover(mask, 0, where("ip.dsfield"));
    cover(mask, 0, where("ip.ttl"));
    cover(mask, 0, where("ip.checksum"));
}

// Of an IPv6 header, and of a GRH, which has the same fields (CRC-03).
template <std::size_t N>
constexpr void mask_ipv6(Head<N>& mask, std::size_t at) {
    cover(mask, at, where("ipv6.tclass"));
    cover(mask, at, where("ipv6.flow"));
    cover(mask, at, where("ipv6.hlim"));
}

constexpr MaskedHead kIpv4Head = [] {
    Head<head_bytes(Ipv4::kSize)> mask{};
    mask_ipv4(mask);
    mask_udp_and_bth(mask, Ipv4::kSize);
    return MaskedHead(kAfterDummyLrh, mask);
}();

constexpr Head<head_bytes(Ipv6::kSize)> kIpv6Mask = [] {
    Head<head_bytes(Ipv6::kSize)> mask{};
    mask_ipv6(mask, 0);
    mask_udp_and_bth(mask, Ipv6::kSize);
    return mask;
}();
constexpr MaskedHead kIpv6Head(kAfterDummyLrh, kIpv6Mask);

// IPv4 options, and packets that end before their BTH does.
std::uint32_t icrc_of_other_headers(Bytes headers, bool v6, std::size_t ip_bytes) {
    Head<head_bytes(60)> mask{};
    if (v6) {
        std::ranges::copy(kIpv6Mask, mask.begin());
    } else {
        mask_ipv4(mask);
        mask_udp_and_bth(mask, ip_bytes);
    }
    Head<head_bytes(60)> head{};
    const std::size_t size = std::min(head_bytes(ip_bytes), headers.size());
    for (std::size_t i = 0; i < size; ++i)
        head[i] = headers[i] | mask[i];
    const std::uint32_t crc = crc32(kAfterDummyLrh, Bytes(head).first(size));
    return crc32(crc, headers.subspan(size));
}

// The ICRC so far, of what is masked in part.
std::uint32_t icrc_of_headers(Bytes headers) {
    const unsigned first = headers.empty() ? 0U : load_u8(headers, 0);
    const bool v6 = first >> 4 == 6;
    const std::size_t ip_bytes =
        v6 ? Ipv6::kSize : std::max<std::size_t>((first & 0xFU) * std::size_t{4}, Ipv4::kSize);
    if (headers.size() < head_bytes(ip_bytes)) return icrc_of_other_headers(headers, v6, ip_bytes);
    if (v6) return crc32(kIpv6Head, headers);
    if (ip_bytes == Ipv4::kSize) return crc32(kIpv4Head, headers);
    return icrc_of_other_headers(headers, v6, ip_bytes);
}

} // namespace

std::uint32_t icrc(Bytes headers, Bytes rest) {
    return crc32(icrc_of_headers(headers), rest);
}

std::uint32_t copy_icrc(Bytes headers, Bytes rest, MutableBytes to) {
    return copy_crc32(icrc_of_headers(headers), rest, to);
}

std::uint32_t icrc_unmasked(Bytes headers, Bytes rest) {
    return crc32(crc32(kAfterDummyLrh, headers), rest);
}

namespace {

constexpr std::size_t kLrhBytes = 8;
constexpr std::size_t kGrhBytes = 40;

template <std::size_t N>
constexpr void mask_native(Head<N>& mask, std::size_t grh, std::size_t bth) {
    if (grh != bth) mask_ipv6(mask, grh);
    mask_bth(mask, bth);
}

std::uint32_t masked_crc(std::uint32_t seed, Bytes packet, Bytes mask) {
    std::array<std::byte, kLrhBytes + kGrhBytes + Bth::kSize> head{};
    const std::size_t size = std::min(mask.size(), packet.size());
    for (std::size_t i = 0; i < size; ++i)
        head[i] = packet[i] | mask[i];
    return crc32(crc32(seed, Bytes(head).first(size)), packet.subspan(size));
}

} // namespace

std::uint32_t icrc_from_grh(Bytes packet) {
    Head<kGrhBytes + Bth::kSize> mask{};
    mask_native(mask, 0, kGrhBytes);
    return masked_crc(kAfterDummyLrh, packet, mask);
}

std::uint32_t icrc_from_lrh(Bytes packet, bool has_grh) {
    Head<kLrhBytes + kGrhBytes + Bth::kSize> mask{};
    if (has_grh) {
        std::ranges::fill_n(mask.begin(), kLrhBytes, std::byte{0xFF});
    } else {
        mask[0] = std::byte{0xF0}; // virtual lane
    }
    const std::size_t bth = kLrhBytes + (has_grh ? kGrhBytes : 0);
    mask_native(mask, kLrhBytes, bth);
    return masked_crc(0, packet, Bytes(mask).first(bth + Bth::kSize));
}

std::uint32_t load_icrc(Bytes bytes) {
    return static_cast<std::uint32_t>(load_u8(bytes, 0) | load_u8(bytes, 1) << 8 |
                                      load_u8(bytes, 2) << 16) |
           static_cast<std::uint32_t>(load_u8(bytes, 3)) << 24;
}

void store_icrc(MutableBytes out, std::uint32_t value) {
    for (std::size_t i = 0; i < 4; ++i)
        store_be<1>(out, i, value >> (8 * i) & 0xFF);
}

} // namespace veriroce::wire
