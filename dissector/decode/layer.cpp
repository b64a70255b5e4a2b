#include "dissector/decode/layer.hpp"

namespace veriroce::decode {
namespace {

using enum LayerKind;

constexpr std::array<LayerInfo, kLayerKinds> kLayers{{
    {Frame, "frame", "Frame"},
    {Ethernet, "eth", "Ethernet II"},
    {Vlan, "vlan", "802.1Q Virtual LAN"},
    {Sll, "sll", "Linux cooked capture v1"},
    {Sll2, "sll", "Linux cooked capture v2"},
    {Ipv4, "ip", "Internet Protocol Version 4"},
    {Ipv6, "ipv6", "Internet Protocol Version 6"},
    {Ipv6Extension, "ipv6.ext", "IPv6 Extension Header"},
    {Udp, "udp", "User Datagram Protocol"},
    {Bth, "infiniband.bth", "BTH - Base Transport Header"},
    {Rdeth, "infiniband.rdeth", "RDETH - Reliable Datagram Extended Transport Header"},
    {Deth, "infiniband.deth", "DETH - Datagram Extended Transport Header"},
    {Xrceth, "roce.xrceth", "XRCETH - Extended Reliable Connection Transport Header"},
    {Feth, "roce.feth", "FETH - Flush Extended Transport Header"},
    {Reth, "infiniband.reth", "RETH - RDMA Extended Transport Header"},
    {AtomicEth, "infiniband.atomiceth", "AtomicETH - Atomic Extended Transport Header"},
    {Aeth, "infiniband.aeth", "AETH - ACK Extended Transport Header"},
    {AtomicAckEth, "infiniband.atomicacketh",
     "AtomicAckETH - Atomic ACK Extended Transport Header"},
    {ImmDt, "infiniband.immdt", "ImmDt - Immediate Data"},
    {Ieth, "infiniband.ieth", "IETH - Invalidate Extended Transport Header"},
    {Mad, "infiniband.mad", "MAD Header - Common Management Datagram"},
    {MadData, "infiniband.mad.data", "MAD Data"},
    {Cnp, "roce.cnp", "CNP - Congestion Notification Packet"},
    {Payload, "data", "Payload"},
    {Pad, "roce.pad", "Pad"},
    {Icrc, "infiniband.invariant.crc", "ICRC - Invariant CRC"},
    {Data, "data", "Data"},
    {Trailer, "eth.trailer", "Trailer"},
    {Unsupported, "roce.unsupported", "Unsupported link type"},
}};

constexpr bool in_order() {
    for (std::size_t i = 0; i < kLayers.size(); ++i) {
        if (static_cast<std::size_t>(kLayers[i].kind) != i) return false;
    }
    return true;
}
static_assert(in_order());
static_assert(layer_kind_of(wire::Header::Ieth) == Ieth);

} // namespace

const LayerInfo& layer_info(LayerKind kind) {
    return kLayers[static_cast<std::size_t>(kind)];
}

} // namespace veriroce::decode
