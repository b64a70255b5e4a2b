#include "dissector/print/info.hpp"

#include "dissector/decode/iwarp.hpp"
#include "dissector/decode/mad.hpp"
#include "dissector/decode/names.hpp"
#include "dissector/print/append.hpp"
#include "dissector/print/upper_info.hpp"
#include "dissector/wire/udp.hpp"

namespace veriroce::print {
namespace {

using decode::Dissection;
using decode::LayerKind;

// The header of this type, if the packet has it and it was captured completely.
template <typename Header>
std::optional<Header> header(const Dissection& d, LayerKind kind) {
    const auto* layer = d.layers.find(kind);
    if (!layer) return std::nullopt;
    return Header::decode(d.bytes_of(*layer));
}

void append_syndrome(std::string& out, wire::Syndrome syndrome) {
    switch (syndrome.kind()) {
    case wire::AckKind::Ack:
        // Code 31 means that credits are not used (ACK-10). That is the normal case, so print
        // nothing.
        if (const auto credits = wire::credits_of(syndrome.code())) {
            append<" Credits={}">(out, *credits);
        }
        break;
    case wire::AckKind::RnrNak: {
        const std::chrono::duration<double, std::milli> wait = wire::rnr_time(syndrome.code());
        append<" RNR NAK {:.2f} ms">(out, wait.count());
        break;
    }
    case wire::AckKind::Reserved: append<" Reserved Syndrome 0x{:02x}">(out, syndrome.value); break;
    case wire::AckKind::Nak:
        append<" NAK {}">(out, decode::nak_text(syndrome.code()));
        if (!syndrome.nak_code()) append<" Code {}">(out, syndrome.code());
        break;
    }
}

void append_addresses(std::string& out, const Dissection& d) {
    if (const auto reth = header<wire::Reth>(d, LayerKind::Reth)) {
        append<" VA=0x{:016x} R_Key=0x{:08x} DMALen={}">(out, reth->virtual_address,
                                                         reth->rkey.value, reth->dma_length);
    }
    const auto atomic = header<wire::AtomicEth>(d, LayerKind::AtomicEth);
    if (!atomic) return;
    append<" VA=0x{:016x} R_Key=0x{:08x}">(out, atomic->virtual_address, atomic->rkey.value);
    if (wire::opcode_info(d.bth.opcode).operation == wire::Operation::FetchAdd) {
        append<" Add={}">(out, atomic->swap_or_add);
    } else {
        append<" Swap={} Compare={}">(out, atomic->swap_or_add, atomic->compare);
    }
}

void append_headers(std::string& out, const Dissection& d) {
    if (const auto deth = header<wire::Deth>(d, LayerKind::Deth)) {
        append<" SrcQP=0x{:06x} Q_Key=0x{:08x}">(out, deth->source_qp.value, deth->qkey.value);
    }
    if (const auto xrc = header<wire::Xrceth>(d, LayerKind::Xrceth)) {
        append<" SRQ=0x{:06x}">(out, xrc->srq);
    }
    if (const auto flush = header<wire::Feth>(d, LayerKind::Feth)) {
        append<" Selectivity={} Placement={}">(out, flush->selectivity, flush->placement);
    }
    append_addresses(out, d);
    if (const auto aeth = header<wire::Aeth>(d, LayerKind::Aeth)) {
        append<" MSN={}">(out, aeth->msn.value);
        append_syndrome(out, aeth->syndrome);
    }
    if (const auto ack = header<wire::AtomicAckEth>(d, LayerKind::AtomicAckEth)) {
        append<" Original={}">(out, ack->original);
    }
    if (const auto imm = header<wire::ImmDt>(d, LayerKind::ImmDt)) {
        append<" Imm=0x{:08x}">(out, imm->value);
    }
    if (const auto ieth = header<wire::Ieth>(d, LayerKind::Ieth)) {
        append<" Invalidates=0x{:08x}">(out, ieth->rkey.value);
    }
}

void append_reject_reason(std::string& out, const Dissection& d) {
    const auto* layer = d.layers.find(LayerKind::CmRej);
    if (!layer || layer->length < 12) return;
    const std::uint16_t reason = wire::load_u16(d.bytes_of(*layer), 10);
    const std::string_view words = decode::cm_reject_reason(reason);
    append<" Reason={} ({})">(out, reason, words.empty() ? "unknown" : words);
}

// "SubnAdmGet(PathRecord)", as in the standard and in Wireshark. Unknown values are printed as
// numbers.
void append_datagram(std::string& out, std::uint8_t management_class, std::uint8_t method,
                     std::uint16_t attribute) {
    const std::string_view prefix = decode::mad_class_prefix(management_class);
    const std::string_view method_name = decode::mad_method_name(method);
    append<"MAD: {}">(out, prefix.empty() ? "Reserved" : prefix);
    if (method_name.empty()) {
        append<" Method=0x{:02x}">(out, method);
    } else {
        append<"{}{}({})">(out, prefix.empty() ? " " : "", method_name,
                           decode::mad_attribute_name(management_class, attribute));
    }
    append<" Class=0x{:02x} Attribute=0x{:04x}">(out, management_class, attribute);
}

// "CM: ConnectRequest" as in Wireshark, or the message of another class. False if the packet is not
// a MAD.
bool append_management(std::string& out, const Dissection& d) {
    const auto* layer = d.layers.find(LayerKind::Mad);
    if (!layer || layer->length < decode::kMadHeaderBytes) return false;
    const wire::Bytes mad = d.bytes_of(*layer);
    const std::uint8_t management_class = wire::load_u8(mad, 1);
    const std::uint16_t attribute = wire::load_u16(mad, 16);
    const decode::CmLayout* message = decode::cm_layout(attribute);
    if (management_class == decode::kCmClass && message != nullptr) {
        append<"CM: {}">(out, message->name);
    } else {
        append_datagram(out, management_class, wire::load_u8(mad, 3), attribute);
    }
    append<" TID=0x{:016x}">(out, wire::load_u64(mad, 8));
    append_reject_reason(out, d);
    return true;
}

void append_marks(std::string& out, const Dissection& d) {
    if (d.has_bth && d.bth.fecn) out += " FECN";
    if (d.has_bth && d.bth.becn) out += " BECN";
    if (d.fragment) out += " [IP fragment]";
    if (d.malformed) out += " [malformed]";
    if (d.cut) out += " [cut]";
    if (d.icrc.status == decode::IcrcStatus::Bad) {
        append<" [ICRC bad: 0x{:08x}, should be 0x{:08x}]">(out, d.icrc.found, d.icrc.expected);
    }
}

void append_transport(std::string& out, const Dissection& d) {
    if (!d.has_bth) {
        out += decode::name_of(d.protocol);
        return;
    }
    const wire::OpcodeInfo& info = wire::opcode_info(d.bth.opcode);
    if (append_management(out, d)) return;
    out += info.title;
    if (info.reserved()) append<" Opcode 0x{:02x}">(out, d.bth.opcode);
    append<" QP=0x{:06x} PSN={}">(out, d.bth.dest_qp.value, d.bth.psn.value());
    append_headers(out, d);
    const std::uint32_t pad = d.bth.pad <= d.body_bytes ? d.bth.pad : d.body_bytes;
    if (info.carries_payload() && !d.malformed) append<" Len={}">(out, d.body_bytes - pad);
    if (d.bth.ack_request) out += " AckReq";
    if (d.bth.solicited) out += " SE";
    if (d.upper) append_upper_info(out, d);
}

// TCP and UDP: both headers begin with the ports.
void append_ports(std::string& out, const Dissection& d) {
    const auto layer =
        d.layers.find(d.protocol == decode::Protocol::Udp ? LayerKind::Udp : LayerKind::Tcp);
    if (!layer || layer->length < 4) return;
    const wire::Bytes bytes = d.bytes_of(*layer);
    append<"{} → {}">(out, wire::load_u16(bytes, 0), wire::load_u16(bytes, 2));
}

// PFC: for each class listed, how long it must pause, in units of 512 bit times.
void append_mac_control(std::string& out, const Dissection& d) {
    if (const auto* pause = d.layers.find(LayerKind::Pause); pause && pause->length == 2) {
        append<"PAUSE {}">(out, wire::load_u16(d.bytes_of(*pause), 0));
        return;
    }
    const auto* pfc = d.layers.find(LayerKind::Pfc);
    if (!pfc || pfc->length != 18) {
        out += "MAC control";
        return;
    }
    const wire::Bytes bytes = d.bytes_of(*pfc);
    const std::uint16_t enabled = wire::load_u16(bytes, 0);
    out += "PFC";
    for (std::size_t i = 0; i < 8; ++i) {
        if ((enabled >> i & 1) != 0) append<" C{}={}">(out, i, wire::load_u16(bytes, 2 + 2 * i));
    }
}

// iWARP: the start-up frames, and a Terminate with its reason.
void append_mpa_start(std::string& out, wire::Bytes frame) {
    const unsigned flags = wire::load_u8(frame, 16);
    append<"MPA {} Frame Markers={} CRC={}">(out, frame[9] == std::byte{'q'} ? "Request" : "Reply",
                                             flags >> 7, flags >> 6 & 1U);
    if ((flags & 0x20) != 0) out += " rejected";
}

void append_terminate(std::string& out, wire::Bytes control) {
    if (control.size() < 2) return;
    const std::uint8_t layer_and_type = wire::load_u8(control, 0);
    const std::uint8_t code = wire::load_u8(control, 1);
    const std::string_view type_name = decode::terminate_type_name(layer_and_type);
    const std::string_view code_name = decode::terminate_code_name(layer_and_type, code);
    append<" Layer={} Type={} Code=0x{:02x}">(out, layer_and_type >> 4, layer_and_type & 0xF, code);
    if (!type_name.empty()) {
        append<" ({}{}{})">(out, type_name, code_name.empty() ? "" : ": ", code_name);
    }
}

std::string_view rdmap_operation(wire::Bytes header) {
    if (header.size() < 2) return "RDMAP";
    const std::string_view name = decode::rdmap_opcode_name(wire::load_u8(header, 1) & 0xFU);
    return name.empty() ? "RDMAP reserved operation" : name;
}

// iWARP: the contents of each framed PDU in the segment.
void append_iwarp(std::string& out, const Dissection& d) {
    const std::size_t begin = out.size();
    const auto say = [&](std::string_view words) {
        if (out.size() > begin) out += ", ";
        out += words;
    };
    bool goes_on = false;
    for (const decode::LayerSpan& layer : d.layers) {
        const wire::Bytes bytes = d.bytes_of(layer);
        if (layer.kind == LayerKind::MpaStart) append_mpa_start(out, bytes);
        if (layer.kind == LayerKind::MpaContinued) say("continued PDU");
        if (layer.kind == LayerKind::MpaMore) say("iWARP not decoded");
        if (layer.kind == LayerKind::RdmapTerminate) append_terminate(out, bytes);
        if (layer.kind == LayerKind::MpaCrc || layer.kind == LayerKind::MpaCrcUnused) {
            goes_on = layer.length < decode::kMpaCrcBytes;
        }
        if (layer.kind != LayerKind::DdpTagged && layer.kind != LayerKind::DdpUntagged) continue;
        say(rdmap_operation(bytes));
        goes_on = true;
    }
    if (goes_on && !d.cut) out += " (continues in the next segment)";
}

void append_other(std::string& out, const Dissection& d) {
    if (d.layers.has(LayerKind::Unsupported)) {
        append<"unsupported link type {}">(out, d.frame.link_code);
        return;
    }
    switch (d.protocol) {
    case decode::Protocol::Tcp:
    case decode::Protocol::Udp: append_ports(out, d); break;
    case decode::Protocol::MacControl: append_mac_control(out, d); break;
    case decode::Protocol::Iwarp: append_iwarp(out, d); break;
    case decode::Protocol::Unknown:
    case decode::Protocol::Ethernet:
    case decode::Protocol::Arp:
    case decode::Protocol::Mpls:
    case decode::Protocol::Ipv4:
    case decode::Protocol::Ipv6:
    case decode::Protocol::Gre:
    case decode::Protocol::Icmp:
    case decode::Protocol::Icmpv6: out += "not decoded"; break;
    case decode::Protocol::InfiniBand:
    case decode::Protocol::RoceV1:
    case decode::Protocol::RoceV2: break;
    }
}

} // namespace

void append_info(std::string& out, const Dissection& dissection) {
    if (dissection.transport_packet()) {
        append_transport(out, dissection);
    } else {
        append_other(out, dissection);
    }
    append_marks(out, dissection);
}

} // namespace veriroce::print
