#include "dissector/decode/usual.hpp"

#include "dissector/decode/mad.hpp"
#include "dissector/wire/ethernet.hpp"
#include "dissector/wire/frame.hpp"
#include "dissector/wire/ip.hpp"
#include "dissector/wire/udp.hpp"

namespace veriroce::decode {
namespace {

// How such a frame begins: all layers in front of the extended headers, which always stand at the
// same places.
struct Opening {
    Layers::Few layers; // the length of the first, the frame, is still to be said
    LayerSpan network;
    std::uint32_t udp = 0;
    std::uint32_t transport = 0;
    std::uint32_t least_bytes = 0; // up to the ICRC behind a BTH
};

constexpr std::uint32_t kIcrcBytes = wire::kIcrcBytes;

constexpr Opening opening(bool tag, LayerKind network, std::uint32_t network_bytes) {
    Opening result;
    std::uint32_t at = 0;
    const auto next = [&](LayerKind kind, std::uint32_t bytes) {
        const LayerSpan layer{kind, at, bytes};
        result.layers.push(layer);
        at += bytes;
        return layer;
    };
    next(LayerKind::Frame, 0);
    next(LayerKind::Ethernet, wire::Ethernet::kSize);
    if (tag) next(LayerKind::Vlan, wire::VlanTag::kSize);
    result.network = next(network, network_bytes);
    result.udp = next(LayerKind::Udp, wire::Udp::kSize).offset;
    result.transport = next(LayerKind::Bth, wire::Bth::kSize).offset;
    result.least_bytes = at + kIcrcBytes;
    return result;
}

constexpr std::array<Opening, 2> kIpv4{opening(false, LayerKind::Ipv4, wire::Ipv4::kSize),
                                       opening(true, LayerKind::Ipv4, wire::Ipv4::kSize)};
constexpr std::array<Opening, 2> kIpv6{opening(false, LayerKind::Ipv6, wire::Ipv6::kSize),
                                       opening(true, LayerKind::Ipv6, wire::Ipv6::kSize)};

constexpr std::uint16_t kEthernetLink = 1;
constexpr std::uint16_t kFragmentBits = 0x3FFF; // more fragments, offset

constexpr std::uint16_t code(wire::EtherType type) {
    return static_cast<std::uint16_t>(type);
}

// A field of ones may stand for another zero: that is unusual.
bool right_checksum(wire::Bytes header) {
    return wire::checksum_fold(wire::ipv4_header_sum(header.first(wire::Ipv4::kSize))) == 0 &&
           wire::load_u16(header, 10) != 0xFFFF;
}

// The bytes of the IP packet by its own header; 0 if that is not as usual.
std::uint32_t usual_ipv4(wire::Bytes header) {
    const bool usual = wire::load_u8(header, 0) == 0x45 &&
                       (wire::load_u16(header, 6) & kFragmentBits) == 0 &&
                       wire::load_u8(header, 9) == wire::kProtocolUdp && right_checksum(header);
    return usual ? wire::load_u16(header, 2) : 0;
}

std::uint32_t usual_ipv6(wire::Bytes header) {
    const bool usual =
        wire::load_u8(header, 0) >> 4 == 6 && wire::load_u8(header, 6) == wire::kProtocolUdp;
    const std::uint32_t payload = wire::load_u16(header, 4);
    return usual && payload != 0 ? wire::Ipv6::kSize + payload : 0;
}

// How the frame begins; nullptr if it is cut, or begins in no such way.
const Opening* opening_of(const FrameFacts& frame) {
    const wire::Bytes bytes = frame.bytes;
    if (frame.link_code != kEthernetLink || bytes.size() < kIpv4[0].least_bytes ||
        bytes.size() < frame.original_length) {
        return nullptr;
    }
    std::uint16_t type = wire::load_u16(bytes, 12);
    const bool tag = type == code(wire::EtherType::Vlan);
    if (tag) type = wire::load_u16(bytes, 16);
    if (type == code(wire::EtherType::Ipv4)) return &kIpv4[tag ? 1 : 0];
    if (type == code(wire::EtherType::Ipv6)) return &kIpv6[tag ? 1 : 0];
    return nullptr;
}

// Where the IP packet ends; 0 if its headers are not as usual.
std::uint32_t usual_end(const Opening& begins, wire::Bytes frame) {
    if (frame.size() < begins.least_bytes) return 0;
    const wire::Bytes header = frame.subspan(begins.network.offset);
    const std::uint32_t bytes =
        begins.network.kind == LayerKind::Ipv4 ? usual_ipv4(header) : usual_ipv6(header);
    const std::uint32_t end = begins.network.offset + bytes;
    const wire::Bytes udp = frame.subspan(begins.udp);
    const bool usual = end >= begins.least_bytes && end <= frame.size() &&
                       wire::load_u16(udp, 2) == wire::kRocePort &&
                       wire::load_u16(udp, 4) == end - begins.udp && wire::load_u16(udp, 6) == 0;
    return usual ? end : 0;
}

} // namespace

bool dissect_usual(Dissection& out) {
    const wire::Bytes frame = out.frame.bytes;
    const Opening* begins = opening_of(out.frame);
    if (begins == nullptr) return false;
    const std::uint32_t end = usual_end(*begins, frame);
    if (end == 0) return false;
    const std::uint32_t icrc = end - kIcrcBytes;
    const wire::Bytes transport = frame.subspan(begins->transport, icrc - begins->transport);
    out.bth = wire::Bth::read(transport);
    const wire::OpcodeInfo& info = wire::opcode_info(out.bth.opcode);
    if (info.service == wire::Service::Ud || info.operation == wire::Operation::Cnp) return false;

    out.layers.begin_with(begins->layers, static_cast<std::uint32_t>(frame.size()));
    std::uint32_t at = begins->transport + wire::Bth::kSize;
    const auto next = [&](LayerKind kind, std::uint32_t bytes) {
        out.layers.push(kind, at, bytes);
        at += bytes;
    };
    for (wire::HeaderSet left = info.headers; !left.empty(); left = left.without_first())
        next(layer_kind_of(left.first()), static_cast<std::uint32_t>(wire::size_of(left.first())));
    if (at > icrc) return false;
    out.body_bytes = icrc - at;
    const std::uint32_t pad = out.bth.pad <= out.body_bytes ? out.bth.pad : 0;
    if (out.body_bytes > pad) next(LayerKind::Payload, out.body_bytes - pad);
    if (pad > 0) next(LayerKind::Pad, pad);
    next(LayerKind::Icrc, kIcrcBytes);
    if (frame.size() > end)
        next(LayerKind::Trailer, static_cast<std::uint32_t>(frame.size()) - end);

    out.network = begins->network;
    out.transport = transport;
    out.protocol = Protocol::RoceV2;
    out.has_bth = true;
    out.cut = out.malformed = out.fragment = out.upper = false;
    out.icrc = {};
    out.findings.clear();
    return true;
}

} // namespace veriroce::decode
