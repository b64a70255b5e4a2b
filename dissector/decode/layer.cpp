#include "dissector/decode/layer.hpp"

#include <algorithm>

namespace veriroce::decode {
namespace {

using enum LayerKind;

constexpr std::array<LayerInfo, kLayerKinds> kLayers{{
    {Frame, "frame", "Frame"},
    {Erf, "erf", "Extensible Record Format"},
    {Ethernet, "eth", "Ethernet II"},
    {ServiceTag, "ieee8021ad", "IEEE 802.1ad Service Tag"},
    {Vlan, "vlan", "802.1Q Virtual LAN"},
    {Sll, "sll", "Linux cooked capture v1"},
    {Sll2, "sll", "Linux cooked capture v2"},
    {Null, "null", "Null/Loopback"},
    {Ppp, "ppp", "Point-to-Point Protocol"},
    {Chdlc, "chdlc", "Cisco HDLC"},
    {Llc, "llc", "Logical-Link Control"},
    {VnTag, "vntag", "VN-Tag"},
    {ETag, "etag", "802.1BR E-Tag"},
    {CmdTag, "cmd", "Cisco MetaData"},
    {HsrTag, "hsr", "High-availability Seamless Redundancy"},
    {Pppoe, "pppoes", "PPP-over-Ethernet Session"},
    {Nsh, "nsh", "Network Service Header"},
    {MacControl, "macc", "MAC Control"},
    {Pause, "macc.pause", "PAUSE (IEEE 802.3x)"},
    {Pfc, "macc.cbfc", "PFC - Priority-based Flow Control"},
    {Mpls, "mpls", "MultiProtocol Label Switching Header"},
    {Ipv4, "ip", "Internet Protocol Version 4"},
    {Ipv6, "ipv6", "Internet Protocol Version 6"},
    {Ipv6Extension, "ipv6.ext", "IPv6 Extension Header"},
    {Authentication, "ah", "Authentication Header"},
    {Gre, "gre", "Generic Routing Encapsulation"},
    {Erspan2, "erspan", "Encapsulated Remote Switch Packet ANalysis, type II"},
    {Erspan3, "erspan", "Encapsulated Remote Switch Packet ANalysis, type III"},
    {ErspanPlatform, "erspan.platform", "ERSPAN platform specific header"},
    {Udp, "udp", "User Datagram Protocol"},
    {Vxlan, "vxlan", "Virtual eXtensible Local Area Network"},
    {VxlanGpe, "vxlan_gpe", "Virtual eXtensible Local Area Network (GPE)"},
    {Geneve, "geneve", "Generic Network Virtualization Encapsulation"},
    {Gtp, "gtp", "GPRS Tunneling Protocol"},
    {GtpExtension, "gtp.ext_hdr", "GTP Extension Header"},
    {Tcp, "tcp", "Transmission Control Protocol"},
    {Lrh, "infiniband.lrh", "LRH - Local Route Header"},
    {Rwh, "infiniband.rwh", "RWH - Raw Header"},
    {Grh, "infiniband.grh", "GRH - Global Route Header"},
    {Bth, "infiniband.bth", "BTH - Base Transport Header"},
#define VERIROCE_LAYER_INFO(type, member, name, layer, title) {type, layer, name " - " title},
    VERIROCE_EXTENDED_HEADERS(VERIROCE_LAYER_INFO)
#undef VERIROCE_LAYER_INFO
        {Mad, "infiniband.mad", "MAD Header - Common Management Datagram"},
    {Sa, "infiniband.sa", "SA Header - Subnet Administration"},
    {PathRecord, "infiniband.pathrecord", "PathRecord"},
    {CmReq, "infiniband.cm.req", "CM ConnectRequest (REQ)"},
    {CmMra, "roce.cm.mra", "CM MsgRcptAck (MRA)"},
    {CmRej, "infiniband.cm.rej", "CM ConnectReject (REJ)"},
    {CmRep, "infiniband.cm.rep", "CM ConnectReply (REP)"},
    {CmRtu, "infiniband.cm.rtu", "CM ReadyToUse (RTU)"},
    {CmDreq, "infiniband.cm.dreq", "CM DisconnectRequest (DREQ)"},
    {CmDrep, "infiniband.cm.drsp", "CM DisconnectReply (DREP)"},
    {CmSidrReq, "roce.cm.sidr_req", "CM ServiceIDResReq (SIDR_REQ)"},
    {CmSidrRep, "roce.cm.sidr_rep", "CM ServiceIDResReqResp (SIDR_REP)"},
    {CmLap, "roce.cm.lap", "CM LoadAlternatePath (LAP)"},
    {CmApr, "roce.cm.apr", "CM AlternatePathResponse (APR)"},
    {IpCm, "infiniband.cm.req.ip_cm", "RDMA IP CM Private Data"},
    {CmPrivate, "roce.cm.private", "CM Private Data"},
    {MadData, "infiniband.mad.data", "MAD Data"},
    {Cnp, "roce.cnp", "CNP - Congestion Notification Packet"},
    {NvmeCmReq, "nvme-rdma", "NVMe over RDMA, Private Data of the Request"},
    {NvmeCmRep, "nvme-rdma", "NVMe over RDMA, Private Data of the Reply"},
    {NvmeCmRej, "nvme-rdma", "NVMe over RDMA, Private Data of the Reject"},
    {NvmeCommand, "nvme", "NVMe Admin Command"},
    {NvmeIoCommand, "nvme", "NVMe I/O Command"},
    {NvmeAnyCommand, "nvme", "NVMe Command of an Unknown Queue"},
    {NvmeFabrics, "nvme.fabrics.cmd", "NVMe Fabrics Command"},
    {NvmeConnectData, "nvme.fabrics.cmd.connect.data", "NVMe Connect Data"},
    {NvmeCompletion, "nvme", "NVMe Completion"},
    {Iser, "iser", "iSER"},
    {IserHello, "iser", "iSER Hello"},
    {IserHelloReply, "iser", "iSER HelloReply"},
    {Iscsi, "iscsi", "iSCSI Basic Header Segment"},
    {SmbDirectRequest, "smb_direct", "SMB Direct Negotiate Request"},
    {SmbDirectResponse, "smb_direct", "SMB Direct Negotiate Response"},
    {SmbDirectData, "smb_direct", "SMB Direct Data Transfer"},
    {RpcRdma, "rpcordma", "RPC over RDMA"},
    {RpcRdmaPadding, "rpcordma", "RPC over RDMA, Alignment"},
    {RpcRdmaRead, "rpcordma", "RPC over RDMA, Read Segment"},
    {RpcRdmaWrite, "rpcordma", "RPC over RDMA, Write Chunk"},
    {RpcRdmaReply, "rpcordma", "RPC over RDMA, Reply Chunk"},
    {RpcRdmaSegment, "rpcordma", "RPC over RDMA, Segment"},
    {RpcRdmaEnd, "rpcordma", "RPC over RDMA, End of a List"},
    {RpcRdmaError, "rpcordma", "RPC over RDMA, Error"},
    {Ipoib, "infiniband.ipoib", "IP over InfiniBand"},
    {Payload, "data", "Payload"},
    {Pad, "roce.pad", "Pad"},
    {Icrc, "infiniband.invariant.crc", "ICRC - Invariant CRC"},
    {Vcrc, "infiniband.variant.crc", "VCRC - Variant CRC"},
    {MpaStart, "iwarp_mpa.req_rep", "iWARP MPA Request or Reply"},
    {MpaPrivate, "iwarp_mpa.privatedata", "iWARP MPA Private Data"},
    {MpaContinued, "iwarp_mpa.continued", "iWARP MPA Framed PDU of an Earlier Segment, continued"},
    {Mpa, "iwarp_mpa", "iWARP MPA Framed PDU"},
    {DdpTagged, "iwarp_ddp.tagged", "iWARP DDP (tagged) and RDMAP"},
    {DdpUntagged, "iwarp_ddp.untagged", "iWARP DDP (untagged) and RDMAP"},
    {RdmapRead, "iwarp_rdma.rr", "iWARP RDMAP Read Request"},
    {RdmapTerminate, "iwarp_rdma.terminate", "iWARP RDMAP Terminate"},
    {MpaCrc, "iwarp_mpa.crc_check", "iWARP MPA CRC"},
    {MpaCrcUnused, "iwarp_mpa.crc", "iWARP MPA CRC, not in use"},
    {MpaMore, "iwarp_mpa.more", "iWARP, not decoded"},
    {Data, "data", "Data"},
    {Trailer, "eth.trailer", "Trailer"},
    {Flow, "roce.flow", "Connection"},
    {Unsupported, "roce.unsupported", "Unsupported link type"},
}};

constexpr bool in_order() {
    for (std::size_t i = 0; i < kLayers.size(); ++i) {
        if (static_cast<std::size_t>(kLayers[i].kind) != i) return false;
    }
    return true;
}
static_assert(in_order());
static_assert(layer_kind_of(wire::Header::Ieth) == Ieth &&
              layer_kind_of(wire::Layer::Ieth) == Ieth);

} // namespace

const LayerInfo& layer_info(LayerKind kind) {
    return kLayers[static_cast<std::size_t>(kind)];
}

bool Layers::replace(LayerKind kind, std::span<const LayerSpan> by) {
    if (!has(kind) || size_ - 1 + by.size() > kCapacity) return false;
    const std::array<LayerSpan, kCapacity> before = spans_;
    const std::size_t count = size_;
    const auto place = static_cast<std::size_t>(first(kind) - begin());
    clear();
    const auto put = [this](const LayerSpan& layer) {
        push(layer.kind, layer.offset, layer.length);
    };
    std::for_each_n(before.begin(), place, put);
    std::ranges::for_each(by, put);
    std::for_each_n(before.begin() + place + 1, count - place - 1, put);
    return true;
}

} // namespace veriroce::decode
