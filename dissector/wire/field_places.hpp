// THE table of field positions: where each field that has a fixed place in a header stands, from
// Ethernet to the ICRC. The script's fields (field.hpp), the dissector's fields
// (decode/field_*.cpp), the outer walk and the checks take their positions from here; nobody else
// types one.
//
// Bits are counted from the header's first, as the standards draw headers. Names are Wireshark's
// where Wireshark has the field (4.0); the others begin with `roce.`.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "dissector/wire/bytes.hpp"
#include "dissector/wire/layer.hpp"

namespace veriroce::wire {

// Where a field is in a header, in bits from the header's first.
struct Location {
    Layer layer = Layer::Ethernet;
    std::uint16_t bit = 0;
    std::uint16_t bits = 0;

    // The bytes that hold these bits.
    [[nodiscard]] constexpr std::uint32_t first_byte() const { return bit / 8U; }
    [[nodiscard]] constexpr std::uint32_t bytes() const { return (bit % 8U + bits + 7U) / 8U; }
    friend constexpr bool operator==(const Location&, const Location&) = default;
};

struct FieldPlace {
    std::string_view name; // of the dissector: "infiniband.bth.psn"
    Location where;
};

namespace detail {

using enum Layer;

inline constexpr auto kFieldPlaces = std::to_array<FieldPlace>({
    {"eth.dst", {Ethernet, 0, 48}},
    {"eth.src", {Ethernet, 48, 48}},
    {"eth.type", {Ethernet, 96, 16}},

    {"vlan.priority", {Vlan, 0, 3}},
    {"vlan.dei", {Vlan, 3, 1}},
    {"vlan.id", {Vlan, 4, 12}},
    {"vlan.etype", {Vlan, 16, 16}},

    {"ip.version", {Ipv4, 0, 4}},
    {"ip.hdr_len", {Ipv4, 4, 4}}, // in words of four bytes
    {"ip.dsfield", {Ipv4, 8, 8}},
    {"ip.dsfield.dscp", {Ipv4, 8, 6}},
    {"ip.dsfield.ecn", {Ipv4, 14, 2}},
    {"ip.len", {Ipv4, 16, 16}},
    {"ip.id", {Ipv4, 32, 16}},
    {"ip.flags", {Ipv4, 48, 3}},
    {"ip.flags.rb", {Ipv4, 48, 1}},
    {"ip.flags.df", {Ipv4, 49, 1}},
    {"ip.flags.mf", {Ipv4, 50, 1}},
    {"ip.frag_offset", {Ipv4, 51, 13}},
    {"ip.ttl", {Ipv4, 64, 8}},
    {"ip.proto", {Ipv4, 72, 8}},
    {"ip.checksum", {Ipv4, 80, 16}},
    {"ip.src", {Ipv4, 96, 32}},
    {"ip.dst", {Ipv4, 128, 32}},

    {"ipv6.version", {Ipv6, 0, 4}},
    {"ipv6.tclass", {Ipv6, 4, 8}},
    {"ipv6.tclass.dscp", {Ipv6, 4, 6}},
    {"ipv6.tclass.ecn", {Ipv6, 10, 2}},
    {"ipv6.flow", {Ipv6, 12, 20}},
    {"ipv6.plen", {Ipv6, 32, 16}},
    {"ipv6.nxt", {Ipv6, 48, 8}},
    {"ipv6.hlim", {Ipv6, 56, 8}},
    {"ipv6.src", {Ipv6, 64, 128}},
    {"ipv6.dst", {Ipv6, 192, 128}},

    {"udp.srcport", {Udp, 0, 16}},
    {"udp.dstport", {Udp, 16, 16}},
    {"udp.length", {Udp, 32, 16}},
    {"udp.checksum", {Udp, 48, 16}},

    {"infiniband.bth.opcode", {Bth, 0, 8}},
    {"infiniband.bth.se", {Bth, 8, 1}},
    {"infiniband.bth.m", {Bth, 9, 1}},
    {"infiniband.bth.padcnt", {Bth, 10, 2}},
    {"infiniband.bth.tver", {Bth, 12, 4}},
    {"infiniband.bth.p_key", {Bth, 16, 16}},
    {"roce.bth.fecn", {Bth, 32, 1}},
    {"roce.bth.becn", {Bth, 33, 1}},
    {"roce.bth.reserved6", {Bth, 34, 6}},
    {"infiniband.bth.destqp", {Bth, 40, 24}},
    {"infiniband.bth.a", {Bth, 64, 1}},
    {"infiniband.bth.reserved7", {Bth, 65, 7}},
    {"infiniband.bth.psn", {Bth, 72, 24}},

    {"roce.rdeth.reserved", {Rdeth, 0, 8}},
    {"infiniband.rdeth.eecnxt", {Rdeth, 8, 24}},

    {"infiniband.deth.q_key", {Deth, 0, 32}},
    {"roce.deth.reserved", {Deth, 32, 8}},
    {"infiniband.deth.srcqp", {Deth, 40, 24}},

    {"roce.xrceth.reserved", {Xrceth, 0, 8}},
    {"roce.xrceth.srq", {Xrceth, 8, 24}},

    {"roce.feth.reserved", {Feth, 0, 26}},
    {"roce.feth.selectivity", {Feth, 26, 2}},
    {"roce.feth.placement", {Feth, 28, 4}},

    {"infiniband.reth.va", {Reth, 0, 64}},
    {"infiniband.reth.r_key", {Reth, 64, 32}},
    {"infiniband.reth.dmalen", {Reth, 96, 32}},

    {"infiniband.reth.va", {AtomicEth, 0, 64}},
    {"infiniband.reth.r_key", {AtomicEth, 64, 32}},
    {"infiniband.atomiceth.swapdt", {AtomicEth, 96, 64}},
    {"infiniband.atomiceth.cmpdt", {AtomicEth, 160, 64}},

    {"infiniband.aeth.syndrome", {Aeth, 0, 8}},
    {"infiniband.aeth.syndrome.reserved", {Aeth, 0, 1}},
    {"infiniband.aeth.syndrome.opcode", {Aeth, 1, 2}},
    {"infiniband.aeth.syndrome.credit_count", {Aeth, 3, 5}},
    {"infiniband.aeth.syndrome.timer", {Aeth, 3, 5}},
    {"infiniband.aeth.syndrome.reserved_value", {Aeth, 3, 5}},
    {"infiniband.aeth.syndrome.error_code", {Aeth, 3, 5}},
    {"infiniband.aeth.msn", {Aeth, 8, 24}},

    {"infiniband.atomicacketh.origremdt", {AtomicAckEth, 0, 64}},
    {"infiniband.immdt", {ImmDt, 0, 32}},
    {"infiniband.ieth", {Ieth, 0, 32}},
    {"infiniband.invariant.crc", {Icrc, 0, 32}},
});

} // namespace detail

constexpr std::span<const FieldPlace> field_places() {
    return detail::kFieldPlaces;
}

// The row of this name, in this layer where several have it. A name that the table does not have
// does not compile.
consteval FieldPlace place(std::string_view name) {
    const FieldPlace* found = nullptr;
    for (const FieldPlace& row : detail::kFieldPlaces) {
        if (row.name != name) continue;
        if (found != nullptr) throw "several layers have a field of this name: say which";
        found = &row;
    }
    if (found == nullptr) throw "the table of field positions has no such name";
    return *found;
}
consteval FieldPlace place(std::string_view name, Layer layer) {
    for (const FieldPlace& row : detail::kFieldPlaces) {
        if (row.name == name && row.where.layer == layer) return row;
    }
    throw "the table of field positions has no such name in this layer";
}
consteval Location where(std::string_view name) {
    return place(name).where;
}
consteval Location where(std::string_view name, Layer layer) {
    return place(name, layer).where;
}

// A number of up to 64 bits, `bit` bits from the first of `bytes`; the caller has checked the
// length.
constexpr std::uint64_t load_bits(Bytes bytes, std::size_t bit, std::size_t bits) {
    const std::size_t first = bit / 8;
    const std::size_t end = (bit + bits + 7) / 8;
    assert(end - first <= 8 && end <= bytes.size());
    std::uint64_t value = 0;
    for (std::size_t i = first; i < end; ++i)
        value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
    value >>= end * 8 - bit - bits;
    return bits == 64 ? value : value & ((std::uint64_t{1} << bits) - 1);
}

// The number of a field whose place is known when this is compiled, in a header that begins at
// `header_at`; the caller has checked the length.
template <Location Where>
constexpr std::uint64_t load(Bytes bytes, std::size_t header_at = 0) {
    static_assert(Where.bytes() <= 8);
    const std::uint64_t window = load_be<Where.bytes()>(bytes, header_at + Where.first_byte());
    constexpr unsigned below = 8 * Where.bytes() - Where.bit % 8U - Where.bits;
    if constexpr (Where.bits == 64) return window;
    return window >> below & ((std::uint64_t{1} << Where.bits % 64U) - 1);
}

// The bytes of a field that begins and ends with one.
template <Location Where>
constexpr Bytes bytes_at(Bytes bytes, std::size_t header_at = 0) {
    static_assert(Where.bit % 8 == 0 && Where.bits % 8 == 0);
    return bytes.subspan(header_at + Where.first_byte(), Where.bytes());
}

// Source and destination of an IP header, which stand one behind the other.
constexpr Bytes ip_addresses(Bytes ip_header, bool v6) {
    constexpr Location v4_source = where("ip.src");
    constexpr Location v6_source = where("ipv6.src");
    return v6 ? ip_header.subspan(v6_source.first_byte(), 2 * v6_source.bytes())
              : ip_header.subspan(v4_source.first_byte(), 2 * v4_source.bytes());
}

} // namespace veriroce::wire
