// An address of an interface with the length of its prefix, as `ip addr` shows it: 10.77.0.1/24.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>

#include "dissector/wire/ip_address.hpp"

namespace veriroce::net {

struct Subnet {
    wire::IpAddress address; // of the interface
    std::uint8_t prefix_bits = 0;

    // Whether a host with this address is a neighbour, reached without a router.
    [[nodiscard]] bool contains(const wire::IpAddress& other) const {
        if (other.v4() != address.v4()) return false;
        unsigned bits = prefix_bits;
        for (std::size_t i = address.v4() ? 12 : 0; i < address.bytes.size() && bits > 0; ++i) {
            const auto differ = std::to_integer<std::uint8_t>(other.bytes[i] ^ address.bytes[i]);
            if (static_cast<unsigned>(std::countl_zero(differ)) < std::min(bits, 8U)) return false;
            bits -= std::min(bits, 8U);
        }
        return true;
    }
    [[nodiscard]] std::string text() const {
        return address.text() + "/" + std::to_string(prefix_bits);
    }

    friend bool operator==(const Subnet&, const Subnet&) = default;
};

} // namespace veriroce::net
