// ImmDt: 4 bytes of immediate data, as a number most significant byte first.
#pragma once

#include <optional>

#include "dissector/wire/bytes.hpp"

namespace veriroce::wire {

struct ImmDt {
    static constexpr std::size_t kSize = 4;

    std::uint32_t value = 0;

    friend constexpr bool operator==(const ImmDt&, const ImmDt&) = default;

    // The first kSize of `bytes`, which are there.
    static constexpr ImmDt read(Bytes bytes) { return ImmDt{.value = load_u32(bytes, 0)}; }
    static constexpr std::optional<ImmDt> decode(Bytes bytes) {
        if (bytes.size() < kSize) return std::nullopt;
        return read(bytes);
    }

    constexpr void encode(MutableBytes out) const { store_be<4>(out, 0, value); }
};

} // namespace veriroce::wire
