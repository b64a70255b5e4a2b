// Rows of the field table: management datagrams.
#include <algorithm>

#include "dissector/decode/field_rows.hpp"
#include "dissector/decode/mad.hpp"
#include "dissector/wire/management.hpp"

namespace veriroce::decode::rows {
namespace {

using enum LayerKind;

using Computed = std::optional<Value>;

// From the datagram's first byte, or from the end of its common header, to its end, whatever layers
// it was taken apart into.
Computed datagram(const Dissection& d, std::uint32_t from) {
    const auto* icrc = d.layers.find(LayerKind::Icrc);
    const auto size = static_cast<std::uint32_t>(d.frame.bytes.size());
    const std::uint32_t end = icrc ? icrc->offset : size;
    return Value{.number = 0, .bytes = d.frame.bytes.subspan(from, end - from), .text = {}};
}
Computed mad_rest(const Dissection& d, const LayerSpan& layer) {
    return datagram(d, layer.offset);
}
Computed mad_data(const Dissection& d, const LayerSpan& layer) {
    if (layer.length < kMadHeaderBytes) return std::nullopt;
    return datagram(d, layer.offset + layer.length);
}

std::string_view class_text(std::uint64_t value) {
    return mad_class_name(static_cast<std::uint8_t>(value));
}
std::string_view method_text(std::uint64_t value) {
    return mad_method_name(static_cast<std::uint8_t>(value));
}
Computed cm_message(const Dissection& d, const LayerSpan& layer) {
    const wire::Bytes header = d.bytes_of(layer);
    if (header.size() < kMadHeaderBytes) return std::nullopt;
    const MadHeader mad = MadHeader::read(header);
    if (mad.management_class != wire::kCmClass) return std::nullopt;
    const CmLayout* layout = cm_layout(mad.attribute);
    if (layout == nullptr) return std::nullopt;
    return text(layout->name);
}

Computed attribute_name(const Dissection& d, const LayerSpan& layer) {
    const wire::Bytes header = d.bytes_of(layer);
    if (header.size() < kMadHeaderBytes) return std::nullopt;
    const MadHeader mad = MadHeader::read(header);
    const std::string_view name = mad_attribute_name(mad.management_class, mad.attribute);
    if (name.empty()) return std::nullopt;
    return text(name);
}

// What the two last words of RMPP's header are depends on its type.
enum class Rmpp : std::uint8_t { Other, Data, Ack };
template <std::size_t At, Rmpp... Types>
Computed rmpp_word(const Dissection& d, const LayerSpan& layer) {
    const wire::Bytes header = d.bytes_of(layer);
    if (header.size() < At + 4) return std::nullopt;
    const unsigned type = wire::load_u8(header, 1);
    const Rmpp found = type == 1 ? Rmpp::Data : type == 2 ? Rmpp::Ack : Rmpp::Other;
    if (((found != Types) && ...)) return std::nullopt;
    return number(wire::load_u32(header, At));
}
template <std::size_t At, Rmpp... Types>
constexpr FieldRow rmpp_row(std::string_view name, std::string_view title) {
    return with_digits(
        standing(computed(name, title, Sa, Format::Hex, rmpp_word<At, Types...>), At * 8, 32), 8);
}

std::string_view rmpp_type(std::uint64_t type) {
    constexpr std::array<std::string_view, 5> kTypes{"not RMPP", "DATA", "ACK", "STOP", "ABORT"};
    return type < kTypes.size() ? kTypes[type] : std::string_view{};
}
std::string_view rmpp_flags(std::uint64_t flags) {
    constexpr std::array<std::string_view, 8> kFlags{
        "",     "Active",       "First",       "Active, First",
        "Last", "Active, Last", "First, Last", "Active, First, Last"};
    return kFlags[flags & 7];
}
std::string_view rmpp_status(std::uint64_t status) {
    switch (status) {
    case 0: return "Normal";
    case 1: return "Resources Exhausted";
    case 118: return "Total Time Too Long";
    case 119: return "Inconsistent Last and PayloadLength";
    case 120: return "Inconsistent First and SegmentNumber";
    case 121: return "Bad RMPPType";
    case 122: return "NewWindowLast Too Small";
    case 123: return "SegmentNumber Too Big";
    case 124: return "Illegal Status";
    case 125: return "Unsupported Version";
    case 126: return "Too Many Retries";
    case 127: return "Unspecified";
    default: return {};
    }
}

// Private data that was decoded is in layers of its own, which have the fields of all of
// it (field_nvme.cpp).
bool has_private_layers(const Dissection& d) {
    return d.layers.has(NvmeCmReq) || d.layers.has(NvmeCmRep) || d.layers.has(NvmeCmRej);
}
Computed all_private(const Dissection& d, const LayerSpan& layer) {
    if (has_private_layers(d)) return std::nullopt;
    return Value{.number = 0, .bytes = d.bytes_of(layer), .text = {}};
}

// Private data under the name that Wireshark gives it in this message.
template <LayerKind Message>
Computed private_of(const Dissection& d, const LayerSpan& layer) {
    if (!d.layers.has(Message) || has_private_layers(d)) return std::nullopt;
    if (Message == CmReq && d.layers.has(IpCm)) return std::nullopt;
    return Value{.number = 0, .bytes = d.bytes_of(layer), .text = {}};
}
template <LayerKind Message>
constexpr FieldRow private_data(std::string_view name) {
    return computed(name, "Private Data", CmPrivate, Format::Bytes, private_of<Message>,
                    Shown::OnlyByName);
}

// A GID that holds an IPv4 address, and one that does not, have different names in Wireshark.
bool maps_ipv4(wire::Bytes gid) {
    for (std::size_t i = 0; i < 10; ++i) {
        if (gid[i] != std::byte{0}) return false;
    }
    return wire::load_u16(gid, 10) == 0xFFFF;
}
template <std::size_t At, bool V4>
Computed gid(const Dissection& d, const LayerSpan& layer) {
    const wire::Bytes bytes = d.bytes_of(layer);
    if (bytes.size() < At + 16) return std::nullopt;
    const wire::Bytes value = bytes.subspan(At, 16);
    if (maps_ipv4(value) != V4) return std::nullopt;
    return Value{.number = 0, .bytes = V4 ? value.last(4) : value, .text = {}};
}
template <std::size_t At>
constexpr FieldRow gid_row(std::string_view name, std::string_view title, LayerKind layer) {
    return standing(computed(name, title, layer, Format::Ipv6, gid<At, false>), At * 8, 128);
}
template <std::size_t At>
constexpr FieldRow gid_v4_row(std::string_view name, std::string_view title, LayerKind layer) {
    return standing(computed(name, title, layer, Format::Ipv4, gid<At, true>), At * 8, 128);
}

// The addresses of the IP CM service: IPv4 in the last four bytes of sixteen.
template <std::size_t At, unsigned Version>
Computed ip_cm_address(const Dissection& d, const LayerSpan& layer) {
    const wire::Bytes bytes = d.bytes_of(layer);
    if (bytes.size() < At + 16 || wire::load_u8(bytes, 1) >> 4 != Version) return std::nullopt;
    const wire::Bytes value = bytes.subspan(At, 16);
    return Value{.number = 0, .bytes = Version == 4 ? value.last(4) : value, .text = {}};
}

constexpr std::array kMadRows{
    computed("infiniband.mad", "MAD", Mad, Format::Bytes, mad_rest, Shown::OnlyByName),
    hex("infiniband.mad.baseversion", "Base Version", Mad, 0, 8, 2),
    hex("infiniband.mad.mgmtclass", "Management Class", Mad, 8, 8, 2, class_text),
    hex("infiniband.mad.classversion", "Class Version", Mad, 16, 8, 2),
    hex("infiniband.mad.method", "Method", Mad, 24, 8, 2, method_text),
    hex("infiniband.mad.status", "Status", Mad, 32, 16, 4),
    hex("infiniband.mad.classspecific", "Class Specific", Mad, 48, 16, 4),
    hex("infiniband.mad.transactionid", "Transaction ID", Mad, 64, 64, 16),
    hex("infiniband.mad.attributeid", "Attribute ID", Mad, 128, 16, 4),
    computed("roce.mad.attribute", "Attribute", Mad, Format::Text, attribute_name),
    computed("roce.cm.message", "CM Message", Mad, Format::Text, cm_message),
    hex("infiniband.mad.attributemodifier", "Attribute Modifier", Mad, 160, 32, 8),
    computed("infiniband.mad.data", "MAD Data", Mad, Format::Bytes, mad_data, Shown::OnlyByName),

    hex("infiniband.rmpp.rmppversion", "RMPP Version", Sa, 0, 8, 2),
    hex("infiniband.rmpp.rmpptype", "RMPP Type", Sa, 8, 8, 2, rmpp_type),
    hex("infiniband.rmpp.rresptime", "Response Time", Sa, 16, 5, 2),
    hex("infiniband.rmpp.rmppflags", "RMPP Flags", Sa, 21, 3, 2, rmpp_flags),
    hex("infiniband.rmpp.rmppstatus", "RMPP Status", Sa, 24, 8, 2, rmpp_status),
    rmpp_row<4, Rmpp::Other>("infiniband.rmpp.data1", "Data 1"),
    rmpp_row<8, Rmpp::Other>("infiniband.rmpp.data2", "Data 2"),
    rmpp_row<4, Rmpp::Data, Rmpp::Ack>("infiniband.rmpp.segmentnumber", "Segment Number"),
    rmpp_row<8, Rmpp::Data>("infiniband.rmpp.payloadlength", "Payload Length"),
    rmpp_row<8, Rmpp::Ack>("infiniband.rmpp.newwindowlast", "New Window Last"),
    hex("infiniband.sa.smkey", "SM_Key", Sa, 96, 64, 16),
    hex("infiniband.sa.attributeoffset", "Attribute Offset", Sa, 160, 16, 4),
    hex("infiniband.sa.componentmask", "Component Mask", Sa, 192, 64, 16),

    bytes("infiniband.pathrecord.dgid", "DGID", PathRecord, 64, 128, Format::Ipv6),
    bytes("infiniband.pathrecord.sgid", "SGID", PathRecord, 192, 128, Format::Ipv6),
    hex("infiniband.pathrecord.dlid", "DLID", PathRecord, 320, 16, 4),
    hex("infiniband.pathrecord.slid", "SLID", PathRecord, 336, 16, 4),
    hex("infiniband.pathrecord.rawtraffic", "Raw Traffic", PathRecord, 352, 1, 2),
    hex("infiniband.pathrecord.flowlabel", "Flow Label", PathRecord, 356, 20, 6),
    hex("infiniband.pathrecord.hoplimit", "Hop Limit", PathRecord, 376, 8, 2),
    hex("infiniband.pathrecord.tclass", "Traffic Class", PathRecord, 384, 8, 2),
    hex("infiniband.pathrecord.reversible", "Reversible", PathRecord, 392, 1, 2),
    hex("infiniband.pathrecord.numbpath", "Number of Paths", PathRecord, 393, 7, 2),
    hex("infiniband.pathrecord.p_key", "P_Key", PathRecord, 400, 16, 4),
    hex("infiniband.pathrecord.sl", "SL", PathRecord, 428, 4, 4),
    hex("infiniband.pathrecord.mtuselector", "MTU Selector", PathRecord, 432, 2, 2),
    hex("infiniband.pathrecord.mtu", "MTU", PathRecord, 434, 6, 2),
    hex("infiniband.pathrecord.rateselector", "Rate Selector", PathRecord, 440, 2, 2),
    hex("infiniband.pathrecord.rate", "Rate", PathRecord, 442, 6, 2),
    hex("infiniband.pathrecord.packetlifetimeselector", "Packet Life Time Selector", PathRecord,
        448, 2, 2),
    hex("infiniband.pathrecord.packetlifetime", "Packet Life Time", PathRecord, 450, 6, 2),
    hex("infiniband.pathrecord.preference", "Preference", PathRecord, 456, 8, 2),
};

constexpr std::array kCmRows{
    hex("infiniband.cm.req", "Local Communication ID", CmReq, 0, 32, 8),
    hex("infiniband.cm.req.serviceid", "Service ID", CmReq, 64, 64, 16),
    hex("infiniband.cm.req.localcaguid", "Local CA GUID", CmReq, 128, 64, 16),
    hex("infiniband.cm.req.localqkey", "Local Q_Key", CmReq, 224, 32, 8),
    hex("infiniband.cm.req.localqpn", "Local QPN", CmReq, 256, 24, 6),
    hex("infiniband.cm.req.responderres", "Responder Resources", CmReq, 280, 8, 2),
    hex("infiniband.cm.req.localeecn", "Local EECN", CmReq, 288, 24, 6),
    hex("infiniband.cm.req.initdepth", "Initiator Depth", CmReq, 312, 8, 2),
    hex("infiniband.cm.req.remoteeecn", "Remote EECN", CmReq, 320, 24, 6),
    hex("infiniband.cm.req.remoteresptout", "Remote CM Response Timeout", CmReq, 344, 5, 2),
    hex("infiniband.cm.req.transpsvctype", "Transport Service Type", CmReq, 349, 2, 2),
    hex("infiniband.cm.req.e2eflowctrl", "End-to-End Flow Control", CmReq, 351, 1, 2),
    hex("infiniband.cm.req.startpsn", "Starting PSN", CmReq, 352, 24, 6),
    hex("infiniband.cm.req.localresptout", "Local CM Response Timeout", CmReq, 376, 5, 2),
    hex("infiniband.cm.req.retrcount", "Retry Count", CmReq, 381, 3, 2),
    hex("infiniband.cm.req.pkey", "Partition Key", CmReq, 384, 16, 4),
    hex("infiniband.cm.req.pppmtu", "Path MTU", CmReq, 400, 4, 2),
    hex("infiniband.cm.req.rdcexist", "RDC Exists", CmReq, 404, 1, 2),
    hex("infiniband.cm.req.rnrretrcount", "RNR Retry Count", CmReq, 405, 3, 2),
    hex("infiniband.cm.req.maxcmretr", "Max CM Retries", CmReq, 408, 4, 2),
    hex("infiniband.cm.req.srq", "SRQ", CmReq, 412, 1, 2),
    hex("infiniband.cm.req.ext_transport", "Extended Transport", CmReq, 413, 3, 2),
    dec("infiniband.cm.req.prim_locallid", "Primary Local LID", CmReq, 416, 16),
    dec("infiniband.cm.req.prim_remotelid", "Primary Remote LID", CmReq, 432, 16),
    gid_row<56>("infiniband.cm.req.prim_localgid", "Primary Local GID", CmReq),
    gid_v4_row<56>("infiniband.cm.req.prim_localgid_ipv4", "Primary Local GID", CmReq),
    gid_row<72>("infiniband.cm.req.prim_remotegid", "Primary Remote GID", CmReq),
    gid_v4_row<72>("infiniband.cm.req.prim_remotegid_ipv4", "Primary Remote GID", CmReq),
    hex("infiniband.cm.req.prim_flowlabel", "Primary Flow Label", CmReq, 704, 20, 8),
    hex("infiniband.cm.req.prim_pktrate", "Primary Packet Rate", CmReq, 730, 6, 8),
    hex("infiniband.cm.req.prim_tfcclass", "Primary Traffic Class", CmReq, 736, 8, 2),
    hex("infiniband.cm.req.prim_hoplim", "Primary Hop Limit", CmReq, 744, 8, 2),
    hex("infiniband.cm.req.prim_sl", "Primary SL", CmReq, 752, 4, 2),
    hex("infiniband.cm.req.prim_subnetlocal", "Primary Subnet Local", CmReq, 756, 1, 2),
    hex("infiniband.cm.req.prim_localacktout", "Primary Local ACK Timeout", CmReq, 760, 5, 2),
    dec("infiniband.cm.req.alt_locallid", "Alternate Local LID", CmReq, 768, 16),
    dec("infiniband.cm.req.alt_remotelid", "Alternate Remote LID", CmReq, 784, 16),
    bytes("infiniband.cm.req.alt_localgid", "Alternate Local GID", CmReq, 800, 128),
    bytes("infiniband.cm.req.alt_remotegid", "Alternate Remote GID", CmReq, 928, 128),
    hex("infiniband.cm.req.alt_flowlabel", "Alternate Flow Label", CmReq, 1056, 20, 8),
    hex("infiniband.cm.req.alt_pktrate", "Alternate Packet Rate", CmReq, 1082, 6, 8),
    hex("infiniband.cm.req.alt_tfcclass", "Alternate Traffic Class", CmReq, 1088, 8, 2),
    hex("infiniband.cm.req.alt_hoplim", "Alternate Hop Limit", CmReq, 1096, 8, 2),
    hex("infiniband.cm.req.alt_sl", "Alternate SL", CmReq, 1104, 4, 2),
    hex("infiniband.cm.req.alt_subnetlocal", "Alternate Subnet Local", CmReq, 1108, 1, 2),
    hex("infiniband.cm.req.alt_localacktout", "Alternate Local ACK Timeout", CmReq, 1112, 5, 2),

    hex("roce.cm.mra.localcommid", "Local Communication ID", CmMra, 0, 32, 8),
    hex("roce.cm.mra.remotecommid", "Remote Communication ID", CmMra, 32, 32, 8),
    dec("roce.cm.mra.msgmraed", "Message Acknowledged", CmMra, 64, 2, cm_message_answered),
    dec("roce.cm.mra.servicetimeout", "Service Timeout", CmMra, 72, 5),

    hex("infiniband.cm.rej.localcommid", "Local Communication ID", CmRej, 0, 32, 8),
    hex("infiniband.cm.rej.remotecommid", "Remote Communication ID", CmRej, 32, 32, 8),
    hex("infiniband.cm.rej.msgrej", "Message Rejected", CmRej, 64, 2, 2, cm_message_answered),
    hex("infiniband.cm.rej.rejinfolen", "Reject Info Length", CmRej, 72, 7, 2),
    hex("infiniband.cm.rej.reason", "Reason", CmRej, 80, 16, 4, cm_reject_reason),
    bytes("infiniband.cm.rej.ari", "Additional Reject Information", CmRej, 96, 576),

    hex("infiniband.cm.rep", "Local Communication ID", CmRep, 0, 32, 8),
    hex("infiniband.cm.rep.remotecommid", "Remote Communication ID", CmRep, 32, 32, 8),
    hex("infiniband.cm.rep.localqkey", "Local Q_Key", CmRep, 64, 32, 8),
    hex("infiniband.cm.rep.localqpn", "Local QPN", CmRep, 96, 24, 6),
    hex("infiniband.cm.rep.localeecn", "Local EE Context Number", CmRep, 128, 24, 6),
    hex("infiniband.cm.rep.startpsn", "Starting PSN", CmRep, 160, 24, 6),
    hex("infiniband.cm.rep.respres", "Responder Resources", CmRep, 192, 8, 2),
    hex("infiniband.cm.rep.initdepth", "Initiator Depth", CmRep, 200, 8, 2),
    hex("infiniband.cm.rep.tgtackdelay", "Target ACK Delay", CmRep, 208, 5, 2),
    hex("infiniband.cm.rep.failoveracc", "Failover Accepted", CmRep, 213, 2, 2),
    hex("infiniband.cm.rep.e2eflowctrl", "End-To-End Flow Control", CmRep, 215, 1, 2),
    hex("infiniband.cm.rep.rnrretrcount", "RNR Retry Count", CmRep, 216, 3, 2),
    hex("infiniband.cm.rep.srq", "SRQ", CmRep, 219, 1, 2),
    hex("infiniband.cm.rep.localcaguid", "Local CA GUID", CmRep, 224, 64, 16),

    hex("infiniband.cm.rtu.localcommid", "Local Communication ID", CmRtu, 0, 32, 8),
    hex("infiniband.cm.rtu.remotecommid", "Remote Communication ID", CmRtu, 32, 32, 8),

    hex("infiniband.cm.dreq.localcommid", "Local Communication ID", CmDreq, 0, 32, 8),
    hex("infiniband.cm.dreq.remotecommid", "Remote Communication ID", CmDreq, 32, 32, 8),
    hex("infiniband.cm.req.remoteqpneecn", "Remote QPN/EECN", CmDreq, 64, 24, 6),

    hex("infiniband.cm.drsp.localcommid", "Local Communication ID", CmDrep, 0, 32, 8),
    hex("infiniband.cm.drsp.remotecommid", "Remote Communication ID", CmDrep, 32, 32, 8),

    hex("roce.cm.sidr_req.requestid", "Request ID", CmSidrReq, 0, 32, 8),
    hex("roce.cm.sidr_req.pkey", "Partition Key", CmSidrReq, 32, 16, 4),
    hex("roce.cm.sidr_req.serviceid", "Service ID", CmSidrReq, 64, 64, 16),

    hex("roce.cm.sidr_rep.requestid", "Request ID", CmSidrRep, 0, 32, 8),
    dec("roce.cm.sidr_rep.status", "Status", CmSidrRep, 32, 8, cm_sidr_status),
    dec("roce.cm.sidr_rep.infolen", "Additional Information Length", CmSidrRep, 40, 8),
    hex("roce.cm.sidr_rep.qpn", "QPN", CmSidrRep, 64, 24, 6),
    hex("roce.cm.sidr_rep.serviceid", "Service ID", CmSidrRep, 96, 64, 16),
    hex("roce.cm.sidr_rep.qkey", "Q_Key", CmSidrRep, 160, 32, 8),
    bytes("roce.cm.sidr_rep.info", "Additional Information", CmSidrRep, 192, 576),

    hex("roce.cm.lap.localcommid", "Local Communication ID", CmLap, 0, 32, 8),
    hex("roce.cm.lap.remotecommid", "Remote Communication ID", CmLap, 32, 32, 8),
    hex("roce.cm.lap.remoteqpn", "Remote QPN", CmLap, 96, 24, 6),
    dec("roce.cm.lap.remoteresptout", "Remote CM Response Timeout", CmLap, 120, 5),
    dec("roce.cm.lap.alt_locallid", "Alternate Local LID", CmLap, 160, 16),
    dec("roce.cm.lap.alt_remotelid", "Alternate Remote LID", CmLap, 176, 16),
    bytes("roce.cm.lap.alt_localgid", "Alternate Local GID", CmLap, 192, 128, Format::Ipv6),
    bytes("roce.cm.lap.alt_remotegid", "Alternate Remote GID", CmLap, 320, 128, Format::Ipv6),
    hex("roce.cm.lap.alt_flowlabel", "Alternate Flow Label", CmLap, 448, 20, 5),
    hex("roce.cm.lap.alt_tfcclass", "Alternate Traffic Class", CmLap, 472, 8, 2),
    hex("roce.cm.lap.alt_hoplim", "Alternate Hop Limit", CmLap, 480, 8, 2),
    dec("roce.cm.lap.alt_pktrate", "Alternate Packet Rate", CmLap, 490, 6),
    dec("roce.cm.lap.alt_sl", "Alternate SL", CmLap, 496, 4),
    dec("roce.cm.lap.alt_subnetlocal", "Alternate Subnet Local", CmLap, 500, 1),
    dec("roce.cm.lap.alt_localacktout", "Alternate Local ACK Timeout", CmLap, 504, 5),

    hex("roce.cm.apr.localcommid", "Local Communication ID", CmApr, 0, 32, 8),
    hex("roce.cm.apr.remotecommid", "Remote Communication ID", CmApr, 32, 32, 8),
    dec("roce.cm.apr.infolen", "Additional Information Length", CmApr, 64, 8),
    dec("roce.cm.apr.status", "Status", CmApr, 72, 8, cm_alternate_path_status),
    bytes("roce.cm.apr.info", "Additional Information", CmApr, 96, 576),

    computed("infiniband.cm.req.ip_cm", "IP CM Request Message", IpCm, Format::Bytes, mad_rest,
             Shown::OnlyByName),
    hex("infiniband.cm.req.ip_cm.majv", "Major Version", IpCm, 0, 4, 2),
    hex("infiniband.cm.req.ip_cm.minv", "Minor Version", IpCm, 4, 4, 2),
    hex("infiniband.cm.req.ip_cm.ipv", "IP Version", IpCm, 8, 4, 2),
    hex("infiniband.cm.req.ip_cm.sport", "Source Port", IpCm, 16, 16, 4),
    standing(computed("infiniband.cm.req.ip_cm.sip4", "Source IP", IpCm, Format::Ipv4,
                      ip_cm_address<4, 4>),
             32, 128),
    standing(computed("infiniband.cm.req.ip_cm.sip6", "Source IP", IpCm, Format::Ipv6,
                      ip_cm_address<4, 6>),
             32, 128),
    standing(computed("infiniband.cm.req.ip_cm.dip4", "Destination IP", IpCm, Format::Ipv4,
                      ip_cm_address<20, 4>),
             160, 128),
    standing(computed("infiniband.cm.req.ip_cm.dip6", "Destination IP", IpCm, Format::Ipv6,
                      ip_cm_address<20, 6>),
             160, 128),

    computed("roce.cm.private", "Private Data", CmPrivate, Format::Bytes, all_private,
             Shown::OnlyByName),
    private_data<IpCm>("infiniband.cm.req.ip_cm.private"),
    private_data<CmReq>("infiniband.cm.req.private"),
    private_data<CmRep>("infiniband.cm.rep.private"),
    private_data<CmRtu>("infiniband.cm.rtu.private"),
    private_data<CmRej>("infiniband.cm.rej.private"),
    private_data<CmDreq>("infiniband.cm.dreq.private"),
    private_data<CmDrep>("infiniband.cm.drsp.private"),
};

constexpr auto kManagementRows = [] {
    std::array<FieldRow, kMadRows.size() + kCmRows.size()> rows;
    auto next = std::ranges::copy(kMadRows, rows.begin()).out;
    std::ranges::copy(kCmRows, next);
    return rows;
}();

} // namespace

std::span<const FieldRow> management() {
    return kManagementRows;
}

} // namespace veriroce::decode::rows
