// The transport packet, whatever carries it: BTH, extended headers by the opcode table, payload,
// pad and ICRC.
#include <algorithm>

#include "dissector/decode/mad.hpp"
#include "dissector/decode/walker.hpp"
#include "dissector/wire/ethernet.hpp"
#include "dissector/wire/frame.hpp"
#include "dissector/wire/ip.hpp"

namespace veriroce::decode {

void Walker::transport(Protocol protocol) {
    out_.protocol = protocol;
    const std::uint32_t start = at_;
    const std::uint32_t packet_end = end_;
    const bool room_for_icrc = end_ - at_ >= wire::kIcrcBytes;
    // Headers and payload end where the ICRC begins (ENC-07: by the lengths of what carries it).
    if (room_for_icrc) end_ -= static_cast<std::uint32_t>(wire::kIcrcBytes);
    const std::uint32_t at_hand = std::min(captured_, end_) - start;
    out_.transport = out_.frame.bytes.subspan(start, at_hand);
    // The headers are read once, here: the layers say where each of them is.
    wire::decode_packet(out_.transport, out_.packet);
    out_.has_bth = step(LayerKind::Bth, wire::Bth::kSize);
    if (out_.has_bth) extended_headers();
    if (!out_.malformed && !out_.cut) body();
    at_ = std::min(end_, captured_);
    end_ = packet_end;
    if (room_for_icrc) rest(LayerKind::Icrc);
}

void Walker::extended_headers() {
    wire::HeaderSet left = out_.info().headers;
    for (; !left.empty(); left = left.without_first()) {
        const wire::Header header = left.first();
        if (!step(layer_kind_of(header), wire::size_of(header))) return;
    }
}

void Walker::body() {
    out_.body_bytes = end_ - at_;
    if (out_.info().operation == wire::Operation::Cnp) return rest(LayerKind::Cnp);
    if (is_management(out_.packet.bth, out_.protocol) && out_.body_bytes >= kMadHeaderBytes)
        return mad();
    // BTH-12: a pad count above the payload leaves neither, so all of it is shown as payload.
    const std::uint32_t pad = out_.packet.bth.pad <= out_.body_bytes ? out_.packet.bth.pad : 0;
    if (!ip_over_infiniband(out_.body_bytes - pad)) {
        pass(LayerKind::Payload, out_.body_bytes - pad);
    }
    pass(LayerKind::Pad, pad);
}

namespace {

constexpr std::size_t kIpoibBytes = 4;
constexpr std::uint16_t kInfiniBandHardware = 32; // of ARP

// The header at the beginning of `packet`, which is `bytes` long on the wire, if its own checksum
// and lengths prove that it is what the type says. Nothing otherwise; an ARP packet has no header
// here.
struct IpHeader {
    LayerKind kind = LayerKind::Data;
    std::size_t bytes = 0;
    std::uint8_t protocol = 0; // of what is behind it; 0: nothing, or a later fragment
};
std::optional<IpHeader> proven(std::uint16_t type, wire::Bytes packet, std::uint32_t bytes) {
    if (type == static_cast<std::uint16_t>(wire::EtherType::Ipv4)) {
        if (packet.size() < wire::Ipv4::kSize) return std::nullopt;
        const wire::Ipv4 header = wire::Ipv4::read(packet);
        const std::size_t header_bytes = header.header_bytes();
        const bool right = wire::load_u8(packet, 0) >> 4 == 4 && header.header_length >= 5 &&
                           header_bytes <= packet.size() && header.total_length <= bytes &&
                           header.total_length >= header_bytes &&
                           wire::ipv4_checksum(packet.first(header_bytes)) == header.checksum;
        const bool first = header.fragment_offset == 0;
        const std::uint8_t protocol = first ? header.protocol : std::uint8_t{0};
        if (right) return IpHeader{LayerKind::Ipv4, header_bytes, protocol};
    } else if (type == static_cast<std::uint16_t>(wire::EtherType::Ipv6)) {
        if (packet.size() < wire::Ipv6::kSize || wire::load_u8(packet, 0) >> 4 != 6) {
            return std::nullopt;
        }
        const wire::Ipv6 header = wire::Ipv6::read(packet);
        const bool right = header.payload_length + wire::Ipv6::kSize == bytes;
        if (right) return IpHeader{LayerKind::Ipv6, wire::Ipv6::kSize, header.next_header};
    } else if (type == static_cast<std::uint16_t>(wire::EtherType::Arp)) {
        const bool right = packet.size() >= 4 && wire::load_u16(packet, 0) == kInfiniBandHardware;
        if (right) return IpHeader{};
    }
    return std::nullopt;
}

// The header of UDP or TCP that `behind` begins with, if all of it is there.
struct PortsHeader {
    LayerKind kind = LayerKind::Data;
    std::uint32_t bytes = 0;
};
PortsHeader ports_header(std::uint8_t protocol, wire::Bytes behind) {
    if (protocol == wire::kProtocolUdp && behind.size() >= wire::Udp::kSize) {
        return {LayerKind::Udp, wire::Udp::kSize};
    }
    if (protocol != wire::kProtocolTcp || behind.size() < wire::kShortestTcp) return {};
    const std::uint32_t bytes = wire::load_u8(behind, 12) / 16U * 4;
    if (bytes < wire::kShortestTcp || bytes > behind.size()) return {};
    return {LayerKind::Tcp, bytes};
}

} // namespace

// RFC 4391 and RFC 4755: a SEND with an EtherType, two reserved bytes and the packet. Nothing names
// it, so the packet must prove itself. Its headers are shown, up to UDP or TCP.
bool Walker::ip_over_infiniband(std::uint32_t bytes) {
    const bool native = out_.protocol == Protocol::InfiniBand;
    if (!native || out_.info().operation != wire::Operation::Send || bytes <= kIpoibBytes) {
        return false;
    }
    if (at_ + kIpoibBytes > captured_ || peek_u16(2) != 0) return false;
    const std::uint32_t inside = bytes - static_cast<std::uint32_t>(kIpoibBytes);
    const std::uint32_t start = at_ + static_cast<std::uint32_t>(kIpoibBytes);
    const wire::Bytes packet = out_.frame.bytes.subspan(start, std::min(captured_ - start, inside));
    const auto header = proven(peek_u16(), packet, inside);
    if (!header) return false;
    pass(LayerKind::Ipoib, kIpoibBytes);
    const auto header_bytes = static_cast<std::uint32_t>(header->bytes);
    if (header_bytes > 0) pass(header->kind, header_bytes);
    const PortsHeader ports = ports_header(header->protocol, packet.subspan(header_bytes));
    if (ports.bytes > 0) pass(ports.kind, ports.bytes);
    pass(LayerKind::Data, inside - header_bytes - ports.bytes);
    return true;
}

} // namespace veriroce::decode
