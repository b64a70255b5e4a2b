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

    friend constexpr bool operator==(const IpAddress&, const IpAddress&) = default;

    [[nodiscard]] constexpr bool v4() const {
        for (std::size_t i = 0; i < 10; ++i) {
            if (bytes[i] != std::byte{0}) return false;
        }
        return bytes[10] == std::byte{0xFF} && bytes[11] == std::byte{0xFF};
    }
    // The last four bytes as a number; the address itself if it is IPv4.
    [[nodiscard]] constexpr std::uint32_t low32() const { return load_u32(bytes, 12); }

    static constexpr IpAddress from_v4(std::uint32_t value) {
        IpAddress address;
        address.bytes[10] = address.bytes[11] = std::byte{0xFF};
        store_be<4>(address.bytes, 12, value);
        return address;
    }
    // `bytes` has 16 of them.
    static constexpr IpAddress from_v6(Bytes bytes) {
        IpAddress address;
        for (std::size_t i = 0; i < 16; ++i)
            address.bytes[i] = bytes[i];
        return address;
    }

    // "10.77.0.1", "fd77::1"; nothing if it is neither.
    static std::optional<IpAddress> parse(std::string_view text);
    [[nodiscard]] std::string text() const;
};

struct MacAddress {
    std::array<std::byte, 6> bytes{};

    friend constexpr bool operator==(const MacAddress&, const MacAddress&) = default;

    // "52:54:00:77:00:01"; nothing if it is none.
    static std::optional<MacAddress> parse(std::string_view text);
    [[nodiscard]] std::string text() const;
};

} // namespace veriroce::wire
