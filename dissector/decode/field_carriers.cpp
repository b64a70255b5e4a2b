// Rows of the field table: MAC control, tunnels, TCP and iWARP, and the headers with which
// InfiniBand itself and RoCE v1 carry the transport.
#include <algorithm>

#include "dissector/decode/field_rows.hpp"
#include "dissector/decode/names.hpp"

namespace veriroce::decode::rows {
namespace {

using enum LayerKind;

using Computed = std::optional<Value>;

std::string_view mac_control(std::uint64_t opcode) {
    switch (opcode) {
    case 0x0001: return "PAUSE";
    case 0x0101: return "PFC";
    default: return {};
    }
}
std::string_view link_next_header(std::uint64_t value) {
    constexpr std::array<std::string_view, 4> kNames{"Raw", "IPv6", "BTH", "GRH"};
    return kNames[value & 3];
}
std::string_view erf_type(std::uint64_t value) {
    switch (value & 0x7F) {
    case 2: return "Ethernet";
    case 11: return "Ethernet, colour";
    case 16: return "Ethernet, steering";
    case 20: return "Ethernet, colour and hash";
    case 21: return "InfiniBand";
    case 22: return "IPv4";
    case 23: return "IPv6";
    default: return {};
    }
}

// GRE's optional words stand one behind the other in this order.
enum class GreWord : std::uint8_t { Checksum, Key, Sequence };

template <GreWord Word>
Computed gre_word(const Dissection& d, const LayerSpan& layer) {
    constexpr std::array<std::uint16_t, 3> kFlags{0x8000, 0x2000, 0x1000};
    const wire::Bytes bytes = d.bytes_of(layer);
    if (bytes.size() < 4) return std::nullopt;
    const std::uint16_t flags = wire::load_u16(bytes, 0);
    constexpr auto kIndex = static_cast<std::size_t>(Word);
    if ((flags & kFlags[kIndex]) == 0) return std::nullopt;
    std::size_t at = 4;
    for (std::size_t i = 0; i < kIndex; ++i) {
        if ((flags & kFlags[i]) != 0) at += 4;
    }
    if (bytes.size() < at + 4) return std::nullopt;
    return number(Word == GreWord::Checksum ? wire::load_u16(bytes, at)
                                            : wire::load_u32(bytes, at));
}

Computed geneve_options(const Dissection& d, const LayerSpan& layer) {
    if (layer.length <= 8) return std::nullopt;
    return Value{.number = 0, .bytes = d.bytes_of(layer).subspan(8), .text = {}};
}

// Behind address and control, which may be left out; of one byte if its first is odd.
Computed ppp_protocol(const Dissection& d, const LayerSpan& layer) {
    const wire::Bytes bytes = d.bytes_of(layer);
    const std::size_t at = bytes.size() > 2 && wire::load_u8(bytes, 0) == 0xFF ? 2 : 0;
    if (bytes.size() - at > 1) return number(wire::load_u16(bytes, at));
    if (bytes.size() - at < 1) return std::nullopt;
    return number(wire::load_u8(bytes, at));
}

Computed tcp_header_length(const Dissection& d, const LayerSpan& layer) {
    const wire::Bytes bytes = d.bytes_of(layer);
    if (bytes.size() < 13) return std::nullopt;
    return number((wire::load_u8(bytes, 12) >> 4) * 4U);
}

// The key of an MPA start-up frame ends in "Req Frame" or "Rep Frame".
template <char Kind>
Computed mpa_key(const Dissection& d, const LayerSpan& layer) {
    const wire::Bytes bytes = d.bytes_of(layer);
    if (bytes.size() < 16 || bytes[9] != static_cast<std::byte>(Kind)) return std::nullopt;
    return Value{.number = 0, .bytes = bytes.first(16), .text = {}};
}

// The word after RDMAP's control byte is a Steering Tag in two of its messages.
template <bool Invalidates>
Computed rdmap_word(const Dissection& d, const LayerSpan& layer) {
    const wire::Bytes bytes = d.bytes_of(layer);
    if (bytes.size() < 6) return std::nullopt;
    const unsigned operation = wire::load_u8(bytes, 1) & 0xFU;
    if ((operation == 4 || operation == 6) != Invalidates) return std::nullopt;
    return Value{.number = wire::load_u32(bytes, 2), .bytes = bytes.subspan(2, 4), .text = {}};
}

// What the error type of a Terminate message is depends on its layer, the code on both.
template <unsigned Layer>
Computed terminate_type(const Dissection& d, const LayerSpan& layer) {
    if (layer.length < 1) return std::nullopt;
    const unsigned byte = wire::load_u8(d.bytes_of(layer), 0);
    if (std::min(byte >> 4, 3U) != Layer) return std::nullopt;
    return number(byte & 0xFU);
}
template <TerminateWords Words>
Computed terminate_code(const Dissection& d, const LayerSpan& layer) {
    const auto control = TerminateControl::decode(d.bytes_of(layer));
    if (!control || terminate_words(control->layer_and_type) != Words) return std::nullopt;
    return number(control->code);
}
template <unsigned Layer>
constexpr FieldRow term_type(std::string_view name, std::string_view (*meaning)(std::uint64_t)) {
    const FieldRow row =
        computed(name, "Error Type", RdmapTerminate, Format::Hex, terminate_type<Layer>);
    return with_meaning(with_digits(standing(row, 4, 4), 2), meaning);
}
template <TerminateWords Words>
constexpr FieldRow term_code(std::string_view name, std::string_view (*meaning)(std::uint64_t)) {
    const FieldRow row =
        computed(name, "Error Code", RdmapTerminate, Format::Hex, terminate_code<Words>);
    return with_meaning(with_digits(standing(row, 8, 8), 2), meaning);
}

// What a Terminate message sends back follows its control word, if its bits say so.
enum class Terminated : std::uint8_t { Length, Ddp, Rdma };
template <Terminated Piece>
Computed terminated(const Dissection& d, const LayerSpan& layer) {
    const wire::Bytes bytes = d.bytes_of(layer);
    if (bytes.size() < 4) return std::nullopt;
    const unsigned there = wire::load_u8(bytes, 2);
    std::size_t at = 4;
    for (const Terminated piece : {Terminated::Length, Terminated::Ddp, Terminated::Rdma}) {
        std::size_t size = 2;
        if (piece == Terminated::Rdma) size = 28;
        if (piece == Terminated::Ddp) {
            size = at < bytes.size() && (wire::load_u8(bytes, at) & 0x80) != 0 ? 14 : 18;
        }
        if ((there & (0x80U >> static_cast<unsigned>(piece))) == 0) size = 0;
        if (piece == Piece) {
            if (size == 0 || bytes.size() < at + size) return std::nullopt;
            return Value{.number = 0, .bytes = bytes.subspan(at, size), .text = {}};
        }
        at += size;
    }
    return std::nullopt;
}

constexpr std::array kCarriersRows{
    hex("erf.types", "Record type", Erf, 64, 8, 2, erf_type),
    hex("erf.flags", "Flags", Erf, 72, 8, 2),
    dec("erf.rlen", "Record length", Erf, 80, 16),
    dec("erf.wlen", "Wire length", Erf, 112, 16),

    hex("macc.opcode", "Opcode", MacControl, 0, 16, 4, mac_control),
    dec("macc.pause_time", "Pause Time", Pause, 0, 16),
    hex("macc.cbfc.enbv", "Class Enable Vector", Pfc, 0, 16, 4),
    flag("macc.cbfc.enbv.c7", "C7", Pfc, 8),
    flag("macc.cbfc.enbv.c6", "C6", Pfc, 9),
    flag("macc.cbfc.enbv.c5", "C5", Pfc, 10),
    flag("macc.cbfc.enbv.c4", "C4", Pfc, 11),
    flag("macc.cbfc.enbv.c3", "C3", Pfc, 12),
    flag("macc.cbfc.enbv.c2", "C2", Pfc, 13),
    flag("macc.cbfc.enbv.c1", "C1", Pfc, 14),
    flag("macc.cbfc.enbv.c0", "C0", Pfc, 15),
    dec("macc.cbfc.pause_time.c0", "Pause Time C0", Pfc, 16, 16),
    dec("macc.cbfc.pause_time.c1", "Pause Time C1", Pfc, 32, 16),
    dec("macc.cbfc.pause_time.c2", "Pause Time C2", Pfc, 48, 16),
    dec("macc.cbfc.pause_time.c3", "Pause Time C3", Pfc, 64, 16),
    dec("macc.cbfc.pause_time.c4", "Pause Time C4", Pfc, 80, 16),
    dec("macc.cbfc.pause_time.c5", "Pause Time C5", Pfc, 96, 16),
    dec("macc.cbfc.pause_time.c6", "Pause Time C6", Pfc, 112, 16),
    dec("macc.cbfc.pause_time.c7", "Pause Time C7", Pfc, 128, 16),

    dec("mpls.label", "Label", Mpls, 0, 20),
    dec("mpls.exp", "Traffic Class", Mpls, 20, 3),
    dec("mpls.bottom", "Bottom of Stack", Mpls, 23, 1),
    dec("mpls.ttl", "Time to Live", Mpls, 24, 8),

    hex("gre.flags_and_version", "Flags and Version", Gre, 0, 16, 4),
    hex("gre.proto", "Protocol Type", Gre, 16, 16, 4, ether_type_name),
    with_digits(computed("gre.checksum", "Checksum", Gre, Format::Hex, gre_word<GreWord::Checksum>),
                4),
    with_digits(computed("gre.key", "Key", Gre, Format::Hex, gre_word<GreWord::Key>), 8),
    computed("gre.sequence_number", "Sequence Number", Gre, Format::Decimal,
             gre_word<GreWord::Sequence>),

    dec("erspan.version", "Version", Erspan2, 0, 4),
    dec("erspan.vlan", "VLAN", Erspan2, 4, 12),
    dec("erspan.cos", "COS", Erspan2, 16, 3),
    dec("erspan.encap", "Encapsulation", Erspan2, 19, 2),
    dec("erspan.truncated", "Truncated", Erspan2, 21, 1),
    dec("erspan.spanid", "Span ID", Erspan2, 22, 10),
    dec("erspan.index", "Index", Erspan2, 44, 20),

    dec("erspan.version", "Version", Erspan3, 0, 4),
    dec("erspan.vlan", "VLAN", Erspan3, 4, 12),
    dec("erspan.cos", "COS", Erspan3, 16, 3),
    dec("erspan.bso", "Bad, Short or Oversized", Erspan3, 19, 2),
    dec("erspan.truncated", "Truncated", Erspan3, 21, 1),
    dec("erspan.spanid", "Span ID", Erspan3, 22, 10),
    dec("erspan.timestamp", "Timestamp", Erspan3, 32, 32),
    dec("erspan.sgt", "Security Group Tag", Erspan3, 64, 16),
    dec("erspan.p", "Has Ethernet PDU", Erspan3, 80, 1),
    dec("erspan.ft", "Frame Type", Erspan3, 81, 5),
    dec("erspan.hw", "Hardware ID", Erspan3, 86, 6),
    flag("erspan.direction", "Direction", Erspan3, 92),
    dec("erspan.gra", "Timestamp Granularity", Erspan3, 93, 2),
    dec("erspan.o", "Platform Header", Erspan3, 95, 1),
    dec("erspan.platid", "Platform ID", ErspanPlatform, 0, 6),

    hex("vxlan.flags", "Flags", Vxlan, 0, 16, 4),
    dec("vxlan.vni", "VXLAN Network Identifier", Vxlan, 32, 24),

    dec("geneve.version", "Version", Geneve, 0, 2),
    hex("geneve.flags", "Flags", Geneve, 8, 8, 2),
    hex("geneve.proto_type", "Protocol Type", Geneve, 16, 16, 4, ether_type_name),
    hex("geneve.vni", "Virtual Network Identifier", Geneve, 32, 24, 6),
    computed("geneve.options", "Options", Geneve, Format::Bytes, geneve_options),

    with_digits(computed("ppp.protocol", "Protocol", Ppp, Format::Hex, ppp_protocol), 4),

    dec("nsh.version", "Version", Nsh, 0, 2),
    dec("nsh.Obit", "O Bit", Nsh, 2, 1),
    hex("nsh.ttl", "Time to Live", Nsh, 4, 6, 4),
    dec("nsh.length", "Length in Words", Nsh, 10, 6),
    dec("nsh.mdtype", "Metadata Type", Nsh, 16, 8),
    dec("nsh.nextproto", "Next Protocol", Nsh, 24, 8),
    dec("nsh.spi", "Service Path Identifier", Nsh, 32, 24),
    dec("nsh.si", "Service Index", Nsh, 56, 8),

    hex("gtp.flags", "Flags", Gtp, 0, 8, 2),
    hex("gtp.message", "Message Type", Gtp, 8, 8, 2),
    dec("gtp.length", "Length", Gtp, 16, 16),
    hex("gtp.teid", "Tunnel Endpoint Identifier", Gtp, 32, 32, 8),
    dec("gtp.ext_hdr.length", "Extension Header Length", GtpExtension, 0, 8),

    dec("ah.next_header", "Next Header", Authentication, 0, 8, ip_protocol_name),
    dec("ah.length", "Length in Units of 4 Bytes, Less Two", Authentication, 8, 8),
    hex("ah.spi", "Security Parameters Index", Authentication, 32, 32, 8),
    dec("ah.sequence", "Sequence Number", Authentication, 64, 32),

    dec("tcp.srcport", "Source Port", Tcp, 0, 16),
    second_name(dec("tcp.port", "Port", Tcp, 0, 16)),
    dec("tcp.dstport", "Destination Port", Tcp, 16, 16),
    second_name(dec("tcp.port", "Port", Tcp, 16, 16)),
    dec("tcp.seq_raw", "Sequence Number", Tcp, 32, 32),
    dec("tcp.ack_raw", "Acknowledgment Number", Tcp, 64, 32),
    standing(computed("tcp.hdr_len", "Header Length", Tcp, Format::Decimal, tcp_header_length), 96,
             4),
    hex("tcp.flags", "Flags", Tcp, 100, 12, 4),
    dec("tcp.window_size_value", "Window", Tcp, 112, 16),
    hex("tcp.checksum", "Checksum", Tcp, 128, 16, 4),

    whole("infiniband.lrh", "Local Route Header", Lrh),
    hex("infiniband.lrh.vl", "Virtual Lane", Lrh, 0, 4, 2),
    dec("infiniband.lrh.lver", "Link Version", Lrh, 4, 4),
    dec("infiniband.lrh.sl", "Service Level", Lrh, 8, 4),
    hex("infiniband.lrh.lnh", "Link Next Header", Lrh, 14, 2, 2, link_next_header),
    dec("infiniband.lrh.dlid", "Destination Local ID", Lrh, 16, 16),
    dec("infiniband.lrh.pktlen", "Packet Length in Words", Lrh, 37, 11),
    dec("infiniband.lrh.slid", "Source Local ID", Lrh, 48, 16),

    whole("infiniband.rwh", "Raw Header", Rwh),
    hex("infiniband.rwh.etype", "Type", Rwh, 16, 16, 4, ether_type_name),
    hex("infiniband.rwh.etype", "Type", Ipoib, 0, 16, 4, ether_type_name),

    whole("infiniband.grh", "Global Route Header", Grh),
    dec("infiniband.grh.ipver", "IP Version", Grh, 0, 4),
    dec("infiniband.grh.tclass", "Traffic Class", Grh, 4, 8),
    dec("infiniband.grh.flowlabel", "Flow Label", Grh, 12, 20),
    dec("infiniband.grh.paylen", "Payload Length", Grh, 32, 16),
    dec("infiniband.grh.nxthdr", "Next Header", Grh, 48, 8),
    dec("infiniband.grh.hoplmt", "Hop Limit", Grh, 56, 8),
    bytes("infiniband.grh.sgid", "Source GID", Grh, 64, 128, Format::Ipv6),
    bytes("infiniband.grh.dgid", "Destination GID", Grh, 192, 128, Format::Ipv6),

    standing(computed("iwarp_mpa.key.req", "Request Key", MpaStart, Format::Bytes, mpa_key<'q'>), 0,
             128),
    standing(computed("iwarp_mpa.key.rep", "Reply Key", MpaStart, Format::Bytes, mpa_key<'p'>), 0,
             128),
    flag("iwarp_mpa.marker_flag", "Markers", MpaStart, 128),
    flag("iwarp_mpa.crc_flag", "CRC", MpaStart, 129),
    flag("iwarp_mpa.rej_flag", "Rejected", MpaStart, 130),
    hex("iwarp_mpa.res", "Reserved", MpaStart, 131, 5, 2),
    dec("iwarp_mpa.rev", "Revision", MpaStart, 136, 8),
    dec("iwarp_mpa.pdlength", "Private Data Length", MpaStart, 144, 16),

    bytes("iwarp_mpa.privatedata", "Private Data", MpaPrivate, 0, 0),

    dec("iwarp_mpa.ulpdulength", "ULPDU Length", Mpa, 0, 16),

    flag("iwarp_ddp.tagged_flag", "Tagged", DdpTagged, 0),
    flag("iwarp_ddp.last_flag", "Last", DdpTagged, 1),
    hex("iwarp_ddp.rsvd", "Reserved", DdpTagged, 2, 4, 2),
    dec("iwarp_ddp.dv", "DDP Version", DdpTagged, 6, 2),
    dec("iwarp_rdma.version", "RDMAP Version", DdpTagged, 8, 2),
    hex("iwarp_rdma.rsv", "Reserved", DdpTagged, 10, 2, 2),
    hex("iwarp_rdma.opcode", "Operation", DdpTagged, 12, 4, 2, rdmap_opcode_name),
    hex("iwarp_ddp.stag", "Steering Tag", DdpTagged, 16, 32, 8),
    hex("iwarp_ddp.tagged_offset", "Tagged Offset", DdpTagged, 48, 64, 16),

    flag("iwarp_ddp.tagged_flag", "Tagged", DdpUntagged, 0),
    flag("iwarp_ddp.last_flag", "Last", DdpUntagged, 1),
    hex("iwarp_ddp.rsvd", "Reserved", DdpUntagged, 2, 4, 2),
    dec("iwarp_ddp.dv", "DDP Version", DdpUntagged, 6, 2),
    second_name(bytes("iwarp_ddp.rsvdulp", "Reserved for the Upper Layer", DdpUntagged, 8, 40)),
    dec("iwarp_rdma.version", "RDMAP Version", DdpUntagged, 8, 2),
    hex("iwarp_rdma.rsv", "Reserved", DdpUntagged, 10, 2, 2),
    hex("iwarp_rdma.opcode", "Operation", DdpUntagged, 12, 4, 2, rdmap_opcode_name),
    standing(computed("iwarp_rdma.inval_stag", "Invalidated Steering Tag", DdpUntagged,
                      Format::Decimal, rdmap_word<true>),
             16, 32),
    standing(
        computed("iwarp_rdma.reserved", "Reserved", DdpUntagged, Format::Bytes, rdmap_word<false>),
        16, 32),
    dec("iwarp_ddp.qn", "Queue Number", DdpUntagged, 48, 32),
    dec("iwarp_ddp.msn", "Message Sequence Number", DdpUntagged, 80, 32),
    dec("iwarp_ddp.mo", "Message Offset", DdpUntagged, 112, 32),

    hex("iwarp_rdma.sinkstag", "Sink Steering Tag", RdmapRead, 0, 32, 8),
    hex("iwarp_rdma.sinkto", "Sink Tagged Offset", RdmapRead, 32, 64, 16),
    dec("iwarp_rdma.rdmardsz", "Size", RdmapRead, 96, 32),
    hex("iwarp_rdma.srcstag", "Source Steering Tag", RdmapRead, 128, 32, 8),
    hex("iwarp_rdma.srcto", "Source Tagged Offset", RdmapRead, 160, 64, 16),

    hex("iwarp_rdma.term_layer", "Layer", RdmapTerminate, 0, 4, 2, terminate_layer_name),
    term_type<0>("iwarp_rdma.term_etype_rdma", terminate_rdma_type_name),
    term_type<1>("iwarp_rdma.term_etype_ddp", terminate_ddp_type_name),
    term_type<2>("iwarp_rdma.term_etype_llp", terminate_llp_type_name),
    term_type<3>("iwarp_rdma.term_etype", nullptr),
    term_code<TerminateWords::Rdma>("iwarp_rdma.term_errcode_rdma", terminate_rdma_code_name),
    term_code<TerminateWords::DdpTagged>("iwarp_rdma.term_errcode_ddp_tagged",
                                         terminate_tagged_code_name),
    term_code<TerminateWords::DdpUntagged>("iwarp_rdma.term_errcode_ddp_untagged",
                                           terminate_untagged_code_name),
    term_code<TerminateWords::Llp>("iwarp_rdma.term_errcode_llp", terminate_llp_code_name),
    term_code<TerminateWords::None>("iwarp_rdma.term_errcode", nullptr),
    flag("iwarp_rdma.term_hdrct_m", "DDP Segment Length is here", RdmapTerminate, 16),
    flag("iwarp_rdma.hdrct_d", "DDP Header is here", RdmapTerminate, 17),
    flag("iwarp_rdma.hdrct_r", "RDMAP Header is here", RdmapTerminate, 18),
    hex("iwarp_rdma.term_rsvd", "Reserved", RdmapTerminate, 19, 13, 4),
    computed("iwarp_rdma.term_ddp_seg_len", "DDP Segment Length", RdmapTerminate, Format::Bytes,
             terminated<Terminated::Length>),
    computed("iwarp_rdma.term_ddp_h", "Terminated DDP Header", RdmapTerminate, Format::Bytes,
             terminated<Terminated::Ddp>),
    computed("iwarp_rdma.term_rdma_h", "Terminated RDMAP Header", RdmapTerminate, Format::Bytes,
             terminated<Terminated::Rdma>),

    hex("iwarp_mpa.crc_check", "CRC-32C", MpaCrc, 0, 32, 8),
    hex("iwarp_mpa.crc", "CRC-32C, not in use", MpaCrcUnused, 0, 32, 8),
};

} // namespace

std::span<const FieldRow> carriers() {
    return kCarriersRows;
}

} // namespace veriroce::decode::rows
