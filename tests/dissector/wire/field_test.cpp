// Each row of the field table: written as all ones into zeros, it must come out of the header
// structs in its own member and nowhere else.
#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>

#include "dissector/wire/field.hpp"
#include "dissector/wire/icrc.hpp"
#include "dissector/wire/packet.hpp"
#include "tests/dissector/wire/frames.hpp"

using namespace veriroce::wire;

namespace {

// A buffer in which each layer has 64 bytes of its own.
LayerMap spread_layers(bool v6, bool atomic, bool tagged) {
    LayerMap layers;
    for (std::size_t i = 0; i < kLayers; ++i) {
        const auto layer = static_cast<Layer>(i);
        if (layer == (v6 ? Layer::Ipv4 : Layer::Ipv6)) continue;
        if (layer == (atomic ? Layer::Reth : Layer::AtomicEth)) continue;
        if (layer == Layer::Vlan && !tagged) continue;
        layers.set(layer, 64 * i);
    }
    return layers;
}

struct Buffer {
    std::vector<std::byte> bytes = std::vector<std::byte>(64 * kLayers);
    LayerMap layers;

    template <typename H>
    H header(Layer layer) const {
        return *H::decode(Bytes(bytes).subspan(64 * static_cast<std::size_t>(layer)));
    }
    // A buffer that holds nothing but this header.
    template <typename H>
    static std::vector<std::byte> with(Layer layer, const H& header) {
        std::vector<std::byte> bytes(64 * kLayers);
        header.encode(MutableBytes(bytes).subspan(64 * static_cast<std::size_t>(layer)));
        return bytes;
    }
};

Ipv4 zero_v4() {
    return {.version = 0, .header_length = 0};
}
Ipv6 zero_v6() {
    return {.version = 0};
}
Bth zero_bth() {
    return {.pkey = {0}};
}

template <typename H, typename Set>
std::vector<std::byte> only(Layer layer, H header, Set set) {
    set(header);
    return Buffer::with(layer, header);
}

// What the buffer holds after the field was written as all ones: IPv4, RETH, no tag.
std::vector<std::byte> expected_ones(Field field) {
    const auto bth = [](auto set) { return only(Layer::Bth, zero_bth(), set); };
    const auto v4 = [](auto set) { return only(Layer::Ipv4, zero_v4(), set); };
    switch (field) {
    case Field::Opcode: return bth([](Bth& h) { h.opcode = 0xFF; });
    case Field::SolicitedEvent: return bth([](Bth& h) { h.solicited = true; });
    case Field::MigReq: return bth([](Bth& h) { h.mig_req = true; });
    case Field::Pad: return bth([](Bth& h) { h.pad = 3; });
    case Field::TVer: return bth([](Bth& h) { h.version = 0xF; });
    case Field::Pkey: return bth([](Bth& h) { h.pkey = {0xFFFF}; });
    case Field::Fecn: return bth([](Bth& h) { h.fecn = true; });
    case Field::Becn: return bth([](Bth& h) { h.becn = true; });
    case Field::Reserved6: return bth([](Bth& h) { h.reserved6 = 0x3F; });
    case Field::DestQp: return bth([](Bth& h) { h.dest_qp = {0xFFFFFF}; });
    case Field::AckReq: return bth([](Bth& h) { h.ack_request = true; });
    case Field::Reserved7: return bth([](Bth& h) { h.reserved7 = 0x7F; });
    case Field::Psn: return bth([](Bth& h) { h.psn = Psn(0xFFFFFF); });
    case Field::Va: return Buffer::with(Layer::Reth, Reth{.virtual_address = ~0ULL});
    case Field::Rkey: return Buffer::with(Layer::Reth, Reth{.rkey = {0xFFFFFFFF}});
    case Field::DmaLength: return Buffer::with(Layer::Reth, Reth{.dma_length = 0xFFFFFFFF});
    case Field::Swap:
    case Field::Add: return Buffer::with(Layer::AtomicEth, AtomicEth{.swap_or_add = ~0ULL});
    case Field::Compare: return Buffer::with(Layer::AtomicEth, AtomicEth{.compare = ~0ULL});
    case Field::Original: return Buffer::with(Layer::AtomicAckEth, AtomicAckEth{~0ULL});
    case Field::Syndrome: return Buffer::with(Layer::Aeth, Aeth{.syndrome = {0xFF}});
    case Field::Msn: return Buffer::with(Layer::Aeth, Aeth{.msn = {0xFFFFFF}});
    case Field::Imm: return Buffer::with(Layer::ImmDt, ImmDt{0xFFFFFFFF});
    case Field::Ikey: return Buffer::with(Layer::Ieth, Ieth{{0xFFFFFFFF}});
    case Field::Qkey: return Buffer::with(Layer::Deth, Deth{.qkey = {0xFFFFFFFF}});
    case Field::SourceQp: return Buffer::with(Layer::Deth, Deth{.source_qp = {0xFFFFFF}});
    case Field::Placement: return Buffer::with(Layer::Feth, Feth{.placement = 0xF});
    case Field::Selectivity: return Buffer::with(Layer::Feth, Feth{.selectivity = 3});
    case Field::EthType: return Buffer::with(Layer::Ethernet, Ethernet{.ether_type = 0xFFFF});
    case Field::VlanId: return Buffer::with(Layer::Vlan, VlanTag{.id = 0xFFF});
    case Field::VlanPriority: return Buffer::with(Layer::Vlan, VlanTag{.priority = 7});
    case Field::VlanDropEligible: return Buffer::with(Layer::Vlan, VlanTag{.drop_eligible = true});
    case Field::IpDscp: return v4([](Ipv4& h) { h.dscp = 0x3F; });
    case Field::IpEcn: return v4([](Ipv4& h) { h.ecn = 3; });
    case Field::IpTtl: return v4([](Ipv4& h) { h.ttl = 0xFF; });
    case Field::IpId: return v4([](Ipv4& h) { h.id = 0xFFFF; });
    case Field::IpDontFragment: return v4([](Ipv4& h) { h.dont_fragment = true; });
    case Field::IpLength: return v4([](Ipv4& h) { h.total_length = 0xFFFF; });
    case Field::IpChecksum: return v4([](Ipv4& h) { h.checksum = 0xFFFF; });
    case Field::IpFlow:
        return only(Layer::Ipv6, zero_v6(), [](Ipv6& h) { h.flow_label = 0xFFFFF; });
    case Field::UdpSourcePort: return Buffer::with(Layer::Udp, Udp{.source_port = 0xFFFF});
    case Field::UdpDestinationPort:
        return Buffer::with(Layer::Udp, Udp{.destination_port = 0xFFFF});
    case Field::UdpLength: return Buffer::with(Layer::Udp, Udp{.length = 0xFFFF});
    case Field::UdpChecksum: return Buffer::with(Layer::Udp, Udp{.checksum = 0xFFFF});
    case Field::Icrc: return Buffer::with(Layer::Icrc, ImmDt{0xFFFFFFFF});
    case Field::EthSource:
    case Field::EthDestination:
    case Field::IpSource:
    case Field::IpDestination: break; // no numbers
    }
    return {};
}

std::uint64_t all_ones(unsigned bits) {
    return ~0ULL >> (64 - bits);
}

// Bits by name, typed here again.
const std::map<std::string, unsigned> kWidths{
    {"opcode", 8},     {"se", 1},          {"migreq", 1},        {"pad", 2},      {"tver", 4},
    {"pkey", 16},      {"fecn", 1},        {"becn", 1},          {"resv6", 6},    {"destqp", 24},
    {"ackreq", 1},     {"resv7", 7},       {"psn", 24},          {"va", 64},      {"rkey", 32},
    {"dmalen", 32},    {"swap", 64},       {"add", 64},          {"compare", 64}, {"original", 64},
    {"syndrome", 8},   {"msn", 24},        {"imm", 32},          {"ikey", 32},    {"qkey", 32},
    {"srcqp", 24},     {"plt", 4},         {"sel", 2},           {"eth.src", 48}, {"eth.dst", 48},
    {"eth.type", 16},  {"vlan.id", 12},    {"vlan.pcp", 3},      {"vlan.dei", 1}, {"ip.src", 32},
    {"ip.dst", 32},    {"ip.dscp", 6},     {"ip.ecn", 2},        {"ip.ttl", 8},   {"ip.id", 16},
    {"ip.df", 1},      {"ip.length", 16},  {"ip.checksum", 16},  {"ip.flow", 20}, {"udp.sport", 16},
    {"udp.dport", 16}, {"udp.length", 16}, {"udp.checksum", 16}, {"icrc", 32},
};

bool lies_in(const FieldInfo& info, Layer layer) {
    return info.primary.layer == layer || (info.secondary && info.secondary->layer == layer);
}

} // namespace

