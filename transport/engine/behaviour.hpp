// What a device may do in more than one lawful way, as options with names, so that a suite that is
// run against this engine meets every lawful behaviour.
//
// Source: the rules named at each option.
#pragma once

#include <cstdint>

namespace veriroce::engine {

// ACK-02, ACK-03, RSP-11: when a request that arrived in order is acknowledged.
enum class AckPolicy : std::uint8_t {
    EveryRequest,  // each request packet that asks for it, at once
    LastOfMessage, // also at the end of each message that did not ask
    Coalesced,     // one ACK for all requests that are waiting when the engine is polled
};

// REQ-09: where the READ begins that asks again for lost responses.
enum class ReadRestart : std::uint8_t { FirstMissing, WholeRead };

// RDR-06: the first response to a READ request that repeats the tail of an earlier one.
enum class PartialReadReply : std::uint8_t { FirstOrOnly, MiddleOrLast };

// RSP-10: what answers a duplicate SEND or WRITE behind which a READ was executed.
enum class DuplicateAnswer : std::uint8_t { LastAck, ResendReadResponse, LatestPsn };

// BTH-06: a reserved opcode at the expected PSN.
enum class ReservedOpcode : std::uint8_t { Nak, Silent };

// RNR-12, REQ-08: how soon an implied NAK makes the requester repeat a READ or atomic.
enum class ImpliedNak : std::uint8_t { AtOnce, OnTimeout };

// REQ-24, REQ-25: data that answers a request of another kind.
enum class UnexpectedResponse : std::uint8_t { Ignore, BadResponse };

// N-14: the receive that a WRITE with immediate data would have taken, had its key been good.
enum class RefusedImmediate : std::uint8_t { Flushed, AccessError };

struct Behaviour {
    AckPolicy ack_policy = AckPolicy::EveryRequest;
    ReadRestart read_restart = ReadRestart::FirstMissing;
    PartialReadReply partial_read_reply = PartialReadReply::FirstOrOnly;
    DuplicateAnswer duplicate_answer = DuplicateAnswer::LastAck;
    ReservedOpcode reserved_opcode = ReservedOpcode::Nak;
    ImpliedNak implied_nak = ImpliedNak::AtOnce;
    UnexpectedResponse unexpected_response = UnexpectedResponse::Ignore;
    RefusedImmediate refused_immediate = RefusedImmediate::Flushed;
    bool duplicate_without_ack_request_is_acked = true; // RSP-11
    bool credits = false;                               // ACK-10: end-to-end credits, else code 31
    bool obey_credits = false; // REQ-29: as a requester; many devices send and meet RNR instead
    std::uint32_t ack_request_every = 64; // BTH-18: AckReq inside long messages
    // PSNs that a requester has on their way at once; a READ counts all its responses and may
    // always go when nothing else is outstanding (REQ-02, N-36).
    std::uint32_t max_unacked_packets = 1024;
    // The real timeout as a multiple of T in sixteenths: 16 is T, 64 is 4 T (TMO-01).
    std::uint8_t timeout_sixteenths = 24;
};

} // namespace veriroce::engine
