// XRCETH: 4 bytes, the shared receive queue that an XRC packet goes to.
#pragma once

#include <optional>

#include "dissector/wire/bytes.hpp"

namespace veriroce::wire {

struct Xrceth {
    static constexpr std::size_t kSize = 4;

    std::uint8_t reserved = 0;
    std::uint32_t srq = 0; // 24 bits

    friend constexpr bool operator==(const Xrceth&, const Xrceth&) = default;

    // The first kSize of `bytes`, which are there.
    static constexpr Xrceth read(Bytes bytes) {
        return Xrceth{.reserved = load_u8(bytes, 0), .srq = load_u24(bytes, 1)};
    }
    static constexpr std::optional<Xrceth> decode(Bytes bytes) {
        if (bytes.size() < kSize) return std::nullopt;
        return read(bytes);
    }

    constexpr void encode(MutableBytes out) const {
        store_be<1>(out, 0, reserved);
        store_be<3>(out, 1, srq);
    }
};

} // namespace veriroce::wire
