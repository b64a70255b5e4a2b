// An IPv4 or IPv6 address, and the Ethernet MAC address beside it.
//
// An IPv4 address is kept in its IPv4-mapped form (::ffff:a.b.c.d), which is also the form that a
// RoCEv2 GID has (rule CM-13).
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "dissector/wire/bytes.hpp"

namespace veriroce::wire {

struct IpAddress {
    std::array<std::byte, 16> bytes{};

    friend constexpr bool operator==(const IpAddress& a, const IpAddress& b) {
        return a.half(0) == b.half(0) && a.half(1) == b.half(1);
    }

    [[nodiscard]] constexpr bool v4() const { return half(0) == 0 && load_u32(bytes, 8) == 0xFFFF; }
    // The last four bytes as a number; the address itself if it is IPv4.
    [[nodiscard]] constexpr std::uint32_t low32() const { return load_u32(bytes, 12); }

    static constexpr IpAddress from_v4(std::uint32_t value) {
        IpAddress address;
        store_be<8>(address.bytes, 8, std::uint64_t{0xFFFF} << 32 | value);
        return address;
    }
    // `bytes` has 16 of them.
    static constexpr IpAddress from_v6(Bytes bytes) {
        IpAddress address;
        copy<16>(bytes, address.bytes);
        return address;
    }

    // "10.77.0.1", "fd77::1"; nothing if it is neither.
    static std::optional<IpAddress> parse(std::string_view text);
    [[nodiscard]] std::string text() const;

  private:
    [[nodiscard]] constexpr std::uint64_t half(std::size_t i) const {
        return load_u64(bytes, 8 * i);
    }
};

struct MacAddress {
    std::array<std::byte, 6> bytes{};

    friend constexpr bool operator==(const MacAddress&, const MacAddress&) = default;

    // "52:54:00:77:00:01"; nothing if it is none.
    // `bytes` has 6 of them.
    static constexpr MacAddress from(Bytes bytes) {
        MacAddress address;
        copy<6>(bytes, address.bytes);
        return address;
    }

    static std::optional<MacAddress> parse(std::string_view text);
    [[nodiscard]] std::string text() const;
};

} // namespace veriroce::wire
