// DETH, the datagram header: 8 bytes. Source: rules EXT-05, N-30.
#pragma once

#include <optional>

#include "dissector/wire/bytes.hpp"
#include "dissector/wire/types.hpp"

namespace veriroce::wire {

struct Deth {
    static constexpr std::size_t kSize = 8;

    Qkey qkey;
    std::uint8_t reserved = 0;
    Qpn source_qp;

    friend constexpr bool operator==(const Deth&, const Deth&) = default;

    // The first kSize of `bytes`, which are there.
    static constexpr Deth read(Bytes bytes) {
        return Deth{.qkey = {load_u32(bytes, 0)},
                    .reserved = load_u8(bytes, 4),
                    .source_qp = {load_u24(bytes, 5)}};
    }
    static constexpr std::optional<Deth> decode(Bytes bytes) {
        if (bytes.size() < kSize) return std::nullopt;
        return read(bytes);
    }

    constexpr void encode(MutableBytes out) const {
        store_be<4>(out, 0, qkey.value);
        store_be<1>(out, 4, reserved);
        store_be<3>(out, 5, source_qp.value);
    }
};

} // namespace veriroce::wire
