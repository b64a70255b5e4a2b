// RETH, the RDMA extended transport header: 16 bytes. Source: rules LEN-04, LEN-05, KEY-05.
#pragma once

#include <optional>

#include "dissector/wire/bytes.hpp"
#include "dissector/wire/types.hpp"

namespace veriroce::wire {

struct Reth {
    static constexpr std::size_t kSize = 16;

    std::uint64_t virtual_address = 0;
    Rkey rkey;
    std::uint32_t dma_length = 0; // bytes of the whole message

    friend constexpr bool operator==(const Reth&, const Reth&) = default;

    // The first kSize of `bytes`, which are there.
    static constexpr Reth read(Bytes bytes) {
        return Reth{.virtual_address = load_u64(bytes, 0),
                    .rkey = {load_u32(bytes, 8)},
                    .dma_length = load_u32(bytes, 12)};
    }
    static constexpr std::optional<Reth> decode(Bytes bytes) {
        if (bytes.size() < kSize) return std::nullopt;
        return read(bytes);
    }

    constexpr void encode(MutableBytes out) const {
        store_be<8>(out, 0, virtual_address);
        store_be<4>(out, 8, rkey.value);
        store_be<4>(out, 12, dma_length);
    }
};

} // namespace veriroce::wire
