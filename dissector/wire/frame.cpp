#include "dissector/wire/frame.hpp"

#include <algorithm>

#include "dissector/wire/bth.hpp"
#include "dissector/wire/field_places.hpp"
#include "dissector/wire/icrc.hpp"
#include "dissector/wire/parsed_frame.hpp"

namespace veriroce::wire {
namespace {

// What the headers of an outer walk say that came to the UDP header.
void write_envelope(const Outer& outer, Envelope& envelope) {
    const Udp udp = Udp::read(outer.frame.subspan(outer.udp_at));
    envelope.source_port = udp.source_port;
    envelope.destination_port = udp.destination_port;
    const Bytes ip = outer.frame.subspan(outer.ip_at);
    if (outer.v6) {
        const Ipv6 header = Ipv6::read(ip);
        envelope.source = header.source;
        envelope.destination = header.destination;
        envelope.dscp = header.dscp;
        envelope.ecn = header.ecn;
        envelope.hop_limit = header.hop_limit;
        envelope.flow_label = header.flow_label;
    } else {
        const Ipv4 header = Ipv4::read(ip);
        envelope.source = IpAddress::from_v4(header.source);
        envelope.destination = IpAddress::from_v4(header.destination);
        envelope.dscp = header.dscp;
        envelope.ecn = header.ecn;
        envelope.hop_limit = header.ttl;
    }
    if (!outer.tagged) return;
    const VlanTag tag = VlanTag::read(outer.frame.subspan(Ethernet::kSize));
    envelope.vlan = VlanId{.id = tag.id, .priority = tag.priority};
}

// Into a frame that was just made.
void read_headers(const Outer& outer, Frame& frame) {
    frame.bytes = outer.frame;
    frame.outer = outer;
    const auto from = [&](std::uint32_t at) { return outer.frame.subspan(at); };
    frame.layers.set(Layer::Ethernet, 0);
    frame.ethernet = Ethernet::read(outer.frame);
    if (outer.tagged) {
        frame.layers.set(Layer::Vlan, Ethernet::kSize);
        frame.vlan.emplace(VlanTag::read(from(Ethernet::kSize)));
    }
    frame.layers.set(outer.v6 ? Layer::Ipv6 : Layer::Ipv4, outer.ip_at);
    if (outer.v6) {
        frame.ipv6.emplace(Ipv6::read(from(outer.ip_at)));
    } else {
        frame.ipv4.emplace(Ipv4::read(from(outer.ip_at)));
    }
    frame.layers.set(Layer::Udp, outer.udp_at);
    frame.udp = Udp::read(from(outer.udp_at));
    frame.layers.set(Layer::Bth, outer.bth_at);
    frame.layers.set(Layer::Icrc, outer.icrc_at);
    frame.transport = outer.transport();
    frame.icrc = load_icrc(from(outer.icrc_at));
}

} // namespace

Envelope Frame::envelope() const {
    Envelope envelope;
    write_envelope(outer, envelope);
    return envelope;
}

Datagram Frame::datagram() const {
    return {.envelope = envelope(), .bytes = transport};
}

std::expected<Frame, FrameError> decode_frame(Bytes bytes) {
    Outer outer{.frame = bytes};
    if (const auto error = find_layers(outer)) return std::unexpected(*error);
    std::expected<Frame, FrameError> result(std::in_place); // filled where the caller has it
    read_headers(outer, *result);
    return result;
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

// Every packet passes here, so this is one piece of code, not a chain of calls.
[[gnu::flatten]] std::expected<Datagram, FrameError> unseal(Bytes bytes) {
    std::expected<Datagram, FrameError> result(std::in_place); // filled where the caller has it
    Outer outer{.frame = bytes};
    if (const auto error = check_frame(outer)) {
        result = std::unexpected(*error);
        return result;
    }
    write_envelope(outer, result->envelope);
    result->bytes = outer.transport();
    return result;
}

std::expected<Datagram, FrameError> unseal(const Frame& decoded) {
    return unseal(decoded.bytes);
}

std::expected<ParsedFrame, FrameError> parse_frame(Bytes bytes) {
    Outer outer{.frame = bytes};
    if (const auto error = find_layers(outer)) return std::unexpected(*error);
    std::expected<ParsedFrame, FrameError> result(std::in_place);
    read_headers(outer, result->frame);
    map_transport(result->frame);
    result->refusal = check_frame(outer);
    if (decode_packet(outer.transport(), result->packet.emplace())) result->packet.reset();
    return result;
}

void seal(MutableBytes bytes) {
    Outer outer{.frame = bytes};
    [[maybe_unused]] const auto error = find_layers(outer);
    assert(!error && "seal: the lengths of the frame are not right");
    store_icrc(bytes.subspan(outer.icrc_at, kIcrcBytes), icrc(outer.covered()));
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
    store_be<2>(out, where("ip.checksum").first_byte(), ipv4_checksum(out.first(header)));
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
