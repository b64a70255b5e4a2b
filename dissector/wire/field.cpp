#include "dissector/wire/field.hpp"

#include <algorithm>
#include <array>

namespace veriroce::wire {
namespace {

using enum Layer;
using enum FieldKind;

constexpr std::optional<Location> kNowhere;

// In the order of Field. Bits are counted from the layer's first, as the standards draw headers.
constexpr std::array<FieldInfo, kFields> kTable{{
    {Field::Opcode, "opcode", "infiniband.bth.opcode", Number, {Bth, 0, 8}, kNowhere},
    {Field::SolicitedEvent, "se", "infiniband.bth.se", Number, {Bth, 8, 1}, kNowhere},
    {Field::MigReq, "migreq", "infiniband.bth.m", Number, {Bth, 9, 1}, kNowhere},
    {Field::Pad, "pad", "infiniband.bth.padcnt", Number, {Bth, 10, 2}, kNowhere},
    {Field::TVer, "tver", "infiniband.bth.tver", Number, {Bth, 12, 4}, kNowhere},
    {Field::Pkey, "pkey", "infiniband.bth.p_key", Number, {Bth, 16, 16}, kNowhere},
    {Field::Fecn, "fecn", "", Number, {Bth, 32, 1}, kNowhere},
    {Field::Becn, "becn", "", Number, {Bth, 33, 1}, kNowhere},
    {Field::Reserved6, "resv6", "", Number, {Bth, 34, 6}, kNowhere},
    {Field::DestQp, "destqp", "infiniband.bth.destqp", Number, {Bth, 40, 24}, kNowhere},
    {Field::AckReq, "ackreq", "infiniband.bth.a", Number, {Bth, 64, 1}, kNowhere},
    {Field::Reserved7, "resv7", "infiniband.bth.reserved7", Number, {Bth, 65, 7}, kNowhere},
    {Field::Psn, "psn", "infiniband.bth.psn", Number, {Bth, 72, 24}, kNowhere},

    {Field::Va, "va", "infiniband.reth.va", Number, {Reth, 0, 64}, Location{AtomicEth, 0, 64}},
    {Field::Rkey,
     "rkey",
     "infiniband.reth.r_key",
     Number,
     {Reth, 64, 32},
     Location{AtomicEth, 64, 32}},
    {Field::DmaLength, "dmalen", "infiniband.reth.dmalen", Number, {Reth, 96, 32}, kNowhere},
    {Field::Swap, "swap", "infiniband.atomiceth.swapdt", Number, {AtomicEth, 96, 64}, kNowhere},
    {Field::Add, "add", "infiniband.atomiceth.swapdt", Number, {AtomicEth, 96, 64}, kNowhere},
    {Field::Compare,
     "compare",
     "infiniband.atomiceth.cmpdt",
     Number,
     {AtomicEth, 160, 64},
     kNowhere},
    {Field::Original,
     "original",
     "infiniband.atomicacketh.origremdt",
     Number,
     {AtomicAckEth, 0, 64},
     kNowhere},
    {Field::Syndrome, "syndrome", "infiniband.aeth.syndrome", Number, {Aeth, 0, 8}, kNowhere},
    {Field::Msn, "msn", "infiniband.aeth.msn", Number, {Aeth, 8, 24}, kNowhere},
    {Field::Imm, "imm", "infiniband.immdt", Number, {ImmDt, 0, 32}, kNowhere},
    {Field::Ikey, "ikey", "infiniband.ieth", Number, {Ieth, 0, 32}, kNowhere},
    {Field::Qkey, "qkey", "infiniband.deth.q_key", Number, {Deth, 0, 32}, kNowhere},
    {Field::SourceQp, "srcqp", "infiniband.deth.srcqp", Number, {Deth, 40, 24}, kNowhere},
    {Field::Placement, "plt", "", Number, {Feth, 28, 4}, kNowhere},
    {Field::Selectivity, "sel", "", Number, {Feth, 26, 2}, kNowhere},

    {Field::EthSource, "eth.src", "eth.src", Mac, {Ethernet, 48, 48}, kNowhere},
    {Field::EthDestination, "eth.dst", "eth.dst", Mac, {Ethernet, 0, 48}, kNowhere},
    // Behind a tag the type is the tag's second half: the one that says what follows.
    {Field::EthType, "eth.type", "eth.type", Number, {Vlan, 16, 16}, Location{Ethernet, 96, 16}},
    {Field::VlanId, "vlan.id", "vlan.id", Number, {Vlan, 4, 12}, kNowhere},
    {Field::VlanPriority, "vlan.pcp", "vlan.priority", Number, {Vlan, 0, 3}, kNowhere},
    {Field::IpSource, "ip.src", "ip.src", Ip, {Ipv4, 96, 32}, Location{Ipv6, 64, 128}},
    {Field::IpDestination, "ip.dst", "ip.dst", Ip, {Ipv4, 128, 32}, Location{Ipv6, 192, 128}},
    {Field::IpDscp, "ip.dscp", "ip.dsfield.dscp", Number, {Ipv4, 8, 6}, Location{Ipv6, 4, 6}},
    {Field::IpEcn, "ip.ecn", "ip.dsfield.ecn", Number, {Ipv4, 14, 2}, Location{Ipv6, 10, 2}},
    {Field::IpTtl, "ip.ttl", "ip.ttl", Number, {Ipv4, 64, 8}, Location{Ipv6, 56, 8}},
    {Field::IpId, "ip.id", "ip.id", Number, {Ipv4, 32, 16}, kNowhere},
    {Field::IpDontFragment, "ip.df", "ip.flags.df", Number, {Ipv4, 49, 1}, kNowhere},
    {Field::IpLength, "ip.length", "ip.len", Number, {Ipv4, 16, 16}, Location{Ipv6, 32, 16}},
    {Field::IpChecksum, "ip.checksum", "ip.checksum", Number, {Ipv4, 80, 16}, kNowhere},
    {Field::IpFlow, "ip.flow", "ipv6.flow", Number, {Ipv6, 12, 20}, kNowhere},
    {Field::UdpSourcePort, "udp.sport", "udp.srcport", Number, {Udp, 0, 16}, kNowhere},
    {Field::UdpDestinationPort, "udp.dport", "udp.dstport", Number, {Udp, 16, 16}, kNowhere},
    {Field::UdpLength, "udp.length", "udp.length", Number, {Udp, 32, 16}, kNowhere},
    {Field::UdpChecksum, "udp.checksum", "udp.checksum", Number, {Udp, 48, 16}, kNowhere},
    {Field::Icrc, "icrc", "infiniband.invariant.crc", Number, {Layer::Icrc, 0, 32}, kNowhere},
}};

constexpr bool fits_a_window(const Location& where) {
    return where.bit % 8 + where.bits <= 64;
}

// The table is in the order of the enumeration, and every number can be read as one 64-bit window.
constexpr bool well_formed() {
    for (std::size_t i = 0; i < kTable.size(); ++i) {
        if (static_cast<std::size_t>(kTable[i].field) != i) return false;
        if (kTable[i].kind != Number) continue;
        if (!fits_a_window(kTable[i].primary)) return false;
        if (kTable[i].secondary && !fits_a_window(*kTable[i].secondary)) return false;
    }
    return true;
}
static_assert(well_formed());

// The bits of a field in a frame, counted from the frame's first.
struct BitRange {
    std::size_t first;
    std::size_t bits;

