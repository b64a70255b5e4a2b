// What other packets tell about a packet: its connection, which packets it repeats, answers or
// acknowledges. This room only names and prints it; flow::Follower finds it out.
//
// Packets are named by their number in the capture; 0: none. Times in nanoseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace veriroce::decode {

struct FlowFacts {
    std::uint64_t connection = 0; // counted from 1
    std::string_view pairing;     // how the two QPs were found to belong together; may be empty
    std::optional<std::uint32_t> source_qp;
    std::string_view role;     // "requester", "responder", or empty
    std::string_view kind;     // "new", "retransmission"
    std::uint64_t message = 0; // counted from 1 for each direction of requests; 0: not known

    // Of a request:
    bool retransmission = false;
    bool duplicate = false; // of a response as well
    bool reordered = false;
    bool changed = false;       // a retransmission with other contents
    bool behind = false;        // before the first PSN seen: sent before it, or late
    std::uint64_t again_of = 0; // the packet that carried the PSN before
    std::optional<std::int64_t> again_after_ns; // since that packet
    std::string_view cause;                     // of a retransmission; may be empty
    std::uint32_t gap = 0;                      // PSNs before it that no packet carried
    bool gap_damaged = false;                   // one of them came with a wrong ICRC
    bool gap_at_most = false; // fewer, if a READ of unknown length took some of them
    std::uint32_t jump = 0;   // so many that they were hardly sent

    // Of a response:
    std::uint64_t response_to = 0;          // the latest copy of the request whose PSN it carries
    std::optional<std::int64_t> latency_ns; // since that request, if it was seen once
    std::uint64_t acks_first = 0;
    std::uint64_t acks_last = 0;
    std::uint32_t acks_unseen = 0;  // PSNs that it acknowledges and no packet carried
    bool nothing_new = false;       // an ACK of what had been acknowledged
    bool perhaps_late = false;      // a READ response behind a later one
    bool to_earlier_copy = false;   // or to an earlier copy of that request
    bool damaged = false;           // its request came with a wrong ICRC
    std::uint32_t response_gap = 0; // PSNs of the READ's responses missing before it
    std::uint64_t unanswered = 0;   // a READ or atomic that it passes over
    std::uint32_t completes = 0;    // messages
    std::uint64_t completed_bytes = 0;
    std::optional<std::int64_t> completion_ns; // of the last of them, since its first packet
};

} // namespace veriroce::decode
