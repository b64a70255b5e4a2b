// Tells each packet what the tracker knows about it: fills in decode::FlowFacts and adds the layer
// Flow, whose fields (roce.flow.*) every output and filter reads.
//
//   Follower follower;                    // one for a capture: packet numbers are its own
//   decode::dissect_frame(options, dissection);
//   follower.follow(dissection);
//
// Only RoCEv2 packets with whole headers that belong to a connection get the layer. Nothing is said
// that a capture with missing packets could make untrue: a PSN that was not seen is called missing,
// not lost. ICRCs should have been verified; an unchecked packet is believed.
#pragma once

#include "dissector/decode/flow_facts.hpp"
#include "dissector/flow/tracker.hpp"

namespace veriroce::flow {

class Follower {
  public:
    explicit Follower(Limits limits = {}) : tracker_(limits) {}

    // What is known about the packet; null if it is part of no connection. Valid until the next
    // call.
    const decode::FlowFacts* follow(const Packet& packet);
    // The same for a frame, which gets the layer.
    void follow(decode::Dissection& dissection);

    // The connection of the last packet; null if it has none.
    [[nodiscard]] const Connection* connection() const {
        return index_ ? &tracker_.connection(*index_) : nullptr;
    }
    [[nodiscard]] std::uint64_t evicted() const { return tracker_.evicted(); }

  private:
    void describe(const Packet& packet, const Classified& seen);
    void describe_request(const Packet& packet, const Classified& seen);
    void describe_response(const Packet& packet, const Classified& seen);
    void describe_repetition(const Packet& packet, const Answered& answered);

    Tracker tracker_;
    decode::FlowFacts facts_;
    std::optional<std::uint32_t> index_;
};

} // namespace veriroce::flow
