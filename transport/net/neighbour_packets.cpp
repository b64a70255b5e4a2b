#include "transport/net/neighbour_packets.hpp"

#include <tins/arp.h>
#include <tins/dot1q.h>
#include <tins/ethernetII.h>
#include <tins/exceptions.h>
#include <tins/icmpv6.h>
#include <tins/ipv6.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace veriroce::net {

namespace {

using TinsMac = Tins::HWAddress<6>;

constexpr std::uint8_t kNeighbourHopLimit = 255; // RFC 4861: any other value came through a router

TinsMac to_tins(const wire::MacAddress& mac) {
    std::array<std::uint8_t, 6> bytes{};
    std::memcpy(bytes.data(), mac.bytes.data(), bytes.size());
    return {bytes.data()};
}

wire::MacAddress from_tins(const TinsMac& mac) {
    wire::MacAddress result;
    std::ranges::transform(mac, result.bytes.begin(),
                           [](std::uint8_t byte) { return std::byte{byte}; });
    return result;
}

Tins::IPv4Address to_tins_v4(const wire::IpAddress& address) {
    std::uint32_t in_network_order = 0;
    std::memcpy(&in_network_order, &address.bytes[12], sizeof in_network_order);
    return Tins::IPv4Address(in_network_order);
}

wire::IpAddress from_tins(Tins::IPv4Address address) {
    const std::uint32_t in_network_order = address;
    return wire::IpAddress::from_v4(
        wire::load_u32(std::as_bytes(std::span(&in_network_order, 1)), 0));
}

Tins::IPv6Address to_tins_v6(const wire::IpAddress& address) {
    std::array<std::uint8_t, 16> bytes{};
    std::memcpy(bytes.data(), address.bytes.data(), bytes.size());
    return {bytes.data()};
}

wire::IpAddress from_tins(const Tins::IPv6Address& address) {
    wire::IpAddress result;
    std::ranges::transform(address, result.bytes.begin(),
                           [](std::uint8_t byte) { return std::byte{byte}; });
    return result;
}

// ff02::1:ffXX:XXXX
wire::IpAddress solicited_node(const wire::IpAddress& address) {
    auto group = *wire::IpAddress::parse("ff02::1:ff00:0");
    std::copy_n(&address.bytes[13], 3, &group.bytes[13]);
    return group;
}

wire::MacAddress group_mac(const wire::IpAddress& group) {
    wire::MacAddress mac{{std::byte{0x33}, std::byte{0x33}}};
    std::copy_n(&group.bytes[12], 4, &mac.bytes[2]);
    return mac;
}

std::vector<std::byte> frame_of(const wire::MacAddress& destination, const wire::MacAddress& source,
                                const std::optional<wire::VlanId>& vlan, const Tins::PDU& inner) {
    Tins::EthernetII frame(to_tins(destination), to_tins(source));
    if (vlan) {
        Tins::Dot1Q tag(vlan->id, true);
        tag.priority(vlan->priority);
        frame /= tag;
    }
    frame /= inner;
    const auto bytes = frame.serialize();
    std::vector<std::byte> result(bytes.size());
    std::memcpy(result.data(), bytes.data(), bytes.size());
    return result;
}

Tins::IPv6 discovery_packet(const wire::IpAddress& destination, const wire::IpAddress& source,
                            const Tins::ICMPv6& message) {
    Tins::IPv6 packet(to_tins_v6(destination), to_tins_v6(source));
    packet.hop_limit(kNeighbourHopLimit);
    packet /= message;
    return packet;
}

std::optional<NeighbourMessage> parse_arp(const Tins::ARP& arp) {
    if (arp.opcode() == Tins::ARP::REQUEST) {
        return NeighbourMessage{.kind = NeighbourMessage::Kind::Request,
                                .target = from_tins(arp.target_ip_addr()),
                                .sender = from_tins(arp.sender_ip_addr()),
                                .sender_mac = from_tins(arp.sender_hw_addr())};
    }
    if (arp.opcode() != Tins::ARP::REPLY) return std::nullopt;
    return NeighbourMessage{.kind = NeighbourMessage::Kind::Answer,
                            .target = from_tins(arp.sender_ip_addr()),
                            .target_mac = from_tins(arp.sender_hw_addr())};
}

std::optional<NeighbourMessage> parse_discovery(const Tins::EthernetII& frame, const Tins::IPv6& ip,
                                                const Tins::ICMPv6& message) {
    if (ip.hop_limit() != kNeighbourHopLimit || message.code() != 0) return std::nullopt;
    // Such an address is invalid on the wire, and here it would mean IPv4.
    if (from_tins(message.target_addr()).v4()) return std::nullopt;
    if (message.type() == Tins::ICMPv6::NEIGHBOUR_SOLICIT) {
        const bool says_mac = message.search_option(Tins::ICMPv6::SOURCE_ADDRESS) != nullptr;
        return NeighbourMessage{.kind = NeighbourMessage::Kind::Request,
                                .target = from_tins(message.target_addr()),
                                .sender = from_tins(ip.src_addr()),
                                .sender_mac = from_tins(says_mac ? message.source_link_layer_addr()
                                                                 : frame.src_addr())};
    }
    if (message.type() != Tins::ICMPv6::NEIGHBOUR_ADVERT) return std::nullopt;
    const bool says_mac = message.search_option(Tins::ICMPv6::TARGET_ADDRESS) != nullptr;
    return NeighbourMessage{
        .kind = NeighbourMessage::Kind::Answer,
        .target = from_tins(message.target_addr()),
        .target_mac = from_tins(says_mac ? message.target_link_layer_addr() : frame.src_addr())};
}

std::optional<NeighbourMessage> parse_frame(const Tins::EthernetII& frame) {
    const auto* arp = frame.find_pdu<Tins::ARP>();
    const auto* ip = frame.find_pdu<Tins::IPv6>();
    const auto* discovery = frame.find_pdu<Tins::ICMPv6>();
    std::optional<NeighbourMessage> message;
    if (arp != nullptr)
        message = parse_arp(*arp);
    else if (ip != nullptr && discovery != nullptr)
        message = parse_discovery(frame, *ip, *discovery);
    const auto* tag = frame.find_pdu<Tins::Dot1Q>();
    if (message && tag != nullptr) {
        message->vlan = wire::VlanId{tag->id(), tag->priority()};
    }
    return message;
}

} // namespace

