#include "dissector/wire/icrc.hpp"

#include <algorithm>

#include <isa-l/crc.h>

#include "dissector/wire/bth.hpp"
#include "dissector/wire/ip.hpp"
#include "dissector/wire/udp.hpp"

namespace veriroce::wire {
namespace {

// CRC-32 of eight bytes of ones, which stand for the LRH that RoCEv2 does not have (CRC-01).
constexpr std::uint32_t kAfterDummyLrh = 0x2144DF1C;

// ISA-L complements the seed it is given and the result it returns, so that the CRC of one piece
// is the seed of the next.
std::uint32_t crc32(std::uint32_t seed, Bytes bytes) {
    if (bytes.empty()) return seed;
    return crc32_gzip_refl(seed, reinterpret_cast<const unsigned char*>(bytes.data()),
                           bytes.size());
}

// The longest IP header, UDP and the part of the BTH in which bits are masked.
constexpr std::size_t kLargestIpHeader = 60;
constexpr std::size_t kMaskedBthBytes = 5;
constexpr std::size_t kLargestMasked = kLargestIpHeader + Udp::kSize + kMaskedBthBytes;

// The head of the packet with its mutable bits turned to ones. What lies beyond the end of a head
// that is too short is left alone.
class MaskedHead {
  public:
    explicit MaskedHead(Bytes headers) {
        const unsigned first = headers.empty() ? 0U : load_u8(headers, 0);
        const bool v6 = first >> 4 == 6;
        const std::size_t ip_bytes =
            v6 ? Ipv6::kSize : std::max<std::size_t>((first & 0xFU) * std::size_t{4}, Ipv4::kSize);
        size_ = std::min(ip_bytes + Udp::kSize + kMaskedBthBytes, headers.size());
        std::copy_n(headers.data(), size_, bytes_.data());
        v6 ? mask_ipv6() : mask_ipv4();
        mask(ip_bytes + 6, 0xFF); // UDP checksum (CRC-04)
        mask(ip_bytes + 7, 0xFF);
        mask(ip_bytes + Udp::kSize + 4, 0xFF); // FECN, BECN, reserved (CRC-05)
    }

    [[nodiscard]] Bytes bytes() const { return Bytes(bytes_).first(size_); }

  private:
    void mask(std::size_t at, unsigned bits) {
        if (at < size_) bytes_[at] |= static_cast<std::byte>(bits);
    }
    void mask_ipv4() {  // CRC-02
        mask(1, 0xFF);  // ToS
        mask(8, 0xFF);  // TTL
        mask(10, 0xFF); // header checksum
        mask(11, 0xFF);
    }
    void mask_ipv6() { // CRC-03
        mask(0, 0x0F); // traffic class and flow label
        mask(1, 0xFF);
        mask(2, 0xFF);
        mask(3, 0xFF);
        mask(7, 0xFF); // hop limit
    }

    std::array<std::byte, kLargestMasked> bytes_{};
    std::size_t size_ = 0;
};

} // namespace

std::uint32_t icrc(Bytes headers, Bytes rest) {
    const MaskedHead head(headers);
    std::uint32_t crc = crc32(kAfterDummyLrh, head.bytes());
    crc = crc32(crc, headers.subspan(head.bytes().size()));
    return crc32(crc, rest);
}

std::uint32_t icrc_unmasked(Bytes headers, Bytes rest) {
    return crc32(crc32(kAfterDummyLrh, headers), rest);
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
