#include "dissector/print/info.hpp"

#include "dissector/decode/iwarp.hpp"
#include "dissector/decode/mad.hpp"
#include "dissector/decode/names.hpp"
#include "dissector/print/append.hpp"
#include "dissector/print/flow_notes.hpp"
#include "dissector/print/named_field.hpp"
#include "dissector/print/upper_info.hpp"
#include "dissector/wire/ip.hpp"
#include "dissector/wire/management.hpp"

namespace veriroce::print {
namespace {

using decode::Dissection;
using decode::LayerKind;

void append_atomic(std::string& out, const Dissection& d) {
    const wire::AtomicEth& atomic = d.packet.atomic;
    append<" VA=0x{:016x} R_Key=0x{:08x}">(out, atomic.virtual_address, atomic.rkey.value);
    if (d.info().operation == wire::Operation::FetchAdd) {
        append<" Add={}">(out, atomic.swap_or_add);
    } else {
        append<" Swap={} Compare={}">(out, atomic.swap_or_add, atomic.compare);
    }
}

void append_header(std::string& out, const Dissection& d, wire::Header header) {
    const wire::Packet& packet = d.packet;
    switch (header) {
    case wire::Header::Rdeth: append<" EEContext=0x{:06x}">(out, packet.rdeth.ee_context); break;
    case wire::Header::Deth:
        append<" SrcQP=0x{:06x} Q_Key=0x{:08x}">(out, packet.deth.source_qp.value,
                                                 packet.deth.qkey.value);
        break;
    case wire::Header::Xrceth: append<" SRQ=0x{:06x}">(out, packet.xrceth.srq); break;
    case wire::Header::Feth:
        append<" Selectivity={} Placement={}">(out, packet.feth.selectivity, packet.feth.placement);
        break;
    case wire::Header::Reth:
        append<" VA=0x{:016x} R_Key=0x{:08x} DMALen={}">(
            out, packet.reth.virtual_address, packet.reth.rkey.value, packet.reth.dma_length);
        break;
    case wire::Header::AtomicEth: append_atomic(out, d); break;
    case wire::Header::Aeth:
        append<" MSN={}">(out, packet.aeth.msn.value);
        append_syndrome(out, packet.aeth.syndrome);
        break;
    case wire::Header::AtomicAckEth: append<" Original={}">(out, packet.atomic_ack.original); break;
    case wire::Header::ImmDt: append<" Imm=0x{:08x}">(out, packet.imm.value); break;
    case wire::Header::Ieth: append<" Invalidates=0x{:08x}">(out, packet.ieth.rkey.value); break;
    }
}

void append_headers(std::string& out, const Dissection& d) {
    for (wire::HeaderSet left = d.packet.headers; !left.empty(); left = left.without_first())
        append_header(out, d, left.first());
}

void append_reject_reason(std::string& out, const Dissection& d) {
    const auto reason = number<"infiniband.cm.rej.reason">(d);
    if (!reason) return;
    const std::string_view words = decode::cm_reject_reason(*reason);
    append<" Reason={} ({})">(out, *reason, words.empty() ? "unknown" : words);
}

// "SubnAdmGet(PathRecord)", as in the standard and in Wireshark. Unknown values are printed as
// numbers.
void append_datagram(std::string& out, const decode::MadHeader& mad) {
    const std::string_view prefix = decode::mad_class_prefix(mad.management_class);
    const std::string_view method_name = decode::mad_method_name(mad.method);
    append<"MAD: {}">(out, prefix.empty() ? "Reserved" : prefix);
    if (method_name.empty()) {
        append<" Method=0x{:02x}">(out, mad.method);
    } else {
        append<"{}{}({})">(out, prefix.empty() ? " " : "", method_name,
                           decode::mad_attribute_name(mad.management_class, mad.attribute));
    }
    append<" Class=0x{:02x} Attribute=0x{:04x}">(out, mad.management_class, mad.attribute);
}

// "CM: ConnectRequest" as in Wireshark, or the message of another class. False if the packet is not
// a MAD.
bool append_management(std::string& out, const Dissection& d) {
    const auto* layer = d.layers.find(LayerKind::Mad);
    if (!layer || layer->length < decode::kMadHeaderBytes) return false;
    const decode::MadHeader mad = decode::MadHeader::read(d.bytes_of(*layer));
    const decode::CmLayout* message = decode::cm_layout(mad.attribute);
    if (mad.management_class == wire::kCmClass && message != nullptr) {
        append<"CM: {}">(out, message->name);
    } else {
        append_datagram(out, mad);
    }
    append<" TID=0x{:016x}">(out, mad.transaction);
    append_reject_reason(out, d);
    return true;
}

// The packet of IP over InfiniBand that a SEND carries: "IPoIB 10.0.0.1 → 10.0.0.2 UDP 1111 → 53".
void append_ipoib(std::string& out, const Dissection& d) {
    const auto* v4 = d.layers.find(LayerKind::Ipv4);
    const auto* v6 = d.layers.find(LayerKind::Ipv6);
    out += " IPoIB";
    std::uint8_t protocol = 0;
    if (v4 != nullptr) {
        const wire::Ipv4 header = wire::Ipv4::read(d.bytes_of(*v4));
        append<" {} → {}">(out, wire::IpAddress::from_v4(header.source).text(),
                           wire::IpAddress::from_v4(header.destination).text());
        if (header.more_fragments || header.fragment_offset != 0) out += " fragment";
        protocol = header.protocol;
    } else if (v6 != nullptr) {
        const wire::Ipv6 header = wire::Ipv6::read(d.bytes_of(*v6));
        append<" {} → {}">(out, header.source.text(), header.destination.text());
        protocol = header.next_header;
    } else {
        out += " ARP"; // nothing else is found without an IP header
        return;
    }
    const std::string_view name = decode::ip_protocol_name(protocol);
    if (name.empty()) {
        append<" protocol {}">(out, protocol);
    } else {
        append<" {}">(out, name);
    }
    const bool udp = d.layers.has(LayerKind::Udp);
    if (!udp && !d.layers.has(LayerKind::Tcp)) return;
    const auto source = udp ? number<"udp.srcport">(d) : number<"tcp.srcport">(d);
    const auto destination = udp ? number<"udp.dstport">(d) : number<"tcp.dstport">(d);
    if (source && destination) append<" {} → {}">(out, *source, *destination);
}

void append_marks(std::string& out, const Dissection& d) {
    if (d.has_bth && d.packet.bth.fecn) out += " FECN";
    if (d.has_bth && d.packet.bth.becn) out += " BECN";
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
    const wire::OpcodeInfo& info = d.info();
    const wire::Bth& bth = d.packet.bth;
    if (append_management(out, d)) return;
    out += info.title;
    if (info.reserved()) append<" Opcode 0x{:02x}">(out, bth.opcode);
    append<" QP=0x{:06x} PSN={}">(out, bth.dest_qp.value, bth.psn.value());
    append_headers(out, d);
    if (info.carries_payload() && !d.malformed) append<" Len={}">(out, d.payload_bytes());
    if (bth.ack_request) out += " AckReq";
    if (bth.solicited) out += " SE";
    if (d.upper) append_upper_info(out, d);
    if (d.layers.has(LayerKind::Ipoib)) append_ipoib(out, d);
}

// TCP and UDP, if both ports were captured.
void append_ports(std::string& out, const Dissection& d) {
    const bool udp = d.protocol == decode::Protocol::Udp;
    const auto source = udp ? number<"udp.srcport">(d) : number<"tcp.srcport">(d);
    const auto destination = udp ? number<"udp.dstport">(d) : number<"tcp.dstport">(d);
    if (source && destination) append<"{} → {}">(out, *source, *destination);
}

constexpr std::size_t kPfcClasses = 8;

// By class.
std::array<decode::Column, kPfcClasses> pause_times() {
    return {decode::Column::find("macc.cbfc.pause_time.c0").value(),
            decode::Column::find("macc.cbfc.pause_time.c1").value(),
            decode::Column::find("macc.cbfc.pause_time.c2").value(),
            decode::Column::find("macc.cbfc.pause_time.c3").value(),
            decode::Column::find("macc.cbfc.pause_time.c4").value(),
            decode::Column::find("macc.cbfc.pause_time.c5").value(),
            decode::Column::find("macc.cbfc.pause_time.c6").value(),
            decode::Column::find("macc.cbfc.pause_time.c7").value()};
}

// PFC: for each class listed, how long it must pause, in units of 512 bit times.
void append_mac_control(std::string& out, const Dissection& d) {
    if (const auto quanta = number<"macc.pause_time">(d)) {
        append<"PAUSE {}">(out, *quanta);
        return;
    }
    static const std::array<decode::Column, kPfcClasses> kTimes = pause_times();
    const auto enabled = number<"macc.cbfc.enbv">(d);
    if (!enabled || !kTimes.back().first(d)) {
        out += "MAC control";
        return;
    }
    out += "PFC";
    for (std::size_t i = 0; i < kPfcClasses; ++i) {
        if ((*enabled >> i & 1) != 0) append<" C{}={}">(out, i, kTimes[i].first(d)->number);
    }
}

// iWARP: the start-up frames, and a Terminate with its reason.
void append_mpa_start(std::string& out, const Dissection& d) {
    const auto set = [](std::optional<std::uint64_t> flag) { return flag.value_or(0); };
    append<"MPA {} Frame Markers={} CRC={}">(
        out, value<"iwarp_mpa.key.req">(d) ? "Request" : "Reply",
        set(number<"iwarp_mpa.marker_flag">(d)), set(number<"iwarp_mpa.crc_flag">(d)));
    if (set(number<"iwarp_mpa.rej_flag">(d)) != 0) out += " rejected";
}

void append_terminate(std::string& out, wire::Bytes bytes) {
    const auto control = decode::TerminateControl::decode(bytes);
    if (!control) return;
    const std::string_view type_name = decode::terminate_type_name(control->layer_and_type);
    const std::string_view code_name =
        decode::terminate_code_name(control->layer_and_type, control->code);
    append<" Layer={} Type={} Code=0x{:02x}">(out, control->layer(), control->type(),
                                              control->code);
    if (!type_name.empty()) {
        append<" ({}{}{})">(out, type_name, code_name.empty() ? "" : ": ", code_name);
    }
}

std::string_view rdmap_operation(const Dissection& d, const decode::LayerSpan& header) {
    const auto code = number<"iwarp_rdma.opcode">(d, header);
    if (!code) return "RDMAP";
    const std::string_view name = decode::rdmap_opcode_name(*code);
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
        if (layer.kind == LayerKind::MpaStart) append_mpa_start(out, d);
        if (layer.kind == LayerKind::MpaContinued) say("continued PDU");
        if (layer.kind == LayerKind::MpaMore) say("iWARP, not decoded");
        if (layer.kind == LayerKind::RdmapTerminate) append_terminate(out, d.bytes_of(layer));
        if (layer.kind == LayerKind::MpaCrc || layer.kind == LayerKind::MpaCrcUnused) {
            goes_on = layer.length < decode::kMpaCrcBytes;
        }
        if (layer.kind != LayerKind::DdpTagged && layer.kind != LayerKind::DdpUntagged) continue;
        say(rdmap_operation(d, layer));
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
    case decode::Protocol::Icmpv6:
        out += "not decoded";
        if (d.not_followed.stop != decode::Stop::None) out += ": " + d.not_followed.text();
        break;
    case decode::Protocol::InfiniBand:
    case decode::Protocol::RoceV1:
    case decode::Protocol::RoceV2: break;
    }
}

} // namespace

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

void append_info(std::string& out, const Dissection& dissection) {
    if (dissection.transport_packet()) {
        append_transport(out, dissection);
    } else {
        append_other(out, dissection);
    }
    append_marks(out, dissection);
    append_flow_notes(out, dissection);
}

} // namespace veriroce::print