std::optional<NeighbourMessage> parse_neighbour(wire::Bytes frame) {
    std::vector<std::uint8_t> bytes(frame.size());
    std::ranges::transform(frame, bytes.begin(),
                           [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); });
    try {
        return parse_frame(
            Tins::EthernetII(bytes.data(), static_cast<std::uint32_t>(bytes.size())));
    } catch (const Tins::exception_base&) { // libtins' exception for malformed packets
        return std::nullopt;
    }
}

std::vector<std::byte> neighbour_request(const wire::MacAddress& our_mac,
                                         const wire::IpAddress& source,
                                         const wire::IpAddress& target,
                                         const std::optional<wire::VlanId>& vlan) {
    if (target.v4()) {
        Tins::ARP arp(to_tins_v4(target), to_tins_v4(source), TinsMac(), to_tins(our_mac));
        arp.opcode(Tins::ARP::REQUEST);
        wire::MacAddress everybody;
        everybody.bytes.fill(std::byte{0xFF});
        return frame_of(everybody, our_mac, vlan, arp);
    }
    Tins::ICMPv6 solicitation(Tins::ICMPv6::NEIGHBOUR_SOLICIT);
    solicitation.target_addr(to_tins_v6(target));
    solicitation.source_link_layer_addr(to_tins(our_mac));
    return frame_of(solicited_node_mac(target), our_mac, vlan,
                    discovery_packet(solicited_node(target), source, solicitation));
}

std::vector<std::byte> neighbour_answer(const NeighbourMessage& request,
                                        const wire::MacAddress& our_mac) {
    if (request.target.v4()) {
        Tins::ARP arp(to_tins_v4(request.sender), to_tins_v4(request.target),
                      to_tins(request.sender_mac), to_tins(our_mac));
        arp.opcode(Tins::ARP::REPLY);
        return frame_of(request.sender_mac, our_mac, request.vlan, arp);
    }
    // A host without an address is checking for duplicates; it is answered at the all-nodes
    // address.
    const bool probe = request.sender == wire::IpAddress{};
    const auto all_nodes = *wire::IpAddress::parse("ff02::1");
    Tins::ICMPv6 advertisement(Tins::ICMPv6::NEIGHBOUR_ADVERT);
    advertisement.target_addr(to_tins_v6(request.target));
    advertisement.solicited(probe ? 0 : 1);
    advertisement.override(1);
    advertisement.target_link_layer_addr(to_tins(our_mac));
    return frame_of(
        probe ? group_mac(all_nodes) : request.sender_mac, our_mac, request.vlan,
        discovery_packet(probe ? all_nodes : request.sender, request.target, advertisement));
}

wire::MacAddress solicited_node_mac(const wire::IpAddress& address) {
    return group_mac(solicited_node(address));
}

} // namespace veriroce::net
