// RDETH, the reliable datagram header: 4 bytes. RoCE devices do not use it; captures may.
#pragma once

#include <optional>

#include "dissector/wire/bytes.hpp"

namespace veriroce::wire {

struct Rdeth {
    static constexpr std::size_t kSize = 4;

    std::uint8_t reserved = 0;
    std::uint32_t ee_context = 0; // 24 bits

    friend constexpr bool operator==(const Rdeth&, const Rdeth&) = default;

    // The first kSize of `bytes`, which are there.
    static constexpr Rdeth read(Bytes bytes) {
        return Rdeth{.reserved = load_u8(bytes, 0), .ee_context = load_u24(bytes, 1)};
    }
    static constexpr std::optional<Rdeth> decode(Bytes bytes) {
        if (bytes.size() < kSize) return std::nullopt;
        return read(bytes);
    }

    constexpr void encode(MutableBytes out) const {
        store_be<1>(out, 0, reserved);
        store_be<3>(out, 1, ee_context);
    }
};

} // namespace veriroce::wire