TEST_CASE("field: names and widths are those of the script language", "[wire]") {
    REQUIRE(kWidths.size() == kFields);
    std::set<std::string_view> names;
    for (const FieldInfo& info : field_table()) {
        INFO(info.name);
        CHECK(&info == &field_info(info.field));
        CHECK(field_by_name(info.name) == info.field);
        CHECK(names.insert(info.name).second);
        REQUIRE(kWidths.count(std::string(info.name)) == 1);
        CHECK(info.primary.bits == kWidths.at(std::string(info.name)));
    }
    CHECK(!field_by_name("ttl"));
    CHECK(!field_by_name(""));
}

TEST_CASE("field: all ones in a field are all ones in its member and nothing else", "[wire]") {
    for (const FieldInfo& info : field_table()) {
        if (info.kind != FieldKind::Number) continue;
        INFO(info.name);
        Buffer buffer;
        buffer.layers = spread_layers(lies_in(info, Layer::Ipv6) && !lies_in(info, Layer::Ipv4),
                                      info.primary.layer == Layer::AtomicEth,
                                      info.primary.layer == Layer::Vlan && !info.secondary);
        const std::uint64_t ones = all_ones(info.primary.bits);
        CHECK(read_field(buffer.bytes, buffer.layers, info.field) == 0U);
        REQUIRE(write_field(buffer.bytes, buffer.layers, info.field, ones));
        CHECK(buffer.bytes == expected_ones(info.field));
        CHECK(read_field(buffer.bytes, buffer.layers, info.field) == ones);
        // Back to zero amid ones: the neighbours stay.
        std::vector<std::byte> full(64 * kLayers, std::byte{0xFF});
        REQUIRE(write_field(full, buffer.layers, info.field, 0));
        for (std::size_t i = 0; i < full.size(); ++i)
            REQUIRE((full[i] ^ buffer.bytes[i]) == std::byte{0xFF});
        if (info.primary.bits < 64) {
            CHECK(!write_field(buffer.bytes, buffer.layers, info.field, ones + 1));
            CHECK(buffer.bytes == expected_ones(info.field));
        }
    }
}