    [[nodiscard]] std::size_t first_byte() const { return first / 8; }
    [[nodiscard]] std::size_t bytes() const { return (first % 8 + bits + 7) / 8; }
    // Bits of the last byte behind the field.
    [[nodiscard]] unsigned behind() const {
        return static_cast<unsigned>(8 * bytes() - first % 8 - bits);
    }
    [[nodiscard]] std::uint64_t mask() const {
        return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    }
};

std::optional<BitRange> range_of(Bytes frame, const LayerMap& layers, Field field) {
    const auto where = locate(layers, field);
    if (!where) return std::nullopt;
    const BitRange range{.first = layers.at(where->layer) * 8 + where->bit, .bits = where->bits};
    if (range.first_byte() + range.bytes() > frame.size()) return std::nullopt;
    return range;
}

std::uint64_t load_window(Bytes frame, const BitRange& range) {
    std::uint64_t window = 0;
    for (std::size_t i = 0; i < range.bytes(); ++i)
        window = window << 8 | load_u8(frame, range.first_byte() + i);
    return window;
}

void store_window(MutableBytes frame, const BitRange& range, std::uint64_t window) {
    for (std::size_t i = range.bytes(); i-- > 0; window >>= 8)
        frame[range.first_byte() + i] = static_cast<std::byte>(window & 0xFF);
}

std::optional<BitRange> range_of_kind(Bytes frame, const LayerMap& layers, Field field,
                                      FieldKind kind) {
    if (field_info(field).kind != kind) return std::nullopt;
    return range_of(frame, layers, field);
}

} // namespace

const FieldInfo& field_info(Field field) {
    return kTable[static_cast<std::size_t>(field)];
}

std::span<const FieldInfo, kFields> field_table() {
    return kTable;
}

std::optional<Field> field_by_name(std::string_view script_name) {
    const auto row = std::ranges::find(kTable, script_name, &FieldInfo::name);
    if (row == kTable.end()) return std::nullopt;
    return row->field;
}

std::optional<Location> locate(const LayerMap& layers, Field field) {
    const FieldInfo& info = field_info(field);
    if (layers.has(info.primary.layer)) return info.primary;
    if (info.secondary && layers.has(info.secondary->layer)) return info.secondary;
    return std::nullopt;
}

std::optional<std::uint64_t> read_field(Bytes frame, const LayerMap& layers, Field field) {
    const auto range = range_of_kind(frame, layers, field, Number);
    if (!range) return std::nullopt;
    return load_window(frame, *range) >> range->behind() & range->mask();
}

bool write_field(MutableBytes frame, const LayerMap& layers, Field field, std::uint64_t value) {
    const auto range = range_of_kind(frame, layers, field, Number);
    if (!range || value > range->mask()) return false;
    const std::uint64_t others = load_window(frame, *range) & ~(range->mask() << range->behind());
    store_window(frame, *range, others | value << range->behind());
    return true;
}

std::optional<IpAddress> read_ip(Bytes frame, const LayerMap& layers, Field field) {
    const auto range = range_of_kind(frame, layers, field, Ip);
    if (!range) return std::nullopt;
    const Bytes bytes = frame.subspan(range->first_byte(), range->bytes());
    return range->bits == 32 ? IpAddress::from_v4(load_u32(bytes, 0)) : IpAddress::from_v6(bytes);
}

std::optional<MacAddress> read_mac(Bytes frame, const LayerMap& layers, Field field) {
    const auto range = range_of_kind(frame, layers, field, Mac);
    if (!range) return std::nullopt;
    MacAddress address;
    std::ranges::copy(frame.subspan(range->first_byte(), 6), address.bytes.begin());
    return address;
}

bool write_ip(MutableBytes frame, const LayerMap& layers, Field field, const IpAddress& address) {
    const auto range = range_of_kind(frame, layers, field, Ip);
    if (!range || (range->bits == 32) != address.v4()) return false;
    const Bytes bytes = Bytes(address.bytes).last(range->bytes());
    std::ranges::copy(bytes, frame.subspan(range->first_byte()).begin());
    return true;
}

bool write_mac(MutableBytes frame, const LayerMap& layers, Field field, const MacAddress& address) {
    const auto range = range_of_kind(frame, layers, field, Mac);
    if (!range) return false;
    std::ranges::copy(address.bytes, frame.subspan(range->first_byte()).begin());
    return true;
}

bool flip_field(MutableBytes frame, const LayerMap& layers, Field field, std::size_t bit) {
    const auto range = range_of(frame, layers, field);
    if (!range || bit >= range->bits) return false;
    const std::size_t at = range->first + range->bits - 1 - bit;
    frame[at / 8] ^= static_cast<std::byte>(0x80U >> at % 8);
    return true;
}

} // namespace veriroce::wire
