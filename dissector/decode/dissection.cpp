#include "dissector/decode/dissection.hpp"

#include "dissector/wire/field_places.hpp"

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
    case IcrcReason::Lengths: return "the packet's lengths contradict each other";
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

// A GRH has its addresses where an IPv6 header has them.
wire::Bytes Dissection::source_bytes() const {
    if (network.length == 0) return {};
    const wire::Bytes header = bytes_of(network);
    return network.kind == LayerKind::Ipv4 ? wire::bytes_at<wire::where("ip.src")>(header)
                                           : wire::bytes_at<wire::where("ipv6.src")>(header);
}

wire::Bytes Dissection::destination_bytes() const {
    if (network.length == 0) return {};
    const wire::Bytes header = bytes_of(network);
    return network.kind == LayerKind::Ipv4 ? wire::bytes_at<wire::where("ip.dst")>(header)
                                           : wire::bytes_at<wire::where("ipv6.dst")>(header);
}

namespace {

std::optional<wire::IpAddress> address_of(wire::Bytes bytes) {
    if (bytes.empty()) return std::nullopt;
    return bytes.size() == 4 ? wire::IpAddress::from_v4(wire::load_u32(bytes, 0))
                             : wire::IpAddress::from_v6(bytes);
}

} // namespace

std::optional<wire::IpAddress> Dissection::source() const {
    return address_of(source_bytes());
}
std::optional<wire::IpAddress> Dissection::destination() const {
    return address_of(destination_bytes());
}

} // namespace veriroce::decode
