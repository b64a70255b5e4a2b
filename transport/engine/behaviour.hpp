// What a device may do in more than one lawful way, as options with names, so that a suite that is
// run against this engine meets every lawful behaviour.
//
// Source: the rules named at each option.
#pragma once

#include <cstdint>

#include "transport/engine/congestion.hpp"

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

// C10-93.1.1, EXT-05: a datagram larger than the port's MTU is not sent. By the rule it completes
// all the same; devices are seen that report it.
enum class UdOversize : std::uint8_t { Complete, LengthError };

// ENC-02: the UDP source port of a QP whose address vector names none. Both give one port for a
// QP's life out of the upper quarter; the first folds the flow label, or the two QPNs where there
// is none, as Linux' rdma_get_udp_sport does.
enum class SourcePort : std::uint8_t { FlowLabel, QpnHash };

// BTH-07: which P_Keys match: by membership, as the rule says, or only equal ones.
enum class PkeyMatch : std::uint8_t { Membership, Exact };

struct Behaviour {
    AckPolicy ack_policy = AckPolicy::EveryRequest;
    ReadRestart read_restart = ReadRestart::FirstMissing;
    PartialReadReply partial_read_reply = PartialReadReply::FirstOrOnly;
    DuplicateAnswer duplicate_answer = DuplicateAnswer::LastAck;
    ReservedOpcode reserved_opcode = ReservedOpcode::Nak;
    ImpliedNak implied_nak = ImpliedNak::AtOnce;
    bool duplicate_without_ack_request_is_acked = true; // RSP-11
    bool credits = false;                               // ACK-10: end-to-end credits, else code 31
    std::uint32_t ack_request_every = 64;               // BTH-18: AckReq inside long messages
    // PSNs that a requester has on their way at once; a READ counts all its responses and may
    // always go when nothing else is outstanding (REQ-02, N-36).
    std::uint32_t max_unacked_packets = 1024;
    // The real timeout as a multiple of T in sixteenths: 16 is T, 64 is 4 T (TMO-01).
    std::uint8_t timeout_sixteenths = 24;
    SourcePort source_port = SourcePort::FlowLabel;
    PkeyMatch pkey_match = PkeyMatch::Membership;
    bool vlan_checked = true; // N-05: foreign VLANs are dropped
    UdOversize ud_oversize = UdOversize::Complete;
    Congestion congestion; // CA17-44..46
};

} // namespace veriroce::engine
