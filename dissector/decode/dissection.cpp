#include "dissector/decode/dissection.hpp"

#include <algorithm>

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
    case IcrcReason::IpExtensions: return "IP extension headers";
    case IcrcReason::IpVersion: return "the IP version is neither 4 nor 6";
    case IcrcReason::Lengths: return "the packet's lengths contradict each other";
    }
    return {};
}

namespace {

std::string hex_of(std::uint32_t code, std::size_t digits) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text = "0x";
    for (std::size_t i = digits; i-- > 0;)
        text += kDigits[code >> (4 * i) & 0xF];
    return text;
}

} // namespace

std::string_view text_of(Stop stop) {
    switch (stop) {
    case Stop::None: return "";
    case Stop::LinkType: return "link type";
    case Stop::ErfType: return "ERF type";
    case Stop::EtherType: return "EtherType";
    case Stop::LlcSap: return "LLC SAP";
    case Stop::PppProtocol: return "PPP protocol";
    case Stop::AddressFamily: return "address family";
    case Stop::IpProtocol: return "IP protocol";
    case Stop::UdpPort: return "UDP port";
    case Stop::GpeProtocol: return "VXLAN-GPE protocol";
    case Stop::NshProtocol: return "NSH protocol";
    case Stop::GtpMessage: return "GTP message";
    case Stop::GreFlags: return "GRE flags";
    case Stop::ErspanFrame: return "ERSPAN frame type";
    case Stop::NoInfiniBand: return "GRH next header";
    case Stop::MplsPayload: return "MPLS payload other than IP";
    case Stop::GtpPayload: return "GTP payload other than IP";
    case Stop::MplsLabels: return "too many MPLS labels";
    case Stop::Tags: return "too many VLAN tags";
    case Stop::Tunnels: return "too many tunnels in each other";
    case Stop::IpExtensions: return "too many IP extension headers";
    case Stop::LaterFragment: return "IP fragment without its headers";
    }
    return {};
}

std::string NotFollowed::text() const {
    const std::string name(text_of(stop));
    switch (stop) {
    case Stop::EtherType:
    case Stop::PppProtocol:
    case Stop::GreFlags: return name + " " + hex_of(code, 4);
    case Stop::LlcSap: return name + " " + hex_of(code, 2);
    case Stop::LinkType:
    case Stop::ErfType:
    case Stop::AddressFamily:
    case Stop::IpProtocol:
    case Stop::UdpPort:
    case Stop::GpeProtocol:
    case Stop::NshProtocol:
    case Stop::GtpMessage:
    case Stop::ErspanFrame:
    case Stop::NoInfiniBand: return name + " " + std::to_string(code);
    case Stop::None:
    case Stop::MplsPayload:
    case Stop::GtpPayload:
    case Stop::MplsLabels:
    case Stop::Tags:
    case Stop::Tunnels:
    case Stop::IpExtensions:
    case Stop::LaterFragment: return name;
    }
    return name;
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
std::uint32_t Dissection::erf_frame_length() const {
    const wire::Bytes header = bytes_of(*layers.find(LayerKind::Erf));
    constexpr std::size_t kWireLength = 14;
    if (header.size() < kWireLength + 2) return frame.original_length;
    return wire::load_u16(header, kWireLength);
}

std::uint32_t Dissection::captured_length() const {
    const auto captured = static_cast<std::uint32_t>(frame.bytes.size());
    const LayerSpan* record = layers.find(LayerKind::Erf);
    if (record == nullptr) return captured;
    return std::min(frame_length(), captured - record->length);
}

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
