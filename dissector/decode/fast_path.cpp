#include "dissector/decode/fast_path.hpp"

#include "dissector/wire/ethernet.hpp"
#include "dissector/wire/field_places.hpp"
#include "dissector/wire/ip.hpp"
#include "dissector/wire/outer.hpp"
#include "dissector/wire/udp.hpp"

namespace veriroce::decode {
namespace {

constexpr std::uint16_t kEthernetLink = 1;
constexpr std::uint32_t kIcrcBytes = wire::kIcrcBytes;

// The layers before the extended headers, which have the same places in each such frame.
// The length of the first, the frame, is still to be said.
constexpr Layers::Few first_layers(bool tagged, bool v6) {
    Layers::Few layers;
    std::uint32_t at = 0;
    const auto next = [&](LayerKind kind, std::uint32_t bytes) {
        layers.push({kind, at, bytes});
        at += bytes;
    };
    next(LayerKind::Frame, 0);
    next(LayerKind::Ethernet, wire::Ethernet::kSize);
    if (tagged) next(LayerKind::Vlan, wire::VlanTag::kSize);
    if (v6) {
        next(LayerKind::Ipv6, wire::Ipv6::kSize);
    } else {
        next(LayerKind::Ipv4, wire::Ipv4::kSize);
    }
    next(LayerKind::Udp, wire::Udp::kSize);
    next(LayerKind::Bth, wire::Bth::kSize);
    return layers;
}

// By family, then by whether there is a tag.
constexpr std::array<std::array<Layers::Few, 2>, 2> kFirstLayers{
    {{first_layers(false, false), first_layers(true, false)},
     {first_layers(false, true), first_layers(true, true)}}};

// What the outer walk lets pass and the general walk has more to say of: options, a UDP checksum,
// and an IPv4 checksum of ones, which may be the other zero.
bool plain(const wire::Outer& outer) {
    const std::size_t ip_bytes = outer.v6 ? wire::Ipv6::kSize : wire::Ipv4::kSize;
    if (outer.udp_at - outer.ip_at != ip_bytes) return false;
    if (wire::load<wire::where("udp.checksum")>(outer.frame, outer.udp_at) != 0) return false;
    return outer.v6 || wire::load<wire::where("ip.checksum")>(outer.frame, outer.ip_at) != 0xFFFF;
}

} // namespace

// One piece of code, not a chain of calls: nearly every packet passes here.
[[gnu::flatten]] bool take_fast_path(Dissection& out) {
    const wire::Bytes frame = out.frame.bytes;
    if (out.frame.link_code != kEthernetLink || frame.size() < out.frame.original_length) {
        return false;
    }
    wire::Outer outer{.frame = frame};
    if (wire::check_headers(outer) || !plain(outer)) return false;
    out.transport = outer.transport();
    if (wire::decode_packet(out.transport, out.packet)) return false;
    const wire::OpcodeInfo& info = out.info();
    if (info.service == wire::Service::Ud || info.operation == wire::Operation::Cnp) return false;

    out.layers.begin_with(kFirstLayers[outer.v6 ? 1 : 0][outer.tagged ? 1 : 0],
                          static_cast<std::uint32_t>(frame.size()));
    std::uint32_t at = outer.bth_at + wire::Bth::kSize;
    const auto next = [&](LayerKind kind, std::uint32_t bytes) {
        out.layers.push(kind, at, bytes);
        at += bytes;
    };
    for (wire::HeaderSet left = info.headers; !left.empty(); left = left.without_first())
        next(layer_kind_of(left.first()), static_cast<std::uint32_t>(wire::size_of(left.first())));
    out.body_bytes = outer.icrc_at - at;
    const std::uint32_t pad = out.packet.bth.pad <= out.body_bytes ? out.packet.bth.pad : 0;
    if (out.body_bytes > pad) next(LayerKind::Payload, out.body_bytes - pad);
    if (pad > 0) next(LayerKind::Pad, pad);
    next(LayerKind::Icrc, kIcrcBytes);
    if (frame.size() > at) {
        next(LayerKind::Trailer, static_cast<std::uint32_t>(frame.size()) - at);
    }

    out.network = {outer.v6 ? LayerKind::Ipv6 : LayerKind::Ipv4, outer.ip_at,
                   outer.udp_at - outer.ip_at};
    out.not_followed = {};
    out.protocol = Protocol::RoceV2;
    out.has_bth = true;
    out.cut = out.malformed = out.fragment = out.upper = false;
    out.icrc = {};
    out.findings.clear();
    return true;
}

} // namespace veriroce::decode
