// IETH: 4 bytes, the R_Key that a Send with Invalidate revokes. Source: rule KEY-11.
#pragma once

#include <optional>

#include "dissector/wire/bytes.hpp"
#include "dissector/wire/types.hpp"

namespace veriroce::wire {

struct Ieth {
    static constexpr std::size_t kSize = 4;

    Rkey rkey;

    friend constexpr bool operator==(const Ieth&, const Ieth&) = default;

    // The first kSize of `bytes`, which are there.
    static constexpr Ieth read(Bytes bytes) { return Ieth{.rkey = {load_u32(bytes, 0)}}; }
    static constexpr std::optional<Ieth> decode(Bytes bytes) {
        if (bytes.size() < kSize) return std::nullopt;
        return read(bytes);
    }

    constexpr void encode(MutableBytes out) const { store_be<4>(out, 0, rkey.value); }
};

} // namespace veriroce::wire
