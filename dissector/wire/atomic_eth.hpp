// AtomicETH: 28 bytes, the request of COMPARE_SWAP and FETCH_ADD. Source: rules ATM-01..ATM-05.
#pragma once

#include <optional>

#include "dissector/wire/bytes.hpp"
#include "dissector/wire/types.hpp"

namespace veriroce::wire {

struct AtomicEth {
    static constexpr std::size_t kSize = 28;

    std::uint64_t virtual_address = 0;
    Rkey rkey;
    std::uint64_t swap_or_add = 0;
    std::uint64_t compare = 0; // not used by FETCH_ADD

    friend constexpr bool operator==(const AtomicEth&, const AtomicEth&) = default;

    // The first kSize of `bytes`, which are there.
    static constexpr AtomicEth read(Bytes bytes) {
        return AtomicEth{.virtual_address = load_u64(bytes, 0),
                         .rkey = {load_u32(bytes, 8)},
                         .swap_or_add = load_u64(bytes, 12),
                         .compare = load_u64(bytes, 20)};
    }
    static constexpr std::optional<AtomicEth> decode(Bytes bytes) {
        if (bytes.size() < kSize) return std::nullopt;
        return read(bytes);
    }

    constexpr void encode(MutableBytes out) const {
        store_be<8>(out, 0, virtual_address);
        store_be<4>(out, 8, rkey.value);
        store_be<8>(out, 12, swap_or_add);
        store_be<8>(out, 20, compare);
    }
};

} // namespace veriroce::wire
