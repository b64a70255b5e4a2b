// FETH, the flush header: 4 bytes; it comes before the RETH. Source: rule EXT-03.
#pragma once

#include <optional>

#include "dissector/wire/bytes.hpp"

namespace veriroce::wire {

struct Feth {
    static constexpr std::size_t kSize = 4;

    std::uint32_t reserved = 0;   // 26 bits
    std::uint8_t selectivity = 0; // SEL, 2 bits: 0 range, 1 region
    std::uint8_t placement = 0;   // PLT, 4 bits

    friend constexpr bool operator==(const Feth&, const Feth&) = default;

    // The first kSize of `bytes`, which are there.
    static constexpr Feth read(Bytes bytes) {
        return Feth{.reserved = load_u32(bytes, 0) >> 6,
                    .selectivity = static_cast<std::uint8_t>(load_u32(bytes, 0) >> 4 & 0x3),
                    .placement = static_cast<std::uint8_t>(load_u32(bytes, 0) & 0xF)};
    }
    static constexpr std::optional<Feth> decode(Bytes bytes) {
        if (bytes.size() < kSize) return std::nullopt;
        return read(bytes);
    }

    constexpr void encode(MutableBytes out) const {
        store_be<4>(out, 0, reserved << 6 | (selectivity & 0x3U) << 4 | (placement & 0xFU));
    }
};

} // namespace veriroce::wire
