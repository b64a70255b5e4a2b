// Connection management messages: the fields that tell which two QPs form a connection, and with
// which attributes. Each message is a management datagram to QP 1.
//
// Errors: other datagrams and truncated messages return nothing. Source: rules CM-02, CM-03, N-30;
// the layout follows Linux's cm_msgs.h.
#pragma once

#include <cstdint>
#include <optional>

#include "dissector/flow/packet.hpp"

namespace veriroce::flow {

enum class CmKind : std::uint8_t { Request, Reply, Reject, DisconnectRequest, Other };

struct CmMessage {
    CmKind kind = CmKind::Other;
    std::uint64_t transaction = 0;
    std::uint32_t local_id = 0;  // the sender's
    std::uint32_t remote_id = 0; // the receiver's, as the sender knows it; 0 in a request
    // In a Request or Reply:
    wire::Qpn qpn;
    wire::Psn first_psn; // the PSN at which the receiver of this message starts to send
    std::uint8_t responder_resources = 0;
    std::uint8_t initiator_depth = 0;
    // In a Request:
    std::uint64_t service_id = 0;
    std::optional<wire::Mtu> mtu;
    std::optional<std::uint8_t> ack_timeout; // the sender's local ACK timeout code (TMO-01)
    std::uint8_t retry_count = 0;
    std::uint8_t rnr_retry_count = 0; // 7: without end
    wire::Pkey pkey;
    std::uint8_t most_repeats = 0;   // of a REQ, REP or DREQ (CM-01)
    std::uint8_t remote_timeout = 0; // code of how long the sender waits for an answer
    std::uint8_t local_timeout = 0;  // of how long the receiver is to wait for one
    // In a Reject:
    std::uint16_t reason = 0;
    // In a DisconnectRequest:
    wire::Qpn remote_qpn; // the receiver's
};

// A request that has not been answered yet.
struct ConnectRequest {
    wire::IpAddress source;
    wire::IpAddress destination;
    CmMessage message;
};

std::optional<CmMessage> cm_message_of(const Packet& packet);
// Of a frame that holds all of the message up to its private data.
std::optional<CmMessage> cm_message_of(const decode::Dissection& dissection);

} // namespace veriroce::flow
