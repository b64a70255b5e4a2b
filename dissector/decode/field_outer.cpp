// Rows of the field table: frame, link and network layers, UDP.
#include "dissector/decode/field_rows.hpp"
#include "dissector/decode/names.hpp"
#include "dissector/wire/field_places.hpp"

namespace veriroce::decode::rows {
namespace {

using enum LayerKind;

using Computed = std::optional<Value>;

Value signed_number(std::int64_t value) {
    return number(static_cast<std::uint64_t>(value));
}

Computed file_name(const Dissection& d, const LayerSpan&) {
    if (d.frame.file.empty()) return std::nullopt;
    return text(d.frame.file);
}
Computed frame_number(const Dissection& d, const LayerSpan&) {
    return number(d.frame.number);
}
Computed frame_length(const Dissection& d, const LayerSpan&) {
    return number(d.frame_length());
}
Computed captured_length(const Dissection& d, const LayerSpan&) {
    return number(d.captured_length());
}
Computed not_followed(const Dissection& d, const LayerSpan&) {
    if (d.not_followed.stop == Stop::None) return std::nullopt;
    return text(text_of(d.not_followed.stop));
}
Computed not_followed_code(const Dissection& d, const LayerSpan&) {
    if (d.not_followed.stop == Stop::None) return std::nullopt;
    return number(d.not_followed.code);
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
    return number(wire::load<wire::where("ip.hdr_len")>(bytes) * 4);
}

std::string_view ecn(std::uint64_t value) {
    constexpr std::array<std::string_view, 4> kNames{"Not ECT", "ECT(1)", "ECT(0)", "CE"};
    return kNames[value & 3];
}
constexpr std::array kOuterRows{
    computed("roce.file", "File", Frame, Format::Text, file_name, Shown::OnlyByName),
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
    computed("roce.not_followed", "Not Followed", Frame, Format::Text, not_followed,
             Shown::OnlyByName),
    computed("roce.not_followed.code", "Not Followed Type", Frame, Format::Decimal,
             not_followed_code, Shown::OnlyByName),
    after_icrc(
        repeated<finding_rule>("roce.finding", "Finding", Frame, Format::Text, Shown::OnlyByName)),
    after_icrc(repeated<finding_severity>("roce.finding.severity", "Finding Severity", Frame,
                                          Format::Text, Shown::OnlyByName)),
    after_icrc(repeated<finding_text>("roce.finding.text", "Finding Text", Frame, Format::Text,
                                      Shown::OnlyByName)),

    bytes(place("eth.dst"), "Destination", Format::Mac),
    also_called("eth.addr", "Address", bytes(place("eth.dst"), "", Format::Mac)),
    bytes(place("eth.src"), "Source", Format::Mac),
    also_called("eth.addr", "Address", bytes(place("eth.src"), "", Format::Mac)),
    hex(place("eth.type"), "Type", 4, ether_type_name),

    dec("ieee8021ad.priority", "Priority", ServiceTag, 0, 3),
    flag("ieee8021ad.dei", "Drop Eligible", ServiceTag, 3),
    dec("ieee8021ad.id", "VLAN Identifier", ServiceTag, 4, 12),
    hex("roce.servicetag.etype", "Type", ServiceTag, 16, 16, 4, ether_type_name),

    dec(place("vlan.priority"), "Priority"),
    flag(place("vlan.dei"), "Drop Eligible"),
    dec(place("vlan.id"), "VLAN Identifier"),
    hex(place("vlan.etype"), "Type", 4, ether_type_name),

    dec("vntag.dir", "Direction", VnTag, 0, 1),
    dec("vntag.dst", "Destination", VnTag, 2, 14),
    dec("vntag.looped", "Looped", VnTag, 16, 1),
    dec("vntag.version", "Version", VnTag, 18, 2),
    dec("vntag.src", "Source", VnTag, 20, 12),
    hex("vntag.etype", "Type", VnTag, 32, 16, 4, ether_type_name),

    dec("etag.pcp", "Priority", ETag, 0, 3),
    dec("etag.dei", "Drop Eligible", ETag, 3, 1),
    hex("etag.iecid_base", "Ingress E-CID", ETag, 4, 12, 4),
    dec("etag.group", "Group", ETag, 18, 2),
    hex("etag.ecid_base", "E-CID", ETag, 20, 12, 4),
    hex("etag.etype", "Type", ETag, 48, 16, 4, ether_type_name),

    dec("cmd.version", "Version", CmdTag, 0, 8),
    dec("cmd.length", "Length", CmdTag, 8, 8),
    hex("cmd.options", "Options", CmdTag, 16, 16, 4),
    dec("cmd.sgt", "Security Group Tag", CmdTag, 32, 16),
    hex("cmd.type", "Type", CmdTag, 48, 16, 4, ether_type_name),

    dec("hsr.path", "Path", HsrTag, 0, 4),
    dec("hsr.lsdu_size", "LSDU Size", HsrTag, 4, 12),
    dec("hsr.sequence_nr", "Sequence Number", HsrTag, 16, 16),
    hex("hsr.type", "Type", HsrTag, 32, 16, 4, ether_type_name),

    dec("pppoe.version", "Version", Pppoe, 0, 4),
    dec("pppoe.type", "Type", Pppoe, 4, 4),
    hex("pppoe.code", "Code", Pppoe, 8, 8, 2),
    hex("pppoe.session_id", "Session ID", Pppoe, 16, 16, 4),
    dec("pppoe.payload_length", "Payload Length", Pppoe, 32, 16),

    hex("llc.dsap", "DSAP", Llc, 0, 8, 2),
    hex("llc.ssap", "SSAP", Llc, 8, 8, 2),
    hex("llc.type", "Type", Llc, 48, 16, 4, ether_type_name),

    hex("chdlc.address", "Address", Chdlc, 0, 8, 2),
    hex("chdlc.control", "Control", Chdlc, 8, 8, 2),
    hex("chdlc.protocol", "Protocol", Chdlc, 16, 16, 4, ether_type_name),

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

    dec(place("ip.version"), "Version"),
    standing(computed("ip.hdr_len", "Header Length", Ipv4, Format::Decimal, header_length),
             place("ip.hdr_len")),
    second_name(hex(place("ip.dsfield"), "Differentiated Services Field", 2)),
    dec(place("ip.dsfield.dscp"), "DSCP"),
    dec(place("ip.dsfield.ecn"), "ECN", ecn),
    dec(place("ip.len"), "Total Length"),
    hex(place("ip.id"), "Identification", 4),
    second_name(hex(place("ip.flags"), "Flags", 2)),
    flag(place("ip.flags.rb"), "Reserved bit"),
    flag(place("ip.flags.df"), "Don't fragment"),
    flag(place("ip.flags.mf"), "More fragments"),
    dec(place("ip.frag_offset"), "Fragment Offset in Units of 8 Bytes"),
    dec(place("ip.ttl"), "Time to Live"),
    dec(place("ip.proto"), "Protocol", ip_protocol_name),
    hex(place("ip.checksum"), "Header Checksum", 4),
    bytes(place("ip.src"), "Source Address", Format::Ipv4),
    also_called("ip.addr", "Address", bytes(place("ip.src"), "", Format::Ipv4)),
    bytes(place("ip.dst"), "Destination Address", Format::Ipv4),
    also_called("ip.addr", "Address", bytes(place("ip.dst"), "", Format::Ipv4)),

    dec(place("ipv6.version"), "Version"),
    also_called("ip.version", "Version", dec(place("ipv6.version"), "")),
    second_name(hex(place("ipv6.tclass"), "Traffic Class", 8)),
    dec(place("ipv6.tclass.dscp"), "DSCP"),
    dec(place("ipv6.tclass.ecn"), "ECN", ecn),
    hex(place("ipv6.flow"), "Flow Label", 6),
    dec(place("ipv6.plen"), "Payload Length"),
    dec(place("ipv6.nxt"), "Next Header", ip_protocol_name),
    dec(place("ipv6.hlim"), "Hop Limit"),
    bytes(place("ipv6.src"), "Source Address", Format::Ipv6),
    also_called("ipv6.addr", "Address", bytes(place("ipv6.src"), "", Format::Ipv6)),
    bytes(place("ipv6.dst"), "Destination Address", Format::Ipv6),
    also_called("ipv6.addr", "Address", bytes(place("ipv6.dst"), "", Format::Ipv6)),

    dec(place("udp.srcport"), "Source Port"),
    also_called("udp.port", "Port", dec(place("udp.srcport"), "")),
    dec(place("udp.dstport"), "Destination Port"),
    also_called("udp.port", "Port", dec(place("udp.dstport"), "")),
    dec(place("udp.length"), "Length"),
    hex(place("udp.checksum"), "Checksum", 4),
};

} // namespace

std::span<const FieldRow> outer() {
    return kOuterRows;
}

} // namespace veriroce::decode::rows
