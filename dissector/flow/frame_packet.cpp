#include "dissector/flow/frame_packet.hpp"

#include <cassert>

#include "dissector/flow/digest.hpp"

namespace veriroce::flow {
namespace {

bool digested(const Packet& packet) {
    const wire::OpcodeInfo& info = packet.info();
    const bool connected = info.service == wire::Service::Rc || info.service == wire::Service::Uc;
    return connected && info.request() && packet.integrity != Integrity::Bad;
}

} // namespace

void read_packets(std::span<const decode::Dissection> frames, std::span<FramePacket> packets) {
    assert(frames.size() <= packets.size());
    for (std::size_t i = 0; i < frames.size(); ++i) {
        FramePacket& one = packets[i];
        one.packet = {};
        one.there = read_packet(frames[i], one.packet);
        if (one.there && digested(one.packet)) one.packet.digest = digest_of(one.packet);
    }
}

} // namespace veriroce::flow
