// Internal: ARP (RFC 826) and IPv6 neighbour discovery (RFC 4861) as plain values; libtins parses
// and builds the frames. No I/O.
#pragma once

#include <optional>
#include <vector>

#include "dissector/wire/frame.hpp"

namespace veriroce::net {

struct NeighbourMessage {
    enum class Kind : std::uint8_t { Request, Answer };
    Kind kind = Kind::Request;
    wire::IpAddress target;      // a request asks for its MAC; an answer gives it
    wire::MacAddress target_mac; // answers only
    wire::IpAddress sender;      // unspecified in a check for duplicates
    wire::MacAddress sender_mac;
    std::optional<wire::VlanId> vlan; // the frame's
};

// Empty if the frame is neither ARP nor neighbour discovery, or is malformed.
std::optional<NeighbourMessage> parse_neighbour(wire::Bytes frame);

// Builds a frame. A request is sent to everybody (ARP) or to the solicited-node group (IPv6).
std::vector<std::byte> neighbour_request(const wire::MacAddress& our_mac,
                                         const wire::IpAddress& source,
                                         const wire::IpAddress& target,
                                         const std::optional<wire::VlanId>& vlan);
std::vector<std::byte> neighbour_answer(const NeighbourMessage& request,
                                        const wire::MacAddress& our_mac);

// The Ethernet group that receives neighbour solicitations for an IPv6 address (RFC 2464).
wire::MacAddress solicited_node_mac(const wire::IpAddress& address);

} // namespace veriroce::net