TEST_CASE("field: the other place of a field", "[wire]") {
    Buffer buffer;
    buffer.layers = spread_layers(true, true, true);
    const auto check = [&](Field field, std::uint64_t value, const std::vector<std::byte>& bytes) {
        INFO(field_info(field).name);
        buffer.bytes.assign(64 * kLayers, std::byte{0});
        REQUIRE(write_field(buffer.bytes, buffer.layers, field, value));
        CHECK(buffer.bytes == bytes);
        CHECK(read_field(buffer.bytes, buffer.layers, field) == value);
    };
    const auto v6 = [](auto set) { return only(Layer::Ipv6, zero_v6(), set); };
    check(Field::IpDscp, 0x3F, v6([](Ipv6& h) { h.dscp = 0x3F; }));
    check(Field::IpEcn, 3, v6([](Ipv6& h) { h.ecn = 3; }));
    check(Field::IpTtl, 0xFF, v6([](Ipv6& h) { h.hop_limit = 0xFF; }));
    check(Field::IpLength, 0xFFFF, v6([](Ipv6& h) { h.payload_length = 0xFFFF; }));
    check(Field::IpFlow, 0xFFFFF, v6([](Ipv6& h) { h.flow_label = 0xFFFFF; }));
    check(Field::Va, ~0ULL, Buffer::with(Layer::AtomicEth, AtomicEth{.virtual_address = ~0ULL}));
    check(Field::Rkey, 0xFFFFFFFF, Buffer::with(Layer::AtomicEth, AtomicEth{.rkey = {0xFFFFFFFF}}));
    check(Field::EthType, 0xFFFF, Buffer::with(Layer::Vlan, VlanTag{.ether_type = 0xFFFF}));
    CHECK(!read_field(buffer.bytes, buffer.layers, Field::IpId));
    CHECK(!read_field(buffer.bytes, buffer.layers, Field::DmaLength));
    CHECK(!write_field(buffer.bytes, buffer.layers, Field::IpId, 1));
    CHECK(!locate(buffer.layers, Field::IpChecksum));
}

TEST_CASE("field: addresses of both families and MACs", "[wire]") {
    const auto v4 = *IpAddress::parse("1.2.3.4");
    const auto v6 = *IpAddress::parse("fd77::1:2");
    const auto mac = *MacAddress::parse("01:02:03:04:05:06");
    Buffer four;
    four.layers = spread_layers(false, false, false);
    CHECK(write_ip(four.bytes, four.layers, Field::IpDestination, v4));
    CHECK(four.header<Ipv4>(Layer::Ipv4).destination == 0x01020304);
    CHECK(four.header<Ipv4>(Layer::Ipv4).source == 0);
    CHECK(read_ip(four.bytes, four.layers, Field::IpDestination) == v4);
    CHECK(write_ip(four.bytes, four.layers, Field::IpSource, v4));
    CHECK(four.header<Ipv4>(Layer::Ipv4).source == 0x01020304);
    CHECK(!write_ip(four.bytes, four.layers, Field::IpSource, v6));

    Buffer six;
    six.layers = spread_layers(true, false, false);
    CHECK(write_ip(six.bytes, six.layers, Field::IpSource, v6));
    CHECK(six.header<Ipv6>(Layer::Ipv6).source == v6);
    CHECK(write_ip(six.bytes, six.layers, Field::IpDestination, v6));
    CHECK(six.header<Ipv6>(Layer::Ipv6).destination == v6);
    CHECK(read_ip(six.bytes, six.layers, Field::IpSource) == v6);
    CHECK(!write_ip(six.bytes, six.layers, Field::IpSource, v4));

    CHECK(write_mac(four.bytes, four.layers, Field::EthDestination, mac));
    CHECK(four.header<Ethernet>(Layer::Ethernet).destination == mac);
    CHECK(four.header<Ethernet>(Layer::Ethernet).source == MacAddress{});
    CHECK(write_mac(four.bytes, four.layers, Field::EthSource, mac));
    CHECK(four.header<Ethernet>(Layer::Ethernet).source == mac);
    CHECK(read_mac(four.bytes, four.layers, Field::EthSource) == mac);

    CHECK(!read_field(four.bytes, four.layers, Field::IpSource));
    CHECK(!write_field(four.bytes, four.layers, Field::EthSource, 1));
    CHECK(!read_ip(four.bytes, four.layers, Field::Psn));
    CHECK(!write_ip(four.bytes, four.layers, Field::Psn, v4));
    CHECK(!read_mac(four.bytes, four.layers, Field::IpSource));
    CHECK(!write_mac(four.bytes, four.layers, Field::Psn, mac));
}

