// Link, network and UDP layers of the general walk.
#include <algorithm>
#include <bit>

#include "dissector/decode/walker.hpp"
#include "dissector/wire/field_places.hpp"
#include "dissector/wire/frame.hpp"

namespace veriroce::decode {
namespace {

constexpr std::uint16_t code(wire::EtherType type) {
    return static_cast<std::uint16_t>(type);
}
constexpr std::uint16_t kOldQinQ = 0x9100;
constexpr std::uint16_t kVnTag = 0x8926;
constexpr std::uint16_t kETag = 0x893F;
constexpr std::uint16_t kCmdTag = 0x8909;
constexpr std::uint16_t kHsrTag = 0x892F;
constexpr std::uint16_t kPppoeSession = 0x8864;
constexpr std::uint16_t kNsh = 0x894F;
constexpr std::size_t kVnTagBytes = 6; // the next type included: so are the others
constexpr std::size_t kHsrTagBytes = 6;
constexpr std::size_t kETagBytes = 8;
constexpr std::size_t kCmdTagBytes = 8;
constexpr std::uint16_t kLeastEtherType = 0x0600; // below it the field is a length
constexpr std::uint8_t kSnapSap = 0xAA;
constexpr std::uint8_t kIpSap = 0x06;
constexpr std::uint8_t kUnnumbered = 0x03;
constexpr std::size_t kLlcBytes = 3;
constexpr std::size_t kSnapBytes = 5;

constexpr std::size_t kLoopbackBytes = 4;
constexpr std::uint32_t kFamilyIpv4 = 2;
constexpr std::uint16_t kPppIpv4 = 0x0021;
constexpr std::uint16_t kPppIpv6 = 0x0057;
constexpr std::uint8_t kPppAddress = 0xFF;

// AF_INET6 of Linux, NetBSD and OpenBSD, FreeBSD, macOS.
constexpr bool is_family_ipv6(std::uint32_t family) {
    return family == 10 || family == 24 || family == 28 || family == 30;
}

constexpr std::uint16_t kMplsUnicast = 0x8847;
constexpr std::uint16_t kMplsMulticast = 0x8848;

constexpr bool is_tag(std::uint16_t type) {
    return type == code(wire::EtherType::Vlan) || type == code(wire::EtherType::QinQ) ||
           type == kOldQinQ;
}

constexpr bool is_fabric_tag(std::uint16_t type) {
    return type == kVnTag || type == kETag || type == kCmdTag || type == kHsrTag;
}

// IP protocol numbers and IPv6 next headers (IANA).
constexpr std::uint8_t kHopByHop = 0;
constexpr std::uint8_t kIcmp = 1;
constexpr std::uint8_t kIpv4InIp = 4;
constexpr std::uint8_t kIpv6InIp = 41;
constexpr std::uint8_t kRouting = 43;
constexpr std::uint8_t kFragment = 44;
constexpr std::uint8_t kGre = 47;
constexpr std::uint8_t kAuthentication = 51;
constexpr std::uint8_t kIcmpv6 = 58;
constexpr std::uint8_t kDestinationOptions = 60;

constexpr bool is_extension(std::uint8_t next_header) {
    return next_header == kHopByHop || next_header == kRouting || next_header == kFragment ||
           next_header == kAuthentication || next_header == kDestinationOptions;
}

constexpr std::uint16_t kPause = 0x0001;
constexpr std::uint16_t kPfc = 0x0101;
constexpr std::size_t kMacControlBytes = 2;
constexpr std::size_t kPauseBytes = 2;
constexpr std::size_t kPfcBytes = 18;

constexpr std::uint16_t kVxlanPort = 4789;
constexpr std::uint16_t kVxlanGpePort = 4790;
constexpr std::uint16_t kOldVxlanPort = 8472; // of Linux before it had a number
constexpr std::uint16_t kGenevePort = 6081;
constexpr std::uint16_t kGtpUserPort = 2152;
constexpr std::uint16_t kMplsPort = 6635; // RFC 7510

constexpr std::uint16_t kFragmentOffsetBits = 0xFFF8;
constexpr std::uint16_t kFragmentMoreBit = 0x0001;
constexpr std::uint32_t kOpenEnd = 1U << 20; // more than a length of IP, UDP or GRH says

} // namespace

void Walker::ethernet() {
    const auto header = take(LayerKind::Ethernet, wire::Ethernet::kSize);
    if (header.empty()) return;
    out_.protocol = Protocol::Ethernet;
    const std::uint16_t type = wire::Ethernet::read(header).ether_type;
    if (type < kLeastEtherType) return llc(type);
    by_ether_type(type);
}

// IEEE 802.2 behind a length, with SNAP (RFC 1042, and bridged Ethernet of IEEE 802.1H).
void Walker::llc(std::uint16_t length) {
    end_ = std::min(end_, at_ + length);
    const std::uint8_t sap = peek_u8();
    const bool snap = sap == kSnapSap && peek_u8(1) == kSnapSap && peek_u8(2) == kUnnumbered;
    const auto header = take(LayerKind::Llc, kLlcBytes + (snap ? kSnapBytes : 0));
    if (header.empty()) return;
    if (snap) {
        const std::uint32_t organisation = wire::load_u32(header, 2) & 0x00FFFFFF;
        const bool type_follows = organisation == 0 || organisation == 0xF8;
        if (type_follows) return by_ether_type(wire::load_u16(header, 6));
        return leave(Stop::LlcSap, sap);
    }
    if (sap == kIpSap) return by_ether_type(code(wire::EtherType::Ipv4));
    leave(Stop::LlcSap, sap);
}

// The address family in the byte order of the host that captured, which may not be ours; no family
// is above 255.
void Walker::loopback(bool network_order) {
    const auto header = take(LayerKind::Null, kLoopbackBytes);
    if (header.empty()) return;
    std::uint32_t family = wire::load_u32(header, 0);
    if (!network_order && family > 0xFFFF) family = std::byteswap(family);
    if (family == kFamilyIpv4) return by_ether_type(code(wire::EtherType::Ipv4));
    if (is_family_ipv6(family)) return by_ether_type(code(wire::EtherType::Ipv6));
    leave(Stop::AddressFamily, family);
}

// RFC 1661, RFC 1662. Address and control may be left out, and the first byte of the protocol if
// it is 0.
void Walker::ppp() {
    const std::uint32_t framing = peek_u8() == kPppAddress && peek_u8(1) == kUnnumbered ? 2 : 0;
    const bool one_byte = (peek_u8(framing) & 1) != 0;
    const auto header = take(LayerKind::Ppp, framing + (one_byte ? 1U : 2U));
    if (header.empty()) return;
    const std::uint16_t protocol =
        one_byte ? wire::load_u8(header, framing) : wire::load_u16(header, framing);
    if (protocol == kPppIpv4) return by_ether_type(code(wire::EtherType::Ipv4));
    if (protocol == kPppIpv6) return by_ether_type(code(wire::EtherType::Ipv6));
    leave(Stop::PppProtocol, protocol);
}

// RFC 2516: the length ends the packet, and what is behind it is padding.
void Walker::pppoe() {
    constexpr std::size_t kBytes = 6;
    const auto header = take(LayerKind::Pppoe, kBytes);
    if (header.empty() || !enter_tunnel()) return;
    end_ = std::min<std::uint32_t>(end_, at_ + wire::load_u16(header, 4));
    ppp();
}

void Walker::cisco_hdlc() {
    constexpr std::size_t kBytes = 4; // address, control, and an EtherType
    const auto header = take(LayerKind::Chdlc, kBytes);
    if (!header.empty()) by_ether_type(wire::load_u16(header, 2));
}

// Tags of fabrics, each with the next type at its end. False if the frame ends inside one.
bool Walker::fabric_tags(std::uint16_t& type) {
    LayerKind kind = LayerKind::VnTag;
    std::size_t bytes = kVnTagBytes;
    if (type == kETag) {
        kind = LayerKind::ETag;
        bytes = kETagBytes;
    } else if (type == kCmdTag) {
        kind = LayerKind::CmdTag;
        bytes = kCmdTagBytes;
    } else if (type == kHsrTag) {
        kind = LayerKind::HsrTag;
        bytes = kHsrTagBytes;
    }
    const auto tag = take(kind, bytes);
    if (tag.empty()) return false;
    type = wire::load_u16(tag, bytes - 2);
    return true;
}

void Walker::cooked(LayerKind kind, std::size_t bytes, std::size_t type_offset) {
    const auto header = take(kind, bytes);
    if (!header.empty()) by_ether_type(wire::load_u16(header, type_offset));
}

void Walker::raw_ip() {
    if (captured_ == 0) return rest(LayerKind::Data); // the capture does not show which IP it was
    const bool v6 = peek_u8() >> 4 == 6;
    by_ether_type(code(v6 ? wire::EtherType::Ipv6 : wire::EtherType::Ipv4));
}

void Walker::by_ether_type(std::uint16_t type) {
    for (; is_tag(type) || is_fabric_tag(type); ++vlan_tags_) {
        if (vlan_tags_ == kMaxVlanTags) return leave(Stop::Tags);
        if (is_fabric_tag(type)) {
            if (!fabric_tags(type)) return;
            continue;
        }
        const bool service = type == code(wire::EtherType::QinQ);
        const auto tag =
            take(service ? LayerKind::ServiceTag : LayerKind::Vlan, wire::VlanTag::kSize);
        if (tag.empty()) return;
        type = wire::VlanTag::read(tag).ether_type;
    }
    switch (type) {
    case code(wire::EtherType::Ipv4): return ipv4();
    case code(wire::EtherType::Ipv6): return ipv6();
    case code(wire::EtherType::RoceV1): return roce_v1();
    case code(wire::EtherType::MacControl): return mac_control();
    case kMplsUnicast:
    case kMplsMulticast: return mpls();
    case kPppoeSession: return pppoe();
    case kNsh: return nsh();
    case code(wire::EtherType::Arp): return arp();
    default: return leave(Stop::EtherType, type);
    }
}

// Shown as data; what is behind it in the frame is padding.
void Walker::arp() {
    out_.protocol = Protocol::Arp;
    // Hardware and protocol addresses, of two hosts each.
    const std::uint32_t bytes = 8 + 2U * (peek_u8(4) + peek_u8(5));
    const bool known = at_ + 6 <= std::min(captured_, end_);
    if (known && at_ + bytes <= end_) {
        pass(LayerKind::Data, bytes);
    } else {
        rest(LayerKind::Data);
    }
}

// PAUSE (IEEE 802.3 annex 31B) and priority-based flow control (IEEE 802.1Q clause 36). What
// follows them fills the frame up to its least size.
void Walker::mac_control() {
    out_.protocol = Protocol::MacControl;
    const auto opcode = take(LayerKind::MacControl, kMacControlBytes);
    if (opcode.empty()) return;
    switch (wire::load_u16(opcode, 0)) {
    case kPause: take(LayerKind::Pause, kPauseBytes); break;
    case kPfc: take(LayerKind::Pfc, kPfcBytes); break;
    default: rest(LayerKind::Data); break;
    }
    if (captured_ < end_) out_.cut = true;
}

// A packet that contradicts the frame's type is dropped by a receiver (CA17-27). It is taken apart
// by its own version, and where that is neither 4 nor 6 by the type.
bool Walker::version_is(std::uint8_t expected, std::uint8_t other) {
    if (at_ >= captured_ || at_ >= end_) return true;
    const std::uint8_t version = peek_u8() >> 4;
    if (version == expected) return true;
    add_finding(FindingKind::IpVersion, at_, wire::where("ip.version"), version, expected);
    if (version != other) unknown_ip_version_ = true;
    return version != other;
}

void Walker::ipv4() {
    if (!version_is(4, 6)) return ipv6_packet();
    ipv4_packet();
}

void Walker::ipv6() {
    if (!version_is(6, 4)) return ipv4_packet();
    ipv6_packet();
}

void Walker::ipv4_packet() {
    covered_from_ = at_;
    ip_extensions_ = false;
    const std::size_t words = peek_u8() & 0xFU;
    const std::size_t header_bytes = std::max(words * 4, wire::Ipv4::kSize);
    const auto bytes = take(LayerKind::Ipv4, header_bytes);
    if (bytes.empty()) return;
    out_.protocol = Protocol::Ipv4;
    out_.network = {LayerKind::Ipv4, covered_from_, static_cast<std::uint32_t>(bytes.size())};
    const wire::Ipv4 header = wire::Ipv4::read(bytes);
    if (header.header_length < 5) {
        add_finding(FindingKind::IpHeaderLength, covered_from_, wire::where("ip.hdr_len"),
                    header.header_length, 5);
    }
    const std::uint16_t checksum = wire::ipv4_checksum(bytes);
    if (checksum != header.checksum) {
        const bool left = header.checksum == 0;
        add_finding(left ? FindingKind::IpChecksumLeft : FindingKind::IpChecksum, covered_from_,
                    wire::where("ip.checksum"), header.checksum, checksum);
    }
    // Segmentation in the network card leaves 0 here: the packet fills the frame.
    if (header.total_length != 0) {
        const auto least = static_cast<std::uint32_t>(bytes.size());
        if (header.total_length < least) {
            add_finding(FindingKind::IpLength, covered_from_, wire::where("ip.len"),
                        header.total_length, least);
        }
        const std::uint32_t length = std::max<std::uint32_t>(header.total_length, least);
        narrow(covered_from_ + length, FindingKind::IpLength,
               covered_from_ + wire::where("ip.len").first_byte(), header.total_length,
               end_ - covered_from_);
    }
    if (header.more_fragments || header.fragment_offset != 0) {
        fragment(covered_from_ + wire::where("ip.flags").first_byte(), header.fragment_offset == 0);
        if (header.fragment_offset != 0) return leave(Stop::LaterFragment);
    }
    by_ip_protocol(header.protocol, Protocol::Ipv4);
}

void Walker::ipv6_packet() {
    covered_from_ = at_;
    ip_extensions_ = false;
    const auto bytes = take(LayerKind::Ipv6, wire::Ipv6::kSize);
    if (bytes.empty()) return;
    out_.protocol = Protocol::Ipv6;
    out_.network = {LayerKind::Ipv6, covered_from_, wire::Ipv6::kSize};
    const wire::Ipv6 header = wire::Ipv6::read(bytes);
    if (header.payload_length != 0) { // 0: a jumbogram, or segmentation in the network card
        narrow(at_ + header.payload_length, FindingKind::IpLength,
               covered_from_ + wire::where("ipv6.plen").first_byte(), header.payload_length,
               end_ - at_);
    }
    std::uint8_t next_header = header.next_header;
    if (!ipv6_extensions(next_header)) return;
    by_ip_protocol(next_header, Protocol::Ipv6);
}

// Skips extension headers (RFC 8200). False if the packet cannot be followed further.
bool Walker::ipv6_extensions(std::uint8_t& next_header) {
    for (; is_extension(next_header); ++ip_extension_headers_) {
        if (ip_extension_headers_ == kMaxIpExtensions) {
            leave(Stop::IpExtensions);
            return false;
        }
        ip_extensions_ = true;
        std::size_t size = 8;
        if (next_header != kFragment) {
            const std::size_t units = peek_u8(1);
            size = next_header == kAuthentication ? (units + 2) * 4 : (units + 1) * 8;
        }
        const std::uint32_t offset = at_;
        const auto header = take(LayerKind::Ipv6Extension, size);
        if (header.empty()) return false;
        if (next_header == kFragment) {
            const std::uint16_t field = wire::load_u16(header, 2);
            const bool later = (field & kFragmentOffsetBits) != 0;
            if (later || (field & kFragmentMoreBit) != 0) {
                fragment(offset + 2, !later);
            }
            if (later) {
                leave(Stop::LaterFragment);
                return false;
            }
        }
        next_header = wire::load_u8(header, 0);
    }
    return true;
}

// The first fragment holds the headers of a packet whose other bytes are in other frames, so that
// the lengths in them, those of packets in it included, are not to be held against this frame's.
void Walker::fragment(std::uint32_t field_offset, bool first) {
    if (!out_.fragment) fragment_cut_ = captured_ < end_;
    out_.fragment = true;
    out_.findings.add({FindingKind::IpFragment, field_offset, 2, 0, 0});
    if (!first) return;
    captured_ = std::min(captured_, end_);
    end_ = captured_ + kOpenEnd;
    open_end_ = true;
}

void Walker::by_ip_protocol(std::uint8_t protocol, Protocol otherwise) {
    switch (protocol) {
    case wire::kProtocolUdp: return udp();
    case wire::kProtocolTcp: return tcp();
    case kGre: return gre();
    case kAuthentication: return authentication(otherwise);
    case kIpv4InIp: return ip_in_ip(wire::EtherType::Ipv4);
    case kIpv6InIp: return ip_in_ip(wire::EtherType::Ipv6);
    case kIcmp: out_.protocol = Protocol::Icmp; break;
    case kIcmpv6: out_.protocol = Protocol::Icmpv6; break;
    default: out_.protocol = otherwise; return leave(Stop::IpProtocol, protocol);
    }
    rest(LayerKind::Data);
}

// RFC 4302, behind an IPv4 header.
void Walker::authentication(Protocol otherwise) {
    if (ip_extension_headers_ == kMaxIpExtensions) return leave(Stop::IpExtensions);
    ++ip_extension_headers_;
    ip_extensions_ = true;
    const auto header = take(LayerKind::Authentication, (peek_u8(1) + 2U) * 4);
    if (!header.empty()) by_ip_protocol(wire::load_u8(header, 0), otherwise);
}

void Walker::udp() {
    const std::uint32_t offset = at_;
    const auto bytes = take(LayerKind::Udp, wire::Udp::kSize);
    if (bytes.empty()) return;
    out_.protocol = Protocol::Udp;
    const wire::Udp header = wire::Udp::read(bytes);
    const std::uint32_t available = end_ - offset;
    if (open_end_) { // the rest of the datagram is in other frames
        end_ = std::max<std::uint32_t>(offset + header.length, captured_);
        open_end_ = false;
    } else if (header.length != available) {
        // ENC-08. A length below that of the header itself is not followed.
        add_finding(FindingKind::UdpLength, offset, wire::where("udp.length"), header.length,
                    available);
        if (header.length >= wire::Udp::kSize) end_ = std::min(end_, offset + header.length);
    }
    if (header.checksum != 0) check_udp_checksum(offset);
    by_udp_port(header.destination_port);
}

// The destination's port decides alone: a sender chooses its own for its entropy (ENC-02).
void Walker::by_udp_port(std::uint16_t port) {
    const auto& also = options_.also_roce_ports;
    if (port == wire::kRocePort || std::ranges::find(also, port) != also.end()) {
        return transport(Protocol::RoceV2);
    }
    switch (port) {
    case kVxlanPort:
    case kOldVxlanPort: return vxlan();
    case kVxlanGpePort: return vxlan_gpe();
    case kGenevePort: return geneve();
    case kGtpUserPort: return gtp();
    case kMplsPort:
        if (enter_tunnel()) mpls();
        return;
    default: return leave(Stop::UdpPort, port);
    }
}

// Over the pseudo header and the datagram (RFC 768, RFC 8200), if all of it was captured.
void Walker::check_udp_checksum(std::uint32_t offset) {
    if (end_ > captured_ || out_.fragment) return;
    const wire::Bytes frame = out_.frame.bytes;
    const wire::Bytes datagram = frame.subspan(offset, end_ - offset);
    const wire::Bytes addresses =
        wire::ip_addresses(frame.subspan(covered_from_), out_.network.kind == LayerKind::Ipv6);
    const auto found =
        static_cast<std::uint16_t>(wire::load<wire::where("udp.checksum")>(datagram));
    const std::uint16_t expected = wire::udp_checksum_of(addresses, datagram);
    if (found != expected) {
        add_finding(FindingKind::UdpChecksum, offset, wire::where("udp.checksum"), found, expected);
    }
}

} // namespace veriroce::decode
