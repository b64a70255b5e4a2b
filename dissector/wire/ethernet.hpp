// Ethernet II header (14 bytes) and 802.1Q tag (4 bytes), IEEE 802.3 and 802.1Q.
#pragma once

#include <optional>

#include "dissector/wire/bytes.hpp"
#include "dissector/wire/ip_address.hpp"

namespace veriroce::wire {

enum class EtherType : std::uint16_t {
    Ipv4 = 0x0800,
    Arp = 0x0806,
    Vlan = 0x8100,
    Ipv6 = 0x86DD,
    MacControl = 0x8808, // PFC and PAUSE
    QinQ = 0x88A8,
    RoceV1 = 0x8915,
};

struct Ethernet {
    static constexpr std::size_t kSize = 14;

    MacAddress destination;
    MacAddress source;
    std::uint16_t ether_type = 0;

    friend constexpr bool operator==(const Ethernet&, const Ethernet&) = default;

    // The first kSize of `bytes`, which are there.
    static constexpr Ethernet read(Bytes bytes) {
        assert(bytes.size() >= kSize);
        return Ethernet{.destination = MacAddress::from(bytes),
                        .source = MacAddress::from(bytes.subspan(6)),
                        .ether_type = load_u16(bytes, 12)};
    }
    static constexpr std::optional<Ethernet> decode(Bytes bytes) {
        if (bytes.size() < kSize) return std::nullopt;
        return read(bytes);
    }

    constexpr void encode(MutableBytes out) const {
        assert(out.size() >= kSize);
        copy<6>(destination.bytes, out);
        copy<6>(source.bytes, out.subspan(6));
        store_be<2>(out, 12, ether_type);
    }
};

// The bytes between the tag's own EtherType and the end of the next one.
struct VlanTag {
    static constexpr std::size_t kSize = 4;

    std::uint8_t priority = 0; // PCP, 3 bits
    bool drop_eligible = false;
    std::uint16_t id = 0; // 12 bits
    std::uint16_t ether_type = 0;

    friend constexpr bool operator==(const VlanTag&, const VlanTag&) = default;

    // The first kSize of `bytes`, which are there.
    static constexpr VlanTag read(Bytes bytes) {
        const std::uint16_t tci = load_u16(bytes, 0);
        return VlanTag{.priority = static_cast<std::uint8_t>(tci >> 13),
                       .drop_eligible = (tci & 0x1000) != 0,
                       .id = static_cast<std::uint16_t>(tci & 0xFFF),
                       .ether_type = load_u16(bytes, 2)};
    }
    static constexpr std::optional<VlanTag> decode(Bytes bytes) {
        if (bytes.size() < kSize) return std::nullopt;
        return read(bytes);
    }

    constexpr void encode(MutableBytes out) const {
        store_be<2>(out, 0,
                    (priority & 0x7U) << 13 | (drop_eligible ? 0x1000U : 0U) | (id & 0xFFFU));
        store_be<2>(out, 2, ether_type);
    }
};

} // namespace veriroce::wire
