// Rows of the field table: frame, link and network layers, UDP.
#include "dissector/decode/field_rows.hpp"
#include "dissector/decode/names.hpp"

namespace veriroce::decode::rows {
namespace {

using enum LayerKind;

using Computed = std::optional<Value>;

Value signed_number(std::int64_t value) {
    return number(static_cast<std::uint64_t>(value));
}

Computed frame_number(const Dissection& d, const LayerSpan&) {
    return number(d.frame.number);
}
Computed frame_length(const Dissection& d, const LayerSpan&) {
    return number(d.frame.original_length);
}
Computed captured_length(const Dissection& d, const LayerSpan&) {
    return number(d.frame.bytes.size());
}
Computed interface_number(const Dissection& d, const LayerSpan&) {
    if (!d.frame.interface) return std::nullopt;
    return number(*d.frame.interface);
}
Computed interface_name(const Dissection& d, const LayerSpan&) {
    if (d.frame.interface_name.empty()) return std::nullopt;
    return text(d.frame.interface_name);
}
Computed section_number(const Dissection& d, const LayerSpan&) {
    if (d.frame.section == 0) return std::nullopt;
    return number(d.frame.section);
}
Computed comment(const Dissection& d, const LayerSpan&, std::size_t index) {
    if (index >= d.frame.comments.size()) return std::nullopt;
    return text(d.frame.comments[index]);
}

// The findings of a packet as values, one row a column of them.
const Finding* finding(const Dissection& d, std::size_t index) {
    const auto all = d.findings.all();
    return index < all.size() ? &all[index] : nullptr;
}
Computed finding_rule(const Dissection& d, const LayerSpan&, std::size_t index) {
    const Finding* found = finding(d, index);
    if (found == nullptr) return std::nullopt;
    return text(finding_info(found->kind).rule);
}
Computed finding_severity(const Dissection& d, const LayerSpan&, std::size_t index) {
    const Finding* found = finding(d, index);
    if (found == nullptr) return std::nullopt;
    return text(name_of(finding_info(found->kind).severity));
}
Computed finding_text(const Dissection& d, const LayerSpan&, std::size_t index) {
    const Finding* found = finding(d, index);
    if (found == nullptr) return std::nullopt;
    return text(sentence_of(*found));
}
Computed malformed(const Dissection& d, const LayerSpan&) {
    if (!d.transport_packet()) return std::nullopt;
    return number(d.malformed ? 1 : 0);
}
Computed time_epoch(const Dissection& d, const LayerSpan&) {
    if (!d.frame.time_ns) return std::nullopt;
    return signed_number(*d.frame.time_ns);
}
Computed time_since(const Dissection& d, std::optional<std::int64_t> from) {
    if (!d.frame.time_ns) return std::nullopt;
    // Wraps where two times of a damaged file are centuries apart.
    return number(static_cast<std::uint64_t>(*d.frame.time_ns) -
                  static_cast<std::uint64_t>(from.value_or(*d.frame.time_ns)));
}
Computed time_relative(const Dissection& d, const LayerSpan&) {
    return time_since(d, d.frame.first_time_ns);
}
Computed time_delta(const Dissection& d, const LayerSpan&) {
    return time_since(d, d.frame.last_time_ns);
}

Computed header_length(const Dissection& d, const LayerSpan& layer) {
    const wire::Bytes bytes = d.bytes_of(layer);
    if (bytes.empty()) return std::nullopt;
    return number((wire::load_u8(bytes, 0) & 0xFU) * 4U);
}

std::string_view ecn(std::uint64_t value) {
    constexpr std::array<std::string_view, 4> kNames{"Not ECT", "ECT(1)", "ECT(0)", "CE"};
    return kNames[value & 3];
}
constexpr std::array kRows{
    computed("frame.number", "Frame Number", Frame, Format::Decimal, frame_number),
    computed("frame.time", "Arrival Time", Frame, Format::Date, time_epoch, Shown::OnlyByName),
    computed("frame.time_epoch", "Epoch Time", Frame, Format::Seconds, time_epoch),
    computed("frame.time_relative", "Time since first frame", Frame, Format::Seconds,
             time_relative),
    computed("frame.time_delta", "Time since previous frame", Frame, Format::Seconds, time_delta),
    computed("frame.len", "Frame Length", Frame, Format::Decimal, frame_length),
    computed("frame.cap_len", "Capture Length", Frame, Format::Decimal, captured_length),
    computed("frame.section_number", "Section", Frame, Format::Decimal, section_number),
    computed("frame.interface_id", "Interface", Frame, Format::Decimal, interface_number),
    computed("frame.interface_name", "Interface Name", Frame, Format::Text, interface_name),
    repeated<comment>("frame.comment", "Comment", Frame, Format::Text),
    computed("roce.malformed", "Ends Inside a Header", Frame, Format::Boolean, malformed,
             Shown::OnlyByName),
    repeated<finding_rule>("roce.finding", "Finding", Frame, Format::Text, Shown::OnlyByName),
    repeated<finding_severity>("roce.finding.severity", "Finding Severity", Frame, Format::Text,
                               Shown::OnlyByName),
    repeated<finding_text>("roce.finding.text", "Finding Text", Frame, Format::Text,
                           Shown::OnlyByName),

    bytes("eth.dst", "Destination", Ethernet, 0, 48, Format::Mac),
    second_name(bytes("eth.addr", "Address", Ethernet, 0, 48, Format::Mac)),
    bytes("eth.src", "Source", Ethernet, 48, 48, Format::Mac),
    second_name(bytes("eth.addr", "Address", Ethernet, 48, 48, Format::Mac)),
    hex("eth.type", "Type", Ethernet, 96, 16, 4, ether_type_name),

    dec("ieee8021ad.priority", "Priority", ServiceTag, 0, 3),
    flag("ieee8021ad.dei", "Drop Eligible", ServiceTag, 3),
    dec("ieee8021ad.id", "VLAN Identifier", ServiceTag, 4, 12),
    hex("roce.servicetag.etype", "Type", ServiceTag, 16, 16, 4, ether_type_name),

    dec("vlan.priority", "Priority", Vlan, 0, 3),
    flag("vlan.dei", "Drop Eligible", Vlan, 3),
    dec("vlan.id", "VLAN Identifier", Vlan, 4, 12),
    hex("vlan.etype", "Type", Vlan, 16, 16, 4, ether_type_name),

    dec("sll.pkttype", "Packet Type", Sll, 0, 16),
    dec("sll.hatype", "Link-layer Address Type", Sll, 16, 16),
    dec("sll.halen", "Link-layer Address Length", Sll, 32, 16),
    bytes("sll.src.eth", "Source", Sll, 48, 48, Format::Mac),
    hex("sll.etype", "Protocol", Sll, 112, 16, 4, ether_type_name),

    hex("sll.etype", "Protocol", Sll2, 0, 16, 4, ether_type_name),
    dec("sll.ifindex", "Interface Index", Sll2, 32, 32),
    dec("sll.hatype", "Link-layer Address Type", Sll2, 64, 16),
    dec("sll.pkttype", "Packet Type", Sll2, 80, 8),
    dec("sll.halen", "Link-layer Address Length", Sll2, 88, 8),
    bytes("sll.src.eth", "Source", Sll2, 96, 48, Format::Mac),

    dec("ip.version", "Version", Ipv4, 0, 4),
    standing(computed("ip.hdr_len", "Header Length", Ipv4, Format::Decimal, header_length), 4, 4),
    second_name(hex("ip.dsfield", "Differentiated Services Field", Ipv4, 8, 8, 2)),
    dec("ip.dsfield.dscp", "DSCP", Ipv4, 8, 6),
    dec("ip.dsfield.ecn", "ECN", Ipv4, 14, 2, ecn),
    dec("ip.len", "Total Length", Ipv4, 16, 16),
    hex("ip.id", "Identification", Ipv4, 32, 16, 4),
    second_name(hex("ip.flags", "Flags", Ipv4, 48, 3, 2)),
    flag("ip.flags.rb", "Reserved bit", Ipv4, 48),
    flag("ip.flags.df", "Don't fragment", Ipv4, 49),
    flag("ip.flags.mf", "More fragments", Ipv4, 50),
    dec("ip.frag_offset", "Fragment Offset in Units of 8 Bytes", Ipv4, 51, 13),
    dec("ip.ttl", "Time to Live", Ipv4, 64, 8),
    dec("ip.proto", "Protocol", Ipv4, 72, 8, ip_protocol_name),
    hex("ip.checksum", "Header Checksum", Ipv4, 80, 16, 4),
    bytes("ip.src", "Source Address", Ipv4, 96, 32, Format::Ipv4),
    second_name(bytes("ip.addr", "Address", Ipv4, 96, 32, Format::Ipv4)),
    bytes("ip.dst", "Destination Address", Ipv4, 128, 32, Format::Ipv4),
    second_name(bytes("ip.addr", "Address", Ipv4, 128, 32, Format::Ipv4)),

    dec("ipv6.version", "Version", Ipv6, 0, 4),
    second_name(dec("ip.version", "Version", Ipv6, 0, 4)),
    second_name(hex("ipv6.tclass", "Traffic Class", Ipv6, 4, 8, 8)),
    dec("ipv6.tclass.dscp", "DSCP", Ipv6, 4, 6),
    dec("ipv6.tclass.ecn", "ECN", Ipv6, 10, 2, ecn),
    hex("ipv6.flow", "Flow Label", Ipv6, 12, 20, 6),
    dec("ipv6.plen", "Payload Length", Ipv6, 32, 16),
    dec("ipv6.nxt", "Next Header", Ipv6, 48, 8, ip_protocol_name),
    dec("ipv6.hlim", "Hop Limit", Ipv6, 56, 8),
    bytes("ipv6.src", "Source Address", Ipv6, 64, 128, Format::Ipv6),
    second_name(bytes("ipv6.addr", "Address", Ipv6, 64, 128, Format::Ipv6)),
    bytes("ipv6.dst", "Destination Address", Ipv6, 192, 128, Format::Ipv6),
    second_name(bytes("ipv6.addr", "Address", Ipv6, 192, 128, Format::Ipv6)),

    dec("udp.srcport", "Source Port", Udp, 0, 16),
    second_name(dec("udp.port", "Port", Udp, 0, 16)),
    dec("udp.dstport", "Destination Port", Udp, 16, 16),
    second_name(dec("udp.port", "Port", Udp, 16, 16)),
    dec("udp.length", "Length", Udp, 32, 16),
    hex("udp.checksum", "Checksum", Udp, 48, 16, 4),
};

} // namespace

std::span<const FieldRow> outer() {
    return kRows;
}

} // namespace veriroce::decode::rows
