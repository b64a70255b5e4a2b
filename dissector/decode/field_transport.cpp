// Rows of the field table: from the BTH to the ICRC, without management datagrams.
#include "dissector/decode/field_rows.hpp"
#include "dissector/decode/names.hpp"
#include "dissector/wire/field_places.hpp"

namespace veriroce::decode::rows {
namespace {

using enum LayerKind;

using Computed = std::optional<Value>;

std::string_view opcode_title(std::uint64_t value) {
    return wire::opcode_info(static_cast<std::uint8_t>(value)).title;
}

Computed opcode_name(const Dissection& d, const LayerSpan&) {
    if (!d.has_bth) return std::nullopt;
    return text(opcode_title(d.packet.bth.opcode));
}
Computed payload_bytes(const Dissection& d, const LayerSpan&) {
    if (!d.has_bth || d.malformed) return std::nullopt;
    return number(d.payload_bytes());
}
Computed icrc_status(const Dissection& d, const LayerSpan&) {
    return text(name_of(d.icrc.status));
}
Computed icrc_reason(const Dissection& d, const LayerSpan&) {
    if (d.icrc.reason == IcrcReason::None) return std::nullopt;
    return text(text_of(d.icrc.reason));
}
Computed icrc_expected(const Dissection& d, const LayerSpan&) {
    if (d.icrc.status == IcrcStatus::Unchecked) return std::nullopt;
    return number(d.icrc.expected);
}
Computed cut(const Dissection& d, const LayerSpan&) {
    return number(d.cut ? 1 : 0);
}

// The low five bits of the syndrome, for the kind of acknowledge that gives them this meaning.
template <wire::AckKind Kind>
Computed syndrome_code(const Dissection& d, const LayerSpan&) {
    if (!d.packet.headers.has(wire::Header::Aeth)) return std::nullopt; // cut
    const wire::Syndrome syndrome = d.packet.aeth.syndrome;
    if (syndrome.kind() != Kind) return std::nullopt;
    return number(syndrome.code());
}

std::string_view ack_kind_text(std::uint64_t kind) {
    constexpr std::array<std::string_view, 4> kTexts{"Ack", "RNR Nak", "Reserved", "Nak"};
    return kTexts[kind & 3];
}

// Wireshark counts the pad of a transport packet to the payload, that of MPA not.
Computed whole_body(const Dissection& d, const LayerSpan& layer) {
    const auto* pad = d.protocol == Protocol::Iwarp ? nullptr : d.layers.find(LayerKind::Pad);
    const std::uint32_t length = layer.length + (pad ? pad->length : 0);
    return Value{
        .number = length, .bytes = d.frame.bytes.subspan(layer.offset, length), .text = {}};
}

template <bool Iwarp>
Computed pad_of(const Dissection& d, const LayerSpan& layer) {
    if ((d.protocol == Protocol::Iwarp) != Iwarp) return std::nullopt;
    return Value{.number = 0, .bytes = d.bytes_of(layer), .text = {}};
}

// What a port of TCP or UDP was sent, and a fragment that is not the first; other protocols have
// words of their own for their contents.
Computed port_data(const Dissection& d, const LayerSpan& layer) {
    const bool ip = d.protocol == Protocol::Ipv4 || d.protocol == Protocol::Ipv6;
    const bool port = d.protocol == Protocol::Tcp || d.protocol == Protocol::Udp;
    if (!port && !(ip && d.fragment)) return std::nullopt;
    return Value{.number = layer.length, .bytes = d.bytes_of(layer), .text = {}};
}

constexpr std::array kTransportRows{
    whole("infiniband.bth", "Base Transport Header", Bth),
    dec(place("infiniband.bth.opcode"), "Opcode", opcode_title),
    computed("roce.opcode.name", "Opcode Name", Bth, Format::Text, opcode_name, Shown::NotInTree),
    flag(place("infiniband.bth.se"), "Solicited Event"),
    flag(place("infiniband.bth.m"), "MigReq"),
    dec(place("infiniband.bth.padcnt"), "Pad Count"),
    dec(place("infiniband.bth.tver"), "Header Version"),
    dec(place("infiniband.bth.p_key"), "Partition Key"),
    flag(place("roce.bth.fecn"), "FECN"),
    flag(place("roce.bth.becn"), "BECN"),
    hex(place("roce.bth.reserved6"), "Reserved (6 bits)", 2),
    hex(place("infiniband.bth.destqp"), "Destination Queue Pair", 6),
    flag(place("infiniband.bth.a"), "Acknowledge Request"),
    dec(place("infiniband.bth.reserved7"), "Reserved (7 bits)"),
    dec(place("infiniband.bth.psn"), "Packet Sequence Number"),
    computed("roce.payload_bytes", "Payload Bytes", Bth, Format::Decimal, payload_bytes),
    computed("roce.cut", "Cut by the Capture", Bth, Format::Boolean, cut),
    after_icrc(computed("roce.icrc.status", "ICRC Status", Bth, Format::Text, icrc_status)),
    after_icrc(
        computed("roce.icrc.reason", "ICRC Not Checked Because", Bth, Format::Text, icrc_reason)),
    after_icrc(with_digits(
        computed("roce.icrc.expected", "ICRC as Computed", Bth, Format::Hex, icrc_expected), 8)),

    whole("infiniband.rdeth", "RDETH", Rdeth),
    dec(place("infiniband.rdeth.eecnxt"), "E2E Context"),

    whole("infiniband.deth", "DETH", Deth),
    hex(place("infiniband.deth.q_key"), "Queue Key", 16),
    hex(place("infiniband.deth.srcqp"), "Source Queue Pair", 8),

    hex(place("roce.xrceth.srq"), "XRC SRQ", 6),

    dec(place("roce.feth.selectivity"), "Selectivity Level"),
    dec(place("roce.feth.placement"), "Placement Type"),

    whole("infiniband.reth", "RETH", Reth),
    hex(place("infiniband.reth.va", wire::Layer::Reth), "Virtual Address", 16),
    hex(place("infiniband.reth.r_key", wire::Layer::Reth), "Remote Key", 8),
    dec(place("infiniband.reth.dmalen"), "DMA Length"),

    whole("infiniband.atomiceth", "AtomicETH", AtomicEth),
    hex(place("infiniband.reth.va", wire::Layer::AtomicEth), "Virtual Address", 16),
    hex(place("infiniband.reth.r_key", wire::Layer::AtomicEth), "Remote Key", 8),
    dec(place("infiniband.atomiceth.swapdt"), "Swap (or Add) Data"),
    dec(place("infiniband.atomiceth.cmpdt"), "Compare Data"),

    whole("infiniband.aeth", "AETH", Aeth),
    dec(place("infiniband.aeth.syndrome"), "Syndrome"),
    dec(place("infiniband.aeth.syndrome.reserved"), "Reserved"),
    dec(place("infiniband.aeth.syndrome.opcode"), "Kind", ack_kind_text),
    standing(computed("infiniband.aeth.syndrome.credit_count", "Credit Count", Aeth,
                      Format::Decimal, syndrome_code<wire::AckKind::Ack>),
             place("infiniband.aeth.syndrome.credit_count")),
    standing(computed("infiniband.aeth.syndrome.timer", "Timer", Aeth, Format::Decimal,
                      syndrome_code<wire::AckKind::RnrNak>),
             place("infiniband.aeth.syndrome.timer")),
    standing(computed("infiniband.aeth.syndrome.reserved_value", "Reserved Value", Aeth,
                      Format::Decimal, syndrome_code<wire::AckKind::Reserved>),
             place("infiniband.aeth.syndrome.reserved_value")),
    with_meaning(standing(computed("infiniband.aeth.syndrome.error_code", "Error Code", Aeth,
                                   Format::Decimal, syndrome_code<wire::AckKind::Nak>),
                          place("infiniband.aeth.syndrome.error_code")),
                 nak_text),
    dec(place("infiniband.aeth.msn"), "Message Sequence Number"),

    whole("infiniband.atomicacketh", "AtomicAckETH", AtomicAckEth),
    dec(place("infiniband.atomicacketh.origremdt"), "Original Remote Data"),

    bytes(place("infiniband.immdt"), "Immediate Data"),
    bytes(place("infiniband.ieth"), "Invalidated R_Key"),

    bytes("roce.cnp.reserved", "Reserved", Cnp, 0, 128),

    computed("data", "Data", Payload, Format::Bytes, whole_body, Shown::OnlyByName),
    computed("data.data", "Data", Payload, Format::Bytes, whole_body, Shown::OnlyByName),
    computed("data.len", "Data and Pad Length", Payload, Format::Decimal, whole_body,
             Shown::OnlyByName),

    computed("roce.pad", "Pad Bytes", Pad, Format::Bytes, pad_of<false>),
    computed("iwarp_mpa.pad", "Pad Bytes", Pad, Format::Bytes, pad_of<true>),

    hex(place("infiniband.invariant.crc"), "Invariant CRC", 8),

    hex("infiniband.variant.crc", "Variant CRC", Vcrc, 0, 16, 4),

    computed("data", "Data", Data, Format::Bytes, port_data, Shown::OnlyByName),
    computed("data.data", "Data", Data, Format::Bytes, port_data, Shown::OnlyByName),
    computed("data.len", "Data Length", Data, Format::Decimal, port_data, Shown::OnlyByName),
};

} // namespace

std::span<const FieldRow> transport() {
    return kTransportRows;
}

} // namespace veriroce::decode::rows
