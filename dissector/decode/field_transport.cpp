// Rows of the field table: from the BTH to the ICRC, without management datagrams.
#include "dissector/decode/field_rows.hpp"
#include "dissector/decode/names.hpp"

namespace veriroce::decode::rows {
namespace {

using enum LayerKind;

using Computed = std::optional<Value>;

std::string_view opcode_title(std::uint64_t value) {
    return wire::opcode_info(static_cast<std::uint8_t>(value)).title;
}

Computed opcode_name(const Dissection& d, const LayerSpan&) {
    if (!d.has_bth) return std::nullopt;
    return text(opcode_title(d.bth.opcode));
}
Computed payload_bytes(const Dissection& d, const LayerSpan&) {
    if (!d.has_bth || d.malformed) return std::nullopt;
    return number(d.bth.pad <= d.body_bytes ? d.body_bytes - d.bth.pad : 0);
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
Computed syndrome_code(const Dissection& d, const LayerSpan& layer) {
    const auto header = wire::Aeth::decode(d.bytes_of(layer));
    if (!header || header->syndrome.kind() != Kind) return std::nullopt;
    return number(header->syndrome.code());
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

constexpr std::array kRows{
    whole("infiniband.bth", "Base Transport Header", Bth),
    dec("infiniband.bth.opcode", "Opcode", Bth, 0, 8, opcode_title),
    computed("roce.opcode.name", "Opcode Name", Bth, Format::Text, opcode_name, Shown::NotInTree),
    flag("infiniband.bth.se", "Solicited Event", Bth, 8),
    flag("infiniband.bth.m", "MigReq", Bth, 9),
    dec("infiniband.bth.padcnt", "Pad Count", Bth, 10, 2),
    dec("infiniband.bth.tver", "Header Version", Bth, 12, 4),
    dec("infiniband.bth.p_key", "Partition Key", Bth, 16, 16),
    flag("roce.bth.fecn", "FECN", Bth, 32),
    flag("roce.bth.becn", "BECN", Bth, 33),
    hex("roce.bth.reserved6", "Reserved (6 bits)", Bth, 34, 6, 2),
    hex("infiniband.bth.destqp", "Destination Queue Pair", Bth, 40, 24, 6),
    flag("infiniband.bth.a", "Acknowledge Request", Bth, 64),
    dec("infiniband.bth.reserved7", "Reserved (7 bits)", Bth, 65, 7),
    dec("infiniband.bth.psn", "Packet Sequence Number", Bth, 72, 24),
    computed("roce.payload_bytes", "Payload Bytes", Bth, Format::Decimal, payload_bytes),
    computed("roce.cut", "Cut by the Capture", Bth, Format::Boolean, cut),
    computed("roce.icrc.status", "ICRC Status", Bth, Format::Text, icrc_status),
    computed("roce.icrc.reason", "ICRC Not Checked Because", Bth, Format::Text, icrc_reason),
    with_digits(computed("roce.icrc.expected", "ICRC as Computed", Bth, Format::Hex, icrc_expected),
                8),

    whole("infiniband.rdeth", "RDETH", Rdeth),
    dec("infiniband.rdeth.eecnxt", "E2E Context", Rdeth, 8, 24),

    whole("infiniband.deth", "DETH", Deth),
    hex("infiniband.deth.q_key", "Queue Key", Deth, 0, 32, 16),
    hex("infiniband.deth.srcqp", "Source Queue Pair", Deth, 40, 24, 8),

    hex("roce.xrceth.srq", "XRC SRQ", Xrceth, 8, 24, 6),

    dec("roce.feth.selectivity", "Selectivity Level", Feth, 26, 2),
    dec("roce.feth.placement", "Placement Type", Feth, 28, 4),

    whole("infiniband.reth", "RETH", Reth),
    hex("infiniband.reth.va", "Virtual Address", Reth, 0, 64, 16),
    hex("infiniband.reth.r_key", "Remote Key", Reth, 64, 32, 8),
    dec("infiniband.reth.dmalen", "DMA Length", Reth, 96, 32),

    whole("infiniband.atomiceth", "AtomicETH", AtomicEth),
    hex("infiniband.reth.va", "Virtual Address", AtomicEth, 0, 64, 16),
    hex("infiniband.reth.r_key", "Remote Key", AtomicEth, 64, 32, 8),
    dec("infiniband.atomiceth.swapdt", "Swap (or Add) Data", AtomicEth, 96, 64),
    dec("infiniband.atomiceth.cmpdt", "Compare Data", AtomicEth, 160, 64),

    whole("infiniband.aeth", "AETH", Aeth),
    dec("infiniband.aeth.syndrome", "Syndrome", Aeth, 0, 8),
    dec("infiniband.aeth.syndrome.reserved", "Reserved", Aeth, 0, 1),
    dec("infiniband.aeth.syndrome.opcode", "Kind", Aeth, 1, 2, ack_kind_text),
    standing(computed("infiniband.aeth.syndrome.credit_count", "Credit Count", Aeth,
                      Format::Decimal, syndrome_code<wire::AckKind::Ack>),
             3, 5),
    standing(computed("infiniband.aeth.syndrome.timer", "Timer", Aeth, Format::Decimal,
                      syndrome_code<wire::AckKind::RnrNak>),
             3, 5),
    standing(computed("infiniband.aeth.syndrome.reserved_value", "Reserved Value", Aeth,
                      Format::Decimal, syndrome_code<wire::AckKind::Reserved>),
             3, 5),
    with_meaning(standing(computed("infiniband.aeth.syndrome.error_code", "Error Code", Aeth,
                                   Format::Decimal, syndrome_code<wire::AckKind::Nak>),
                          3, 5),
                 nak_text),
    dec("infiniband.aeth.msn", "Message Sequence Number", Aeth, 8, 24),

    whole("infiniband.atomicacketh", "AtomicAckETH", AtomicAckEth),
    dec("infiniband.atomicacketh.origremdt", "Original Remote Data", AtomicAckEth, 0, 64),

    bytes("infiniband.immdt", "Immediate Data", ImmDt, 0, 32),
    bytes("infiniband.ieth", "Invalidated R_Key", Ieth, 0, 32),

    bytes("roce.cnp.reserved", "Reserved", Cnp, 0, 128),

    computed("data", "Data", Payload, Format::Bytes, whole_body, Shown::OnlyByName),
    computed("data.data", "Data", Payload, Format::Bytes, whole_body, Shown::OnlyByName),
    computed("data.len", "Data and Pad Length", Payload, Format::Decimal, whole_body,
             Shown::OnlyByName),

    computed("roce.pad", "Pad Bytes", Pad, Format::Bytes, pad_of<false>),
    computed("iwarp_mpa.pad", "Pad Bytes", Pad, Format::Bytes, pad_of<true>),

    hex("infiniband.invariant.crc", "Invariant CRC", Icrc, 0, 32, 8),

    hex("infiniband.variant.crc", "Variant CRC", Vcrc, 0, 16, 4),

    computed("data", "Data", Data, Format::Bytes, port_data, Shown::OnlyByName),
    computed("data.data", "Data", Data, Format::Bytes, port_data, Shown::OnlyByName),
    computed("data.len", "Data Length", Data, Format::Decimal, port_data, Shown::OnlyByName),
};

} // namespace

std::span<const FieldRow> transport() {
    return kRows;
}

} // namespace veriroce::decode::rows
