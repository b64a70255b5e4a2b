// The option --decode-as as it is written: WHERE:PROTOCOL. Internal to this room.
//
//   qp=0x12:nvme      packets to QP 0x12, whatever its address: name both ends of a connection
//   qp=0x12:nvme_io   the same, and its queue is for I/O; nvme_admin: it is the admin queue
//   port=5000:iser    connections whose CM request asks for this port (RDMA IP CM, TCP)
//   port=4420:none    not taken apart, although the port is well known
//
// PROTOCOL is nvme, iser, smb_direct, rpcordma (as display filters call them) or none. Of plain
// nvme commands have no names until the capture shows the Connect command of the queue. Numbers are
// decimal or begin with 0x.
#pragma once

#include <expected>
#include <span>
#include <string>

#include "dissector/flow/upper_connections.hpp"

namespace veriroce::dissect {

// The error is a sentence that names what was written.
std::expected<flow::DecodeAs, std::string> decode_as(std::span<const std::string> written);

} // namespace veriroce::dissect
