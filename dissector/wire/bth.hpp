// BTH, the base transport header: 12 bytes at the head of every packet.
//
//   byte 0 opcode | 1 SE, M, PadCnt(2), TVer(4) | 2-3 P_Key | 4 F, B, resv6 | 5-7 DestQP |
//   8 A, resv7 | 9-11 PSN
//
// Decoding judges the length and nothing else, and keeps reserved bits, so that decode followed by
// encode is the identity on any 12 bytes. Source: rules BTH-01..BTH-19.
#pragma once

#include <optional>

#include "dissector/wire/bytes.hpp"
#include "dissector/wire/types.hpp"

namespace veriroce::wire {

struct Bth {
    static constexpr std::size_t kSize = 12;

    std::uint8_t opcode = 0;
    bool solicited = false;   // SE
    bool mig_req = false;     // M
    std::uint8_t pad = 0;     // 2 bits
    std::uint8_t version = 0; // TVer, 4 bits
    Pkey pkey = kDefaultPkey;
    bool fecn = false;
    bool becn = false;
    std::uint8_t reserved6 = 0; // 6 bits of byte 4, outside the ICRC
    Qpn dest_qp;
    bool ack_request = false;   // A
    std::uint8_t reserved7 = 0; // 7 bits of byte 8, inside the ICRC
    Psn psn;

    friend constexpr bool operator==(const Bth&, const Bth&) = default;

    // The first kSize of `bytes`, which are there.
    static constexpr Bth read(Bytes bytes) {
        assert(bytes.size() >= kSize);
        const std::uint32_t first = load_u32(bytes, 0);
        const std::uint32_t second = load_u32(bytes, 4);
        const std::uint32_t third = load_u32(bytes, 8);
        return Bth{
            .opcode = static_cast<std::uint8_t>(first >> 24),
            .solicited = (first & 0x800000) != 0,
            .mig_req = (first & 0x400000) != 0,
            .pad = static_cast<std::uint8_t>(first >> 20 & 0x3),
            .version = static_cast<std::uint8_t>(first >> 16 & 0xF),
            .pkey = {static_cast<std::uint16_t>(first)},
            .fecn = (second & 0x80000000) != 0,
            .becn = (second & 0x40000000) != 0,
            .reserved6 = static_cast<std::uint8_t>(second >> 24 & 0x3F),
            .dest_qp = {second & kMask24},
            .ack_request = (third & 0x80000000) != 0,
            .reserved7 = static_cast<std::uint8_t>(third >> 24 & 0x7F),
            .psn = Psn(third & kMask24),
        };
    }
    static constexpr std::optional<Bth> decode(Bytes bytes) {
        if (bytes.size() < kSize) return std::nullopt;
        return read(bytes);
    }

    // Writes the first kSize bytes of `out`.
    constexpr void encode(MutableBytes out) const {
        assert(out.size() >= kSize);
        const std::uint32_t flags = (solicited ? 0x80U : 0U) | (mig_req ? 0x40U : 0U) |
                                    (pad & 0x3U) << 4 | (version & 0xFU);
        const std::uint32_t congestion =
            (fecn ? 0x80U : 0U) | (becn ? 0x40U : 0U) | (reserved6 & 0x3FU);
        const std::uint32_t ack = (ack_request ? 0x80U : 0U) | (reserved7 & 0x7FU);
        store_be<4>(out, 0, std::uint32_t{opcode} << 24 | flags << 16 | pkey.value);
        store_be<4>(out, 4, congestion << 24 | (dest_qp.value & kMask24));
        store_be<4>(out, 8, ack << 24 | psn.value());
    }
};

} // namespace veriroce::wire
