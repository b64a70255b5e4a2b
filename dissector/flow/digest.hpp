// A digest of what a retransmission must repeat (REQ-31): the extended headers and the payload, not
// AckReq, MigReq or anything outside; and of plain bytes.
#pragma once

#include "dissector/flow/packet.hpp"

namespace veriroce::flow {

// 0 if the capture does not hold the whole packet; never 0 otherwise.
std::uint64_t digest_of(const Packet& packet);
std::uint64_t digest_of_bytes(wire::Bytes bytes);

} // namespace veriroce::flow
