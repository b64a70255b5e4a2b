// What can be known of packets before the tracker sees them: it takes no state, so any thread can
// prepare it, while their bytes are in its cache.
#pragma once

#include <span>

#include "dissector/decode/dissection.hpp"
#include "dissector/flow/packet.hpp"

namespace veriroce::flow {

struct FramePacket {
    bool there = false; // otherwise packet_of(frame) is empty
    Packet packet;
};

// As many of `packets` as there are frames. Digests that the tracker needs are computed.
void read_packets(std::span<const decode::Dissection> frames, std::span<FramePacket> packets);

} // namespace veriroce::flow
