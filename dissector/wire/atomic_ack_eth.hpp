// AtomicAckETH: 8 bytes, the value that an atomic found. Source: rule ATM-01.
#pragma once

#include <optional>

#include "dissector/wire/bytes.hpp"

namespace veriroce::wire {

struct AtomicAckEth {
    static constexpr std::size_t kSize = 8;

    std::uint64_t original = 0;

    friend constexpr bool operator==(const AtomicAckEth&, const AtomicAckEth&) = default;

    // The first kSize of `bytes`, which are there.
    static constexpr AtomicAckEth read(Bytes bytes) {
        return AtomicAckEth{.original = load_u64(bytes, 0)};
    }
    static constexpr std::optional<AtomicAckEth> decode(Bytes bytes) {
        if (bytes.size() < kSize) return std::nullopt;
        return read(bytes);
    }

    constexpr void encode(MutableBytes out) const { store_be<8>(out, 0, original); }
};

} // namespace veriroce::wire
