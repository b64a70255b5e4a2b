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
        const std::uint8_t flags = load_u8(bytes, 1);
        const std::uint8_t congestion = load_u8(bytes, 4);
        const std::uint8_t ack = load_u8(bytes, 8);
        return Bth{
            .opcode = load_u8(bytes, 0),
            .solicited = (flags & 0x80) != 0,
            .mig_req = (flags & 0x40) != 0,
            .pad = static_cast<std::uint8_t>(flags >> 4 & 0x3),
            .version = static_cast<std::uint8_t>(flags & 0xF),
            .pkey = {load_u16(bytes, 2)},
            .fecn = (congestion & 0x80) != 0,
            .becn = (congestion & 0x40) != 0,
            .reserved6 = static_cast<std::uint8_t>(congestion & 0x3F),
            .dest_qp = {load_u24(bytes, 5)},
            .ack_request = (ack & 0x80) != 0,
            .reserved7 = static_cast<std::uint8_t>(ack & 0x7F),
            .psn = Psn(load_u24(bytes, 9)),
        };
    }
    static constexpr std::optional<Bth> decode(Bytes bytes) {
        if (bytes.size() < kSize) return std::nullopt;
        return read(bytes);
    }

    // Writes the first kSize bytes of `out`.
    constexpr void encode(MutableBytes out) const {
        store_be<1>(out, 0, opcode);
        store_be<1>(out, 1,
                    (solicited ? 0x80U : 0U) | (mig_req ? 0x40U : 0U) | (pad & 0x3U) << 4 |
                        (version & 0xFU));
        store_be<2>(out, 2, pkey.value);
        store_be<1>(out, 4, (fecn ? 0x80U : 0U) | (becn ? 0x40U : 0U) | (reserved6 & 0x3FU));
        store_be<3>(out, 5, dest_qp.value);
        store_be<1>(out, 8, (ack_request ? 0x80U : 0U) | (reserved7 & 0x7FU));
        store_be<3>(out, 9, psn.value());
    }
};

} // namespace veriroce::wire
