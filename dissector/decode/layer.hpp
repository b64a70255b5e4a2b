// The layers of a frame: which header or piece of data is where.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <span>
#include <string_view>

#include "dissector/wire/layer.hpp"

namespace veriroce::decode {

// The extended transport headers, between Bth and Mad, are those of wire::Header.
enum class LayerKind : std::uint8_t {
    Frame, // the whole of it
    Erf,   // record header of an Endace capture, its extension headers included
    Ethernet,
    ServiceTag, // outer tag of IEEE 802.1ad
    Vlan,
    Sll,
    Sll2,
    Null, // the address family in front of a packet: loopback of BSD
    Ppp,
    Chdlc,
    Llc,        // IEEE 802.2, with SNAP if it follows
    VnTag,      // of Cisco's fabric extenders
    ETag,       // IEEE 802.1BR
    CmdTag,     // Cisco MetaData
    HsrTag,     // IEC 62439-3
    Pppoe,      // RFC 2516, of a session; then Ppp
    Nsh,        // RFC 8300
    MacControl, // the opcode; then Pause or Pfc
    Pause,
    Pfc,
    Mpls, // one label
    Ipv4,
    Ipv6,
    Ipv6Extension,
    Authentication, // RFC 4302, behind an IPv4 header; behind an IPv6 one it is an extension
    Gre,
    Erspan2, // header of version 1, "type II"
    Erspan3, // header of version 2, "type III"
    ErspanPlatform,
    Udp,
    Vxlan,
    VxlanGpe,
    Geneve,
    Gtp, // of user data (3GPP TS 29.281)
    GtpExtension,
    Tcp,
    Lrh, // of native InfiniBand
    Rwh,
    Grh, // of native InfiniBand and RoCE v1
    Bth,
    VERIROCE_EXTENDED_HEADERS(VERIROCE_HEADER_TYPE) //
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
    IpCm,      // RDMA IP CM: the head of the private data of a request, or a SIDR request
    CmPrivate, // private data of a connection management message
    MadData,   // what follows the common header of any other datagram
    Cnp,       // the reserved bytes of a congestion notification packet
    NvmeCmReq, // private data of CM messages, as NVMe over RDMA has it
    NvmeCmRep,
    NvmeCmRej,
    NvmeCommand,    // of an admin queue
    NvmeIoCommand,  // of an I/O queue
    NvmeAnyCommand, // of a queue that is not known: it may be either
    NvmeFabrics,    // a command of fabrics
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
    Ipoib,   // the type in front of a packet of IP over InfiniBand
    Payload, // of a transport packet, without its pad
    Pad,
    Icrc,
    Vcrc,     // of native InfiniBand
    MpaStart, // iWARP: a request or reply of MPA
    MpaPrivate,
    MpaContinued, // iWARP: of a framed PDU that begins in an earlier segment
    Mpa,          // iWARP: length of a framed PDU
    DdpTagged,
    DdpUntagged,
    RdmapRead,      // a Read Request of RDMAP
    RdmapTerminate, // a Terminate message, with the headers that it sends back
    MpaCrc,
    MpaCrcUnused, // of a connection that agreed on none
    MpaMore,      // iWARP that is not taken apart
    Data,         // of a protocol that is not taken apart
    Trailer,      // after a packet: Ethernet padding, frame check sequence
    Flow,         // no bytes: what other packets tell about this one (flow_facts.hpp)
    Unsupported,  // a frame of a link type that is not supported
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
    return static_cast<LayerKind>(static_cast<unsigned>(LayerKind::Bth) + 1 +
                                  static_cast<unsigned>(header));
}

// The layer in which the table of field positions counts.
constexpr LayerKind layer_kind_of(wire::Layer layer) {
    switch (layer) {
    case wire::Layer::Ethernet: return LayerKind::Ethernet;
    case wire::Layer::Vlan: return LayerKind::Vlan;
    case wire::Layer::Ipv4: return LayerKind::Ipv4;
    case wire::Layer::Ipv6: return LayerKind::Ipv6;
    case wire::Layer::Udp: return LayerKind::Udp;
    case wire::Layer::Bth: return LayerKind::Bth;
#define VERIROCE_LAYER_CASE(type, ...)                                                             \
    case wire::Layer::type: return LayerKind::type;
        VERIROCE_EXTENDED_HEADERS(VERIROCE_LAYER_CASE)
#undef VERIROCE_LAYER_CASE
    case wire::Layer::Body: return LayerKind::Payload;
    case wire::Layer::Icrc: return LayerKind::Icrc;
    }
    return LayerKind::Data;
}

// Where a layer is in the frame. A frame that was captured in part ends with a layer of fewer
// bytes than the header has.
struct LayerSpan {
    LayerKind kind = LayerKind::Frame;
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
};

// The layers of one frame in the order of their bytes. There are few, so that looking
// for one is quick; most that are asked for are not there, which a bit says.
class Layers {
  public:
    static constexpr std::size_t kCapacity = 160;

