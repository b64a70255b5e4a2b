// AETH, the ACK extended transport header: 4 bytes. Source: rules ACK-06..ACK-10.
#pragma once

#include <optional>

#include "dissector/wire/bytes.hpp"
#include "dissector/wire/syndrome.hpp"
#include "dissector/wire/types.hpp"

namespace veriroce::wire {

struct Aeth {
    static constexpr std::size_t kSize = 4;

    Syndrome syndrome;
    Msn msn;

    friend constexpr bool operator==(const Aeth&, const Aeth&) = default;

    // The first kSize of `bytes`, which are there.
    static constexpr Aeth read(Bytes bytes) {
        return Aeth{.syndrome = {load_u8(bytes, 0)}, .msn = {load_u24(bytes, 1)}};
    }
    static constexpr std::optional<Aeth> decode(Bytes bytes) {
        if (bytes.size() < kSize) return std::nullopt;
        return read(bytes);
    }

    constexpr void encode(MutableBytes out) const {
        store_be<1>(out, 0, syndrome.value);
        store_be<3>(out, 1, msn.value);
    }
};

} // namespace veriroce::wire
