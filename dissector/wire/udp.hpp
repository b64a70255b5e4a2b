// UDP header (RFC 768): 8 bytes.
#pragma once

#include <optional>

#include "dissector/wire/bytes.hpp"

namespace veriroce::wire {

inline constexpr std::uint16_t kRocePort = 4791; // ENC-01

struct Udp {
    static constexpr std::size_t kSize = 8;

    std::uint16_t source_port = 0;
    std::uint16_t destination_port = 0;
    std::uint16_t length = 0;   // bytes, this header included
    std::uint16_t checksum = 0; // 0: none

    friend constexpr bool operator==(const Udp&, const Udp&) = default;

    // The first kSize of `bytes`, which are there.
    static constexpr Udp read(Bytes bytes) {
        assert(bytes.size() >= kSize);
        return Udp{.source_port = load_u16(bytes, 0),
                   .destination_port = load_u16(bytes, 2),
                   .length = load_u16(bytes, 4),
                   .checksum = load_u16(bytes, 6)};
    }
    static constexpr std::optional<Udp> decode(Bytes bytes) {
        if (bytes.size() < kSize) return std::nullopt;
        return read(bytes);
    }

    constexpr void encode(MutableBytes out) const {
        assert(out.size() >= kSize);
        store_be<2>(out, 0, source_port);
        store_be<2>(out, 2, destination_port);
        store_be<2>(out, 4, length);
        store_be<2>(out, 6, checksum);
    }
};

} // namespace veriroce::wire