TEST_CASE("field: a captured frame reads as tshark shows it", "[wire]") {
    auto frame = *decode_frame(frames::kReadRequestVlan);
    map_transport(frame);
    const auto read = [&](Field field) { return read_field(frame.bytes, frame.layers, field); };
    CHECK(read(Field::Opcode) == 12U);
    CHECK(read(Field::DestQp) == 0x11U);
    CHECK(read(Field::Psn) == 4102U);
    CHECK(read(Field::AckReq) == 1U);
    CHECK(read(Field::Va) == 0x7F91579D2000U);
    CHECK(read(Field::Rkey) == 0x239U);
    CHECK(read(Field::DmaLength) == 2500U);
    CHECK(read(Field::VlanId) == 77U);
    CHECK(read(Field::EthType) == 0x0800U);
    CHECK(read(Field::Icrc) == 0x77158CC3U); // the bytes in their order, as Wireshark shows them
    CHECK(read(Field::Msn) == std::nullopt);
    CHECK(read_ip(frame.bytes, frame.layers, Field::IpDestination)->text() == "10.78.0.2");
}

TEST_CASE("field: nothing is read or written beyond the end of the bytes", "[wire]") {
    for (const auto* bytes : frames::kSealed) {
        auto frame = *decode_frame(*bytes);
        map_transport(frame);
        for (const FieldInfo& info : field_table()) {
            const auto where = locate(frame.layers, info.field);
            if (!where) continue;
            INFO(info.name);
            const std::size_t first = frame.layers.at(where->layer) * 8 + where->bit;
            const std::size_t end = (first + where->bits + 7) / 8;
            std::vector<std::byte> cut(bytes->begin(), bytes->begin() + static_cast<long>(end));
            CHECK(flip_field(cut, frame.layers, info.field, 0));
            cut.pop_back();
            const auto before = cut;
            CHECK(!read_field(cut, frame.layers, info.field));
            CHECK(!write_field(cut, frame.layers, info.field, 0));
            CHECK(!read_ip(cut, frame.layers, info.field));
            CHECK(!read_mac(cut, frame.layers, info.field));
            CHECK(!flip_field(cut, frame.layers, info.field, 0));
            CHECK(cut == before);
        }
    }
}

TEST_CASE("field: flipping a bit is exclusive-or with its value", "[wire]") {
    constexpr unsigned kSeed = 4096;
    INFO("seed " << kSeed);
    std::mt19937_64 random(kSeed);
    for (const FieldInfo& info : field_table()) {
        Buffer buffer;
        buffer.layers = spread_layers(info.field == Field::IpFlow,
                                      info.primary.layer == Layer::AtomicEth, true);
        for (std::byte& byte : buffer.bytes)
            byte = static_cast<std::byte>(random());
        INFO(info.name);
        const std::size_t bits = locate(buffer.layers, info.field)->bits;
        for (std::size_t bit = 0; bit < bits; ++bit) {
            auto flipped = buffer.bytes;
            REQUIRE(flip_field(flipped, buffer.layers, info.field, bit));
            if (info.kind == FieldKind::Number) {
                REQUIRE(*read_field(flipped, buffer.layers, info.field) ==
                        (*read_field(buffer.bytes, buffer.layers, info.field) ^ 1ULL << bit));
            } else {
                REQUIRE(flipped != buffer.bytes);
            }
            REQUIRE(flip_field(flipped, buffer.layers, info.field, bit));
            REQUIRE(flipped == buffer.bytes);
        }
        CHECK(!flip_field(buffer.bytes, buffer.layers, info.field, bits));
        CHECK(!flip_field(buffer.bytes, LayerMap{}, info.field, 0));
    }
}
