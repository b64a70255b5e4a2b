// Connection management messages, as far as they say which two QPs form a connection and with which
// attributes. A management datagram to QP 1 carries one.
//
// Errors: what is no such message, or is cut short, is nothing. Source: rules CM-02, CM-03, N-30;
// the layout is that of Linux's cm_msgs.h.
#pragma once

#include <cstdint>
#include <optional>

#include "dissector/flow/packet.hpp"

namespace veriroce::flow {

enum class CmKind : std::uint8_t { Request, Reply, Reject, DisconnectRequest, Other };

struct CmMessage {
    CmKind kind = CmKind::Other;
    std::uint32_t local_id = 0;  // of the sender
    std::uint32_t remote_id = 0; // of the receiver, as the sender was told; 0 in a request
    // Request and Reply:
    wire::Qpn qpn;
    wire::Psn first_psn; // at which the receiver of this message begins to send
    std::uint8_t responder_resources = 0;
    std::uint8_t initiator_depth = 0;
    // Request:
    std::optional<wire::Mtu> mtu;
    // Reject:
    std::uint16_t reason = 0;
};

// A request that waits for its reply.
struct ConnectRequest {
    wire::IpAddress source;
    wire::IpAddress destination;
    CmMessage message;
};

std::optional<CmMessage> cm_message_of(const Packet& packet);

} // namespace veriroce::flow
