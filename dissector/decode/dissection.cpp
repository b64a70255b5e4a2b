#include "dissector/decode/dissection.hpp"

#include "dissector/wire/ip.hpp"

namespace veriroce::decode {

std::string_view name_of(IcrcStatus status) {
    switch (status) {
    case IcrcStatus::Good: return "good";
    case IcrcStatus::Bad: return "bad";
    case IcrcStatus::Unchecked: return "unchecked";
    }
    return {};
}

std::string_view text_of(IcrcReason reason) {
    switch (reason) {
    case IcrcReason::None: return "";
    case IcrcReason::NotAsked: return "not asked for";
    case IcrcReason::Cut: return "the capture cut the packet";
    case IcrcReason::Malformed: return "the packet is too short";
    case IcrcReason::Fragment: return "IP fragment";
    case IcrcReason::IpExtensions: return "IPv6 extension headers";
    case IcrcReason::IpVersion: return "the IP version is neither 4 nor 6";
    }
    return {};
}

std::string_view name_of(Protocol protocol) {
    switch (protocol) {
    case Protocol::Unknown: return "?";
    case Protocol::Ethernet: return "Ethernet";
    case Protocol::Arp: return "ARP";
    case Protocol::MacControl: return "MAC CTRL";
    case Protocol::Mpls: return "MPLS";
    case Protocol::Ipv4: return "IPv4";
    case Protocol::Ipv6: return "IPv6";
    case Protocol::Gre: return "GRE";
    case Protocol::Tcp: return "TCP";
    case Protocol::Udp: return "UDP";
    case Protocol::Icmp: return "ICMP";
    case Protocol::Icmpv6: return "ICMPv6";
    case Protocol::Iwarp: return "iWARP";
    case Protocol::InfiniBand: return "InfiniBand";
    case Protocol::RoceV1: return "RoCE";
    case Protocol::RoceV2: return "RRoCE";
    }
    return {};
}

std::optional<wire::Packet> Dissection::packet() const {
    if (!transport_packet() || cut || malformed || fragment) return std::nullopt;
    const auto packet = wire::decode_packet(transport);
    if (!packet) return std::nullopt;
    return *packet;
}

namespace {

std::optional<wire::IpAddress> address(const Dissection& dissection, bool destination) {
    const LayerSpan& layer = dissection.network;
    if (layer.length == 0) return std::nullopt;
    const wire::Bytes bytes = dissection.bytes_of(layer);
    if (layer.kind == LayerKind::Ipv4) {
        return wire::IpAddress::from_v4(wire::load_u32(bytes, destination ? 16 : 12));
    }
    return wire::IpAddress::from_v6(bytes.subspan(destination ? 24 : 8, 16));
}

} // namespace

std::optional<wire::IpAddress> Dissection::source() const {
    return address(*this, false);
}
std::optional<wire::IpAddress> Dissection::destination() const {
    return address(*this, true);
}

} // namespace veriroce::decode
