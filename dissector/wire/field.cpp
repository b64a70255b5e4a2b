#include "dissector/wire/field.hpp"

#include <algorithm>
#include <array>

namespace veriroce::wire {
namespace {

using enum FieldKind;

constexpr std::optional<Location> kNowhere;

// In the order of Field.
constexpr std::array<FieldInfo, kFields> kTable{{
    {Field::Opcode, "opcode", Number, where("infiniband.bth.opcode"), kNowhere},
    {Field::SolicitedEvent, "se", Number, where("infiniband.bth.se"), kNowhere},
    {Field::MigReq, "migreq", Number, where("infiniband.bth.m"), kNowhere},
    {Field::Pad, "pad", Number, where("infiniband.bth.padcnt"), kNowhere},
    {Field::TVer, "tver", Number, where("infiniband.bth.tver"), kNowhere},
    {Field::Pkey, "pkey", Number, where("infiniband.bth.p_key"), kNowhere},
    {Field::Fecn, "fecn", Number, where("roce.bth.fecn"), kNowhere},
    {Field::Becn, "becn", Number, where("roce.bth.becn"), kNowhere},
    {Field::Reserved6, "resv6", Number, where("roce.bth.reserved6"), kNowhere},
    {Field::DestQp, "destqp", Number, where("infiniband.bth.destqp"), kNowhere},
    {Field::AckReq, "ackreq", Number, where("infiniband.bth.a"), kNowhere},
    {Field::Reserved7, "resv7", Number, where("infiniband.bth.reserved7"), kNowhere},
    {Field::Psn, "psn", Number, where("infiniband.bth.psn"), kNowhere},

    {Field::Va, "va", Number, where("infiniband.reth.va", Layer::Reth),
     where("infiniband.reth.va", Layer::AtomicEth)},
    {Field::Rkey, "rkey", Number, where("infiniband.reth.r_key", Layer::Reth),
     where("infiniband.reth.r_key", Layer::AtomicEth)},
    {Field::DmaLength, "dmalen", Number, where("infiniband.reth.dmalen"), kNowhere},
    {Field::Swap, "swap", Number, where("infiniband.atomiceth.swapdt"), kNowhere},
    {Field::Add, "add", Number, where("infiniband.atomiceth.swapdt"), kNowhere},
    {Field::Compare, "compare", Number, where("infiniband.atomiceth.cmpdt"), kNowhere},
    {Field::Original, "original", Number, where("infiniband.atomicacketh.origremdt"), kNowhere},
    {Field::Syndrome, "syndrome", Number, where("infiniband.aeth.syndrome"), kNowhere},
    {Field::Msn, "msn", Number, where("infiniband.aeth.msn"), kNowhere},
    {Field::Imm, "imm", Number, where("infiniband.immdt"), kNowhere},
    {Field::Ikey, "ikey", Number, where("infiniband.ieth"), kNowhere},
    {Field::Qkey, "qkey", Number, where("infiniband.deth.q_key"), kNowhere},
    {Field::SourceQp, "srcqp", Number, where("infiniband.deth.srcqp"), kNowhere},
    {Field::Placement, "plt", Number, where("roce.feth.placement"), kNowhere},
    {Field::Selectivity, "sel", Number, where("roce.feth.selectivity"), kNowhere},

    {Field::EthSource, "eth.src", Mac, where("eth.src"), kNowhere},
    {Field::EthDestination, "eth.dst", Mac, where("eth.dst"), kNowhere},
    // Behind a tag the type is the tag's second half: the one that says what follows.
    {Field::EthType, "eth.type", Number, where("vlan.etype"), where("eth.type")},
    {Field::VlanId, "vlan.id", Number, where("vlan.id"), kNowhere},
    {Field::VlanPriority, "vlan.pcp", Number, where("vlan.priority"), kNowhere},
    {Field::VlanDropEligible, "vlan.dei", Number, where("vlan.dei"), kNowhere},
    {Field::IpSource, "ip.src", Ip, where("ip.src"), where("ipv6.src")},
    {Field::IpDestination, "ip.dst", Ip, where("ip.dst"), where("ipv6.dst")},
    {Field::IpDscp, "ip.dscp", Number, where("ip.dsfield.dscp"), where("ipv6.tclass.dscp")},
    {Field::IpEcn, "ip.ecn", Number, where("ip.dsfield.ecn"), where("ipv6.tclass.ecn")},
    {Field::IpTtl, "ip.ttl", Number, where("ip.ttl"), where("ipv6.hlim")},
    {Field::IpId, "ip.id", Number, where("ip.id"), kNowhere},
    {Field::IpDontFragment, "ip.df", Number, where("ip.flags.df"), kNowhere},
    {Field::IpLength, "ip.length", Number, where("ip.len"), where("ipv6.plen")},
    {Field::IpChecksum, "ip.checksum", Number, where("ip.checksum"), kNowhere},
    {Field::IpFlow, "ip.flow", Number, where("ipv6.flow"), kNowhere},
    {Field::UdpSourcePort, "udp.sport", Number, where("udp.srcport"), kNowhere},
    {Field::UdpDestinationPort, "udp.dport", Number, where("udp.dstport"), kNowhere},
    {Field::UdpLength, "udp.length", Number, where("udp.length"), kNowhere},
    {Field::UdpChecksum, "udp.checksum", Number, where("udp.checksum"), kNowhere},
    {Field::Icrc, "icrc", Number, where("infiniband.invariant.crc"), kNowhere},
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
    // Bits of the last byte after the field.
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
    return load_bits(frame, range.first_byte() * 8, range.bytes() * 8);
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
    return load_bits(frame, range->first, range->bits);
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
