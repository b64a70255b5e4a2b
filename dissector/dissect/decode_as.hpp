// Parses the option --decode-as: WHERE:PROTOCOL. Internal to this room.
//
//   qp=0x12:nvme      packets to QP 0x12 at any address; name both ends of a connection
//   qp=0x12:nvme_io   the same, and the queue is an I/O queue (nvme_admin: the admin queue)
//   port=5000:iser    connections whose CM request asks for this port (RDMA IP CM, TCP)
//   port=4420:none    do not decode, although the port is well known
//
// PROTOCOL is nvme, iser, smb_direct, rpcordma (as in display filters) or none. With plain nvme,
// commands are named only after the queue's Connect command was captured. Numbers are decimal or
// begin with 0x.
#pragma once

#include <expected>
#include <span>
#include <string>

#include "dissector/flow/upper_connections.hpp"

namespace veriroce::dissect {

// The error is a message that quotes the faulty text.
std::expected<flow::DecodeAs, std::string> decode_as(std::span<const std::string> written);

} // namespace veriroce::dissect
