#include "dissector/wire/frame.hpp"

#include <algorithm>

#include "dissector/wire/bth.hpp"
#include "dissector/wire/icrc.hpp"
#include "dissector/wire/opcode.hpp"

namespace veriroce::wire {
namespace {

using Verdict = std::optional<FrameError>; // nothing: no objection

std::size_t ip_at(const Frame& frame) {
    return frame.layers.at(frame.ipv4 ? Layer::Ipv4 : Layer::Ipv6);
}

std::size_t ip_header_bytes(const Frame& frame) {
    return frame.ipv4 ? frame.ipv4->header_bytes() : Ipv6::kSize;
}

std::size_t ip_bytes(const Frame& frame) {
    return frame.ipv4 ? frame.ipv4->total_length : Ipv6::kSize + frame.ipv6->payload_length;
}

Verdict find_ip(Frame& frame) {
    if (frame.bytes.size() < Ethernet::kSize) return FrameError::Truncated;
    frame.ethernet = Ethernet::read(frame.bytes);
    frame.layers.set(Layer::Ethernet, 0);
    Bytes rest = frame.bytes.subspan(Ethernet::kSize);
    auto type = static_cast<EtherType>(frame.ethernet.ether_type);
    if (type == EtherType::Vlan) {
        if (rest.size() < VlanTag::kSize) return FrameError::Truncated;
        frame.vlan.emplace(VlanTag::read(rest));
        frame.layers.set(Layer::Vlan, Ethernet::kSize);
        rest = rest.subspan(VlanTag::kSize);
        type = static_cast<EtherType>(frame.vlan->ether_type);
    }
    const std::size_t at = frame.bytes.size() - rest.size();
    if (type == EtherType::Ipv4) {
        if (rest.size() < Ipv4::kSize) return FrameError::Truncated;
        frame.ipv4.emplace(Ipv4::read(rest));
        frame.layers.set(Layer::Ipv4, at);
    } else if (type == EtherType::Ipv6) {
        if (rest.size() < Ipv6::kSize) return FrameError::Truncated;
        frame.ipv6.emplace(Ipv6::read(rest));
        frame.layers.set(Layer::Ipv6, at);
    } else {
        return FrameError::NotIp;
    }
    return std::nullopt;
}

Verdict judge_ip(Frame& frame) {
    if (frame.ipv6) {
        if (frame.ipv6->version != 6) return FrameError::BadIpVersion;
        return std::nullopt;
    }
    if (frame.ipv4->version != 4) return FrameError::BadIpVersion;
    const Bytes ip = frame.bytes.subspan(ip_at(frame));
    // A header length that cannot be leaves nothing to sum up.
    if (frame.ipv4->header_bytes() < Ipv4::kSize) return FrameError::LengthMismatch;
    const std::size_t header = std::min(frame.ipv4->header_bytes(), ip.size());
    if (checksum_fold(ipv4_header_sum(ip.first(header))) == 0) return std::nullopt;
    return FrameError::BadIpChecksum;
}

Verdict find_udp(Frame& frame) {
    const std::size_t header = ip_header_bytes(frame);
    const std::size_t length = ip_bytes(frame);
    if (header < Ipv4::kSize || length < header) return FrameError::LengthMismatch;
    if (ip_at(frame) + length > frame.bytes.size()) return FrameError::Truncated;
    const auto protocol = frame.ipv4 ? frame.ipv4->protocol : frame.ipv6->next_header;
    if (protocol != kProtocolUdp) return FrameError::NotUdp;
    // ENC-09. The first fragment, too: its UDP length points beyond its end.
    if (frame.ipv4 && (frame.ipv4->more_fragments || frame.ipv4->fragment_offset != 0)) {
        return FrameError::Fragment;
    }
    const std::size_t at = ip_at(frame) + header;
    if (length - header < Udp::kSize) return FrameError::LengthMismatch;
    frame.udp = Udp::read(frame.bytes.subspan(at));
    frame.layers.set(Layer::Udp, at);
    return std::nullopt;
}

// ENC-08: a receiver drops what one of the two lengths alone would let pass.
Verdict judge_lengths(Frame& frame) {
    if (frame.udp.length != ip_bytes(frame) - ip_header_bytes(frame)) {
        return FrameError::LengthMismatch;
    }
    return std::nullopt;
}

Verdict find_transport(Frame& frame) {
    const std::size_t udp_at = frame.layers.at(Layer::Udp);
    const std::size_t ip_payload = ip_bytes(frame) - ip_header_bytes(frame);
    if (frame.udp.length < Udp::kSize || frame.udp.length > ip_payload) {
        return FrameError::LengthMismatch;
    }
    if (frame.udp.destination_port != kRocePort) return FrameError::NotRoce;
    if (frame.udp.length < Udp::kSize + Bth::kSize + kIcrcBytes) return FrameError::Truncated;
    const std::size_t bth_at = udp_at + Udp::kSize;
    const std::size_t icrc_at = udp_at + frame.udp.length - kIcrcBytes;
    frame.layers.set(Layer::Bth, bth_at);
    frame.layers.set(Layer::Icrc, icrc_at);
    frame.transport = frame.bytes.subspan(bth_at, icrc_at - bth_at);
    frame.icrc = load_icrc(frame.bytes.subspan(icrc_at, kIcrcBytes));
    return std::nullopt;
}

Bytes addresses_of(const Frame& frame) {
    return frame.ipv4 ? frame.bytes.subspan(ip_at(frame) + 12, 8)
                      : frame.bytes.subspan(ip_at(frame) + 8, 32);
}

// ENC-04, ENC-05: zero is none, in both families. ENC-06 leaves open what becomes of a wrong one:
// an unfinished one is accepted, because the packet has not been on a wire yet and the ICRC guards
// it.
bool udp_checksum_acceptable(const Frame& frame) {
    if (frame.udp.checksum == 0) return true;
    const Bytes addresses = addresses_of(frame);
    const Bytes datagram = frame.bytes.subspan(frame.layers.at(Layer::Udp), frame.udp.length);
    return frame.udp.checksum == udp_checksum(addresses, datagram) ||
           frame.udp.checksum == unfinished_udp_checksum(addresses, datagram);
}

Verdict judge_sums(Frame& frame) {
    if (!udp_checksum_acceptable(frame)) return FrameError::BadUdpChecksum;
    if (icrc(frame.covered()) != frame.icrc) return FrameError::BadIcrc; // CRC-07
    return std::nullopt;
}

// The steps in their order, until one objects.
template <Verdict (*... Steps)(Frame&)>
Verdict run(Frame& frame) {
    Verdict objection;
    ((objection = Steps(frame)) || ...);
    return objection;
}

Verdict find(Frame& frame) {
    return run<find_ip, find_udp, find_transport>(frame);
}
Verdict judge(Frame& frame) {
    return run<judge_ip, judge_lengths, judge_sums>(frame);
}
Verdict find_and_judge(Frame& frame) {
    return run<find_ip, judge_ip, find_udp, judge_lengths, find_transport, judge_sums>(frame);
}

} // namespace

std::string_view text_of(FrameError error) {
    switch (error) {
    case FrameError::NotIp: return "neither IPv4 nor IPv6";
    case FrameError::NotUdp: return "IP, but not UDP";
    case FrameError::NotRoce: return "UDP, but not to port 4791";
    case FrameError::Fragment: return "a fragment of an IP datagram";
    case FrameError::Truncated: return "shorter than its length fields say, or than BTH and ICRC";
    case FrameError::BadIpVersion: return "the IP version contradicts the EtherType";
    case FrameError::BadIpChecksum: return "wrong IPv4 header checksum";
    case FrameError::LengthMismatch: return "the lengths in the IP and UDP headers do not fit";
    case FrameError::BadUdpChecksum: return "wrong UDP checksum";
    case FrameError::BadIcrc: return "wrong ICRC";
    }
    return "";
}

Envelope Frame::envelope() const {
    Envelope envelope;
    write_envelope(envelope);
    return envelope;
}

void Frame::write_envelope(Envelope& envelope) const {
    envelope.source_port = udp.source_port;
    envelope.destination_port = udp.destination_port;
    if (ipv4) {
        envelope.source = IpAddress::from_v4(ipv4->source);
        envelope.destination = IpAddress::from_v4(ipv4->destination);
        envelope.dscp = ipv4->dscp;
        envelope.ecn = ipv4->ecn;
        envelope.hop_limit = ipv4->ttl;
    } else if (ipv6) {
        envelope.source = ipv6->source;
        envelope.destination = ipv6->destination;
        envelope.dscp = ipv6->dscp;
        envelope.ecn = ipv6->ecn;
        envelope.hop_limit = ipv6->hop_limit;
        envelope.flow_label = ipv6->flow_label;
    }
    if (vlan) envelope.vlan = VlanId{.id = vlan->id, .priority = vlan->priority};
}

Bytes Frame::covered() const {
    const std::size_t begin = ip_at(*this);
    return bytes.subspan(begin, layers.at(Layer::Icrc) - begin);
}

std::expected<Frame, FrameError> decode_frame(Bytes bytes) {
    Frame frame{.bytes = bytes};
    if (const Verdict error = find(frame)) return std::unexpected(*error);
    return frame;
}

void map_transport(Frame& frame) {
    if (frame.transport.size() < Bth::kSize) return;
    const HeaderSet headers = opcode_info(load_u8(frame.transport, 0)).headers;
    const std::size_t bth_at = frame.layers.at(Layer::Bth);
    std::size_t at = Bth::kSize;
    // Headers in front of the first that is not there whole can still be read.
    for (HeaderSet left = headers; !left.empty(); left = left.without_first()) {
        const Header header = left.first();
        if (at + size_of(header) > frame.transport.size()) break;
        frame.layers.set(layer_of(header), bth_at + at);
        at += size_of(header);
    }
    frame.layers.set(Layer::Body, bth_at + at);
}

namespace {

// Filled where the caller has it.
std::expected<Datagram, FrameError> unsealed(Frame& frame, Verdict (*steps)(Frame&)) {
    std::expected<Datagram, FrameError> result(std::in_place);
    if (const Verdict error = steps(frame)) {
        result = std::unexpected(*error);
        return result;
    }
    frame.write_envelope(result->envelope);
    result->bytes = frame.transport;
    return result;
}

} // namespace

// What stands in the way of every packet is one piece of code, not a chain of calls.
[[gnu::flatten]] std::expected<Datagram, FrameError> unseal(Bytes bytes) {
    Frame frame{.bytes = bytes};
    return unsealed(frame, find_and_judge);
}

std::expected<Datagram, FrameError> unseal(const Frame& decoded) {
    Frame frame = decoded;
    return unsealed(frame, judge);
}

void seal(MutableBytes bytes) {
    const auto frame = decode_frame(bytes);
    assert(frame && "seal: the lengths of the frame are not right");
    store_icrc(bytes.subspan(frame->layers.at(Layer::Icrc), kIcrcBytes), icrc(frame->covered()));
}

std::size_t outer_bytes(const Envelope& envelope) {
    return Ethernet::kSize + (envelope.vlan ? VlanTag::kSize : 0) +
           (envelope.destination.v4() ? Ipv4::kSize : Ipv6::kSize) + Udp::kSize;
}

namespace {

std::size_t write_link(const LinkAddress& link, const Envelope& envelope, MutableBytes out) {
    const auto ip_type =
        static_cast<std::uint16_t>(envelope.destination.v4() ? EtherType::Ipv4 : EtherType::Ipv6);
    Ethernet ethernet{
        .destination = link.destination, .source = link.source, .ether_type = ip_type};
    if (!envelope.vlan) {
        ethernet.encode(out);
        return Ethernet::kSize;
    }
    ethernet.ether_type = static_cast<std::uint16_t>(EtherType::Vlan);
    ethernet.encode(out);
    VlanTag{.priority = envelope.vlan->priority, .id = envelope.vlan->id, .ether_type = ip_type}
        .encode(out.subspan(Ethernet::kSize));
    return Ethernet::kSize + VlanTag::kSize;
}

std::size_t write_ipv4(const Envelope& envelope, std::uint16_t ip_id, Bytes options,
                       std::size_t payload_bytes, MutableBytes out) {
    assert(options.size() % 4 == 0 && options.size() <= 40);
    const std::size_t header = Ipv4::kSize + options.size();
    assert(header + payload_bytes <= 0xFFFF);
    Ipv4{.header_length = static_cast<std::uint8_t>(header / 4),
         .dscp = envelope.dscp,
         .ecn = envelope.ecn,
         .total_length = static_cast<std::uint16_t>(header + payload_bytes),
         .id = ip_id,
         .dont_fragment = true, // CA17-7
         .ttl = envelope.hop_limit,
         .protocol = kProtocolUdp,
         .source = envelope.source.low32(),
         .destination = envelope.destination.low32()}
        .encode(out);
    std::ranges::copy(options, out.begin() + Ipv4::kSize);
    store_be<2>(out, 10, ipv4_checksum(out.first(header)));
    return header;
}

std::size_t write_ipv6(const Envelope& envelope, std::size_t payload_bytes, MutableBytes out) {
    assert(payload_bytes <= 0xFFFF);
    Ipv6{.dscp = envelope.dscp,
         .ecn = envelope.ecn,
         .flow_label = envelope.flow_label,
         .payload_length = static_cast<std::uint16_t>(payload_bytes),
         .next_header = kProtocolUdp,
         .hop_limit = envelope.hop_limit,
         .source = envelope.source,
         .destination = envelope.destination}
        .encode(out);
    return Ipv6::kSize;
}

} // namespace

std::size_t write_outer(const LinkAddress& link, const Envelope& envelope, std::uint16_t ip_id,
                        Bytes ip_options, std::size_t transport_bytes, MutableBytes out) {
    assert(envelope.source.v4() == envelope.destination.v4());
    const std::size_t udp_bytes = Udp::kSize + transport_bytes;
    std::size_t at = write_link(link, envelope, out);
    at += envelope.destination.v4()
              ? write_ipv4(envelope, ip_id, ip_options, udp_bytes, out.subspan(at))
              : write_ipv6(envelope, udp_bytes, out.subspan(at));
    Udp{.source_port = envelope.source_port,
        .destination_port = envelope.destination_port,
        .length = static_cast<std::uint16_t>(udp_bytes)}
        .encode(out.subspan(at));
    return at + Udp::kSize;
}

[[gnu::flatten]] std::size_t write_frame(const LinkAddress& link, const Envelope& envelope,
                                         std::uint16_t ip_id, Bytes headers, Bytes payload,
                                         MutableBytes out) {
    const std::size_t transport = headers.size() + payload.size() + kIcrcBytes;
    assert(outer_bytes(envelope) + transport <= out.size());
    std::size_t at = write_outer(link, envelope, ip_id, {}, transport, out);
    if (headers.size() == Bth::kSize) { // as most: no call
        copy<Bth::kSize>(headers, out.subspan(at));
    } else {
        std::memcpy(out.data() + at, headers.data(), headers.size());
    }
    at += headers.size();
    const std::size_t ip = Ethernet::kSize + (envelope.vlan ? VlanTag::kSize : 0);
    const std::uint32_t crc = copy_icrc(out.subspan(ip, at - ip), payload, out.subspan(at));
    at += payload.size();
    store_icrc(out.subspan(at, kIcrcBytes), crc);
    return at + kIcrcBytes;
}

} // namespace veriroce::wire
