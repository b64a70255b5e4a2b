// Packets inside packets: what switches and hypervisors wrap around a frame on its way, or around
// its copy on the way to whoever captures it.
//
// Source: MPLS RFC 3032, GRE RFC 2784 and 2890, ERSPAN draft-foschiano-erspan-03, VXLAN RFC 7348,
// GENEVE RFC 8926, VXLAN-GPE draft-ietf-nvo3-vxlan-gpe-13, IP in IP RFC 2003 and 2473,
// NSH RFC 8300, GTP-U 3GPP TS 29.281.
#include <algorithm>

#include "dissector/decode/walker.hpp"

namespace veriroce::decode {
namespace {

constexpr std::size_t kMplsBytes = 4;
constexpr std::uint8_t kBottomOfStack = 0x01; // in the third byte

constexpr std::size_t kGreBytes = 4;
constexpr std::uint16_t kGreChecksum = 0x8000;
constexpr std::uint16_t kGreRouting = 0x4000;
constexpr std::uint16_t kGreKey = 0x2000;
constexpr std::uint16_t kGreSequence = 0x1000;
constexpr std::uint16_t kGreVersion = 0x0007;

constexpr std::uint16_t kBridgedEthernet = 0x6558;
constexpr std::uint16_t kErspan = 0x88BE; // types I and II
constexpr std::uint16_t kErspan3 = 0x22EB;

constexpr std::size_t kErspan2Bytes = 8;
constexpr std::size_t kErspan3Bytes = 12;
constexpr std::size_t kErspanPlatformBytes = 8;

constexpr std::size_t kVxlanBytes = 8;
constexpr std::size_t kGeneveBytes = 8; // without options

constexpr std::size_t kNshBytes = 8; // without context headers
constexpr std::size_t kGtpBytes = 8;
constexpr std::size_t kGtpOptionBytes = 4; // sequence number, N-PDU number, type of an extension
constexpr std::uint8_t kGtpUser = 0x30;    // version 1, not GTP prime
constexpr std::uint8_t kGtpOptions = 0x07; // any of these bits adds the optional bytes
constexpr std::uint8_t kGtpExtension = 0x04;
constexpr std::uint8_t kGtpUserData = 255;

} // namespace

bool Walker::enter_tunnel() {
    if (tunnels_ == kMaxTunnels) {
        leave(Stop::Tunnels);
        return false;
    }
    ++tunnels_;
    return true;
}

// The frame inside has a trailer of its own if it was padded.
void Walker::inner_ethernet() {
    const std::uint32_t end = end_;
    const std::uint32_t captured = captured_;
    ethernet();
    trailer(end, captured);
}

void Walker::ip_in_ip(wire::EtherType type) {
    if (enter_tunnel()) by_ether_type(static_cast<std::uint16_t>(type));
}

// The first four bits after the last label tell what follows; they are 0 if MPLS carries anything
// but IP, which is not followed.
void Walker::mpls() {
    out_.protocol = Protocol::Mpls;
    for (bool bottom = false; !bottom; ++mpls_labels_) {
        if (mpls_labels_ == kMaxMplsLabels) return leave(Stop::MplsLabels);
        const auto label = take(LayerKind::Mpls, kMplsBytes);
        if (label.empty()) return;
        bottom = (wire::load_u8(label, 2) & kBottomOfStack) != 0;
    }
    switch (peek_u8() >> 4) {
    case 4: return by_ether_type(static_cast<std::uint16_t>(wire::EtherType::Ipv4));
    case 6: return by_ether_type(static_cast<std::uint16_t>(wire::EtherType::Ipv6));
    default: return leave(Stop::MplsPayload);
    }
}

void Walker::gre() {
    out_.protocol = Protocol::Gre;
    const std::uint16_t flags = peek_u16();
    std::size_t bytes = kGreBytes;
    for (const std::uint16_t flag : {kGreChecksum, kGreKey, kGreSequence}) {
        if ((flags & flag) != 0) bytes += 4;
    }
    const auto header = take(LayerKind::Gre, bytes);
    if (header.empty()) return;
    if ((flags & (kGreRouting | kGreVersion)) != 0) return leave(Stop::GreFlags, flags);
    if (!enter_tunnel()) return;
    switch (const std::uint16_t type = wire::load_u16(header, 2)) {
    case kBridgedEthernet: return inner_ethernet();
    case kErspan:
        // Type I has neither a sequence number nor a header of its own.
        if ((flags & kGreSequence) != 0 && !step(LayerKind::Erspan2, kErspan2Bytes)) return;
        return inner_ethernet();
    case kErspan3: return erspan3();
    default: return by_ether_type(type);
    }
}

void Walker::erspan3() {
    const auto header = take(LayerKind::Erspan3, kErspan3Bytes);
    if (header.empty()) return;
    const bool platform = (wire::load_u8(header, 11) & 0x01) != 0;
    if (platform && !step(LayerKind::ErspanPlatform, kErspanPlatformBytes)) return;
    const auto type = static_cast<std::uint8_t>(wire::load_u8(header, 10) >> 2 & 0x1F);
    switch (type) { // of the frame
    case 0: return inner_ethernet();
    case 2: return raw_ip();
    default: return leave(Stop::ErspanFrame, type);
    }
}

void Walker::vxlan() {
    if (step(LayerKind::Vxlan, kVxlanBytes) && enter_tunnel()) inner_ethernet();
}

// Without the bit that says so, what follows is an Ethernet frame, as in VXLAN.
void Walker::vxlan_gpe() {
    constexpr std::uint8_t kNextProtocol = 0x04;
    const auto header = take(LayerKind::VxlanGpe, kVxlanBytes);
    if (header.empty() || !enter_tunnel()) return;
    const bool named = (wire::load_u8(header, 0) & kNextProtocol) != 0;
    constexpr std::uint8_t kNextIpv4 = 1;
    constexpr std::uint8_t kNextIpv6 = 2;
    constexpr std::uint8_t kNextEthernet = 3;
    constexpr std::uint8_t kNextNsh = 4;
    const std::uint8_t next = named ? wire::load_u8(header, 3) : kNextEthernet;
    switch (next) {
    case kNextIpv4: return by_ether_type(static_cast<std::uint16_t>(wire::EtherType::Ipv4));
    case kNextIpv6: return by_ether_type(static_cast<std::uint16_t>(wire::EtherType::Ipv6));
    case kNextEthernet: return inner_ethernet();
    case kNextNsh: return nsh();
    default: return leave(Stop::GpeProtocol, next);
    }
}

void Walker::geneve() {
    const std::size_t options = (peek_u8() & 0x3FU) * std::size_t{4};
    const auto header = take(LayerKind::Geneve, kGeneveBytes + options);
    if (header.empty() || !enter_tunnel()) return;
    const std::uint16_t type = wire::load_u16(header, 2);
    if (type == kBridgedEthernet) return inner_ethernet();
    by_ether_type(type);
}

// RFC 8300.
void Walker::nsh() {
    const std::size_t bytes = (peek_u8(1) & 0x3FU) * std::size_t{4};
    const auto header = take(LayerKind::Nsh, std::max(bytes, kNshBytes));
    if (header.empty() || !enter_tunnel()) return;
    switch (const std::uint8_t next = wire::load_u8(header, 3)) {
    case 1: return by_ether_type(static_cast<std::uint16_t>(wire::EtherType::Ipv4));
    case 2: return by_ether_type(static_cast<std::uint16_t>(wire::EtherType::Ipv6));
    case 3: return inner_ethernet();
    case 4: return nsh();
    case 5: return mpls();
    default: return leave(Stop::NshProtocol, next);
    }
}

// 3GPP TS 29.281. What user data is, only its own first bits tell.
void Walker::gtp() {
    const std::uint8_t flags = peek_u8();
    const std::uint32_t start = at_;
    const bool options = (flags & kGtpOptions) != 0;
    const auto header = take(LayerKind::Gtp, kGtpBytes + (options ? kGtpOptionBytes : 0));
    if (header.empty()) return;
    const std::uint8_t message = wire::load_u8(header, 1);
    const bool user_data = (flags & 0xF0) == kGtpUser && message == kGtpUserData;
    if (!user_data) return leave(Stop::GtpMessage, message);
    if (!enter_tunnel()) return;
    const auto length = static_cast<std::uint32_t>(kGtpBytes) + wire::load_u16(header, 2);
    end_ = std::max(at_, std::min(end_, start + length));
    const bool extended = (flags & kGtpExtension) != 0 && wire::load_u8(header, 11) != 0;
    if (extended && !gtp_extensions()) return;
    switch (peek_u8() >> 4) {
    case 4: return by_ether_type(static_cast<std::uint16_t>(wire::EtherType::Ipv4));
    case 6: return by_ether_type(static_cast<std::uint16_t>(wire::EtherType::Ipv6));
    default: return leave(Stop::GtpPayload);
    }
}

// Each has its length in words of 4 bytes first, and the type of the next one last. False if the
// packet cannot be followed further.
bool Walker::gtp_extensions() {
    for (bool more = true; more; ++ip_extension_headers_) {
        if (ip_extension_headers_ == kMaxIpExtensions) {
            leave(Stop::IpExtensions);
            return false;
        }
        const std::size_t bytes = std::max<std::size_t>(peek_u8(), 1) * 4;
        const auto header = take(LayerKind::GtpExtension, bytes);
        if (header.empty()) return false;
        more = wire::load_u8(header, bytes - 1) != 0;
    }
    return true;
}

} // namespace veriroce::decode