    void clear() {
        size_ = 0;
        kinds_ = {};
    }
    // The first layers of many frames, for all at once.
    struct Few;
    void begin_with(const Few& few, std::uint32_t frame_bytes);
    // The walk is bounded so that there is room (walker.hpp). The parts are stored one by one: a
    // LayerSpan that is put together and then copied is stored in bytes and read in words, for
    // which a processor waits.
    void push(LayerKind kind, std::uint32_t offset, std::uint32_t length) {
        assert(size_ < kCapacity);
        kinds_[word(kind)] |= bit(kind);
        LayerSpan& layer = spans_[size_++];
        layer.kind = kind;
        layer.offset = offset;
        layer.length = length;
    }

    // Replaces the first layer of this kind by `by`, which divide its bytes. False if there is no
    // such layer, or no room; then nothing is changed.
    bool replace(LayerKind kind, std::span<const LayerSpan> by);

    [[nodiscard]] bool has(LayerKind kind) const { return (kinds_[word(kind)] & bit(kind)) != 0; }
    // Whether there is a layer of any of these kinds.
    template <LayerKind... Any>
    [[nodiscard]] bool has_any() const {
        constexpr Kinds kAny = [] {
            Kinds any{};
            ((any[word(Any)] |= bit(Any)), ...);
            return any;
        }();
        Word found = 0;
        for (std::size_t i = 0; i < kAny.size(); ++i)
            found |= kinds_[i] & kAny[i];
        return found != 0;
    }
    // The first of its kind; nullptr if there is none.
    [[nodiscard]] const LayerSpan* find(LayerKind kind) const {
        return has(kind) ? first(kind) : nullptr;
    }
    [[nodiscard]] const LayerSpan* begin() const { return spans_.data(); }
    [[nodiscard]] const LayerSpan* end() const { return spans_.data() + size_; }
    [[nodiscard]] std::size_t size() const { return size_; }
    // From the first layer of this kind on; empty if there is none.
    [[nodiscard]] std::span<const LayerSpan> from(LayerKind kind) const {
        return {has(kind) ? first(kind) : end(), end()};
    }

  private:
    using Word = std::uint64_t;
    static constexpr std::size_t kWordBits = 64;
    using Kinds = std::array<Word, (kLayerKinds + kWordBits - 1) / kWordBits>;
    static constexpr std::size_t word(LayerKind kind) {
        return static_cast<std::size_t>(kind) / kWordBits;
    }
    static constexpr Word bit(LayerKind kind) {
        return Word{1} << static_cast<std::size_t>(kind) % kWordBits;
    }
    // Of a kind that is there.
    [[nodiscard]] const LayerSpan* first(LayerKind kind) const {
        const LayerSpan* layer = begin();
        while (layer->kind != kind)
            ++layer;
        return layer;
    }

    std::array<LayerSpan, kCapacity> spans_;
    Kinds kinds_{}; // that are there
    std::size_t size_ = 0;
};

struct Layers::Few {
    static constexpr std::size_t kMost = 6;
    std::array<LayerSpan, kMost> spans;
    Kinds kinds{};
    std::size_t size = 0;

    constexpr void push(const LayerSpan& layer) {
        kinds[word(layer.kind)] |= bit(layer.kind);
        spans[size++] = layer;
    }
};

inline void Layers::begin_with(const Few& few, std::uint32_t frame_bytes) {
    std::copy_n(few.spans.begin(), Few::kMost, spans_.begin());
    spans_[0].length = frame_bytes;
    kinds_ = few.kinds;
    size_ = few.size;
}

} // namespace veriroce::decode
