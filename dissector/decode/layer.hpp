// The layers of a frame: which header or piece of data stands where.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <span>
#include <string_view>

#include "dissector/wire/opcode.hpp"

namespace veriroce::decode {

// In the order in which the extended transport headers can follow each other; from Rdeth to Ieth
// the order is that of wire::Header.
enum class LayerKind : std::uint8_t {
    Frame, // the whole of it
    Erf,   // record header of an Endace capture, its extension headers included
    Ethernet,
    ServiceTag, // outer tag of IEEE 802.1ad
    Vlan,
    Sll,
    Sll2,
    MacControl, // the opcode; then Pause or Pfc
    Pause,
    Pfc,
    Mpls, // one label
    Ipv4,
    Ipv6,
    Ipv6Extension,
    Gre,
    Erspan2, // header of version 1, "type II"
    Erspan3, // header of version 2, "type III"
    ErspanPlatform,
    Udp,
    Vxlan,
    Geneve,
    Tcp,
    Lrh, // of native InfiniBand
    Rwh,
    Grh, // of native InfiniBand and RoCE v1
    Bth,
    Rdeth,
    Deth,
    Xrceth,
    Feth,
    Reth,
    AtomicEth,
    Aeth,
    AtomicAckEth,
    ImmDt,
    Ieth,
    Mad, // the common header of a management datagram, 24 bytes
    Sa,  // subnet administration, with the header of RMPP
    PathRecord,
    CmReq, // connection management, without private data
    CmMra,
    CmRej,
    CmRep,
    CmRtu,
    CmDreq,
    CmDrep,
    CmSidrReq,
    CmSidrRep,
    CmLap,
    CmApr,
    IpCm,      // RDMA IP CM: the head of a request's private data
    CmPrivate, // private data of a connection management message
    MadData,   // what follows the common header of any other datagram
    Cnp,       // the reserved bytes of a congestion notification packet
    NvmeCmReq, // private data of CM messages, as NVMe over RDMA has it
    NvmeCmRep,
    NvmeCmRej,
    NvmeCommand,   // of an admin queue, or of a queue that is not known
    NvmeIoCommand, // of an I/O queue
    NvmeFabrics,   // a command of fabrics
    NvmeConnectData,
    NvmeCompletion,
    Iser, // header of an iSCSI control-type PDU
    IserHello,
    IserHelloReply,
    Iscsi, // basic header segment
    SmbDirectRequest,
    SmbDirectResponse,
    SmbDirectData, // the header of a data transfer
    RpcRdma,
    RpcRdmaPadding, // alignment and threshold
    RpcRdmaRead,    // one segment of the read list
    RpcRdmaWrite,   // a write chunk, or the reply chunk, without its segments
    RpcRdmaReply,
    RpcRdmaSegment,
    RpcRdmaEnd, // of a list
    RpcRdmaError,
    Payload, // of a transport packet, without its pad
    Pad,
    Icrc,
    Vcrc,     // of native InfiniBand
    MpaStart, // iWARP: a request or reply of MPA
    Mpa,      // iWARP: length of a framed PDU
    DdpTagged,
    DdpUntagged,
    RdmapRead, // a Read Request of RDMAP
    MpaCrc,
    Data,        // of a protocol that is not taken apart
    Trailer,     // behind a packet: Ethernet padding, frame check sequence
    Unsupported, // a frame of a link type that is not supported
};
inline constexpr std::size_t kLayerKinds = static_cast<std::size_t>(LayerKind::Unsupported) + 1;

struct LayerInfo {
    LayerKind kind = LayerKind::Frame;
    std::string_view name;  // Wireshark's name of the protocol or header: "ip", "infiniband.bth"
    std::string_view title; // for people
};

const LayerInfo& layer_info(LayerKind kind);

// The layer of an extended transport header.
constexpr LayerKind layer_kind_of(wire::Header header) {
    return static_cast<LayerKind>(static_cast<unsigned>(LayerKind::Rdeth) +
                                  static_cast<unsigned>(header));
}

// Where a layer stands in the frame. A frame that was captured in part ends with a layer of fewer
// bytes than the header has.
struct LayerSpan {
    LayerKind kind = LayerKind::Frame;
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
};

// The layers of one frame in the order in which they stand in it.
class Layers {
  public:
    static constexpr std::size_t kCapacity = 96;

    void clear() {
        size_ = 0;
        first_.fill(kNone);
    }
    // The walk is bounded so that there is room (walker.hpp).
    void push(LayerSpan layer) {
        assert(size_ < kCapacity);
        std::uint8_t& first = first_[static_cast<std::size_t>(layer.kind)];
        if (first == kNone) first = static_cast<std::uint8_t>(size_);
        spans_[size_++] = layer;
    }

    // The first layer of this kind gives way to `by`, which lie in its bytes. False if there is no
    // such layer, or no room; then nothing is changed.
    bool replace(LayerKind kind, std::span<const LayerSpan> by);

    [[nodiscard]] bool has(LayerKind kind) const { return index(kind) != kNone; }
    // The first of its kind; nullptr if there is none.
    [[nodiscard]] const LayerSpan* find(LayerKind kind) const {
        return has(kind) ? &spans_[index(kind)] : nullptr;
    }
    [[nodiscard]] const LayerSpan* begin() const { return spans_.data(); }
    [[nodiscard]] const LayerSpan* end() const { return spans_.data() + size_; }
    [[nodiscard]] std::size_t size() const { return size_; }
    // From the first layer of this kind on; empty if there is none.
    [[nodiscard]] std::span<const LayerSpan> from(LayerKind kind) const {
        const std::size_t first = has(kind) ? index(kind) : size_;
        return std::span(spans_).subspan(first, size_ - first);
    }

  private:
    static constexpr std::uint8_t kNone = 0xFF;
    [[nodiscard]] std::uint8_t index(LayerKind kind) const {
        return first_[static_cast<std::size_t>(kind)];
    }

    std::array<LayerSpan, kCapacity> spans_;
    std::array<std::uint8_t, kLayerKinds> first_{};
    std::size_t size_ = 0;
};

} // namespace veriroce::decode
