// What a device may do in more than one lawful way, as options with names, so that a suite that is
// run against this engine meets every lawful behaviour. The defaults are what most devices do.
//
// Each option and README.md name the rule that leaves the choice open. Behaviour that a rule
// forbids is not an option but a planted defect (conformance/mutants).
//
// Source: the rules named at each option.
#pragma once

#include <cstdint>

#include "transport/engine/congestion.hpp"

namespace veriroce::engine {

// --- acknowledges

// ACK-01, ACK-02, ACK-03: when a request that arrived in order is acknowledged.
enum class AckPolicy : std::uint8_t {
    EveryRequest,  // each request packet that asks for it, at once
    LastOfMessage, // also at the end of each message that did not ask
    Coalesced,     // one ACK for all requests that are waiting when the engine is polled
    EveryPacket,   // each packet, whether it asks or not
    EveryNth,      // one for each `ack_every` packets that ask, or when `ack_delay` is over
    Delayed,       // one when `ack_delay` is over (TMO-07, N-27)
};

// RSP-10: the answer to a duplicate SEND or WRITE after which a READ was executed.
enum class DuplicateAnswer : std::uint8_t { LastAck, ResendReadResponse, LatestPsn };

// N-01: the MSN of the first of several READ responses, which may count the READ or not.
enum class FirstMsn : std::uint8_t { New, Old };

// RDR-03: the MSN of READ responses and atomic acknowledges: as it was when the request was carried
// out, or when they are sent.
enum class ResponseMsn : std::uint8_t { OfRequest, Current };

// --- READs and atomics at the responder

// RDR-06: the first response to a READ request that repeats the tail of an earlier one.
enum class PartialReadReply : std::uint8_t { FirstOrOnly, MiddleOrLast };

// RDR-07: a duplicate READ that names other memory than the original, which it may use.
enum class DuplicateRead : std::uint8_t { OriginalOnly, Revalidated };

// ATM-05: a duplicate atomic with other operands. It is never carried out.
enum class OtherAtomic : std::uint8_t { Silent, SavedAnswer };

// RDR-09, RNR-03: a READ or atomic more than max_dest_rd_atomic. Where that is 0 it is always NAKed
// (RDR-10).
enum class ExcessRead : std::uint8_t { NakInvalidRequest, Rnr, Silent };

// RDR-13: what takes the place of a response whose key became invalid. The QP ends in any case.
enum class LostKey : std::uint8_t { NakRemoteAccess, NakRemoteOperational, Silent };

// --- faults at the responder

// BTH-06: a reserved opcode at the expected PSN.
enum class ReservedOpcode : std::uint8_t { Nak, Silent };

// BTH-12: a pad count larger than the payload.
enum class ExcessPad : std::uint8_t { Nak, Silent };

// ATM-07: a READ request or an atomic with payload.
enum class StrayPayload : std::uint8_t { Nak, Silent, Ignored };

// KEY-10, ATM-03: which of two faults of one request is told: the key is looked at last, or before
// receives and lengths.
enum class FaultOrder : std::uint8_t { KeysLast, KeysFirst };

// KEY-06: whether a WRITE's whole range is asked for at its first packet, or each packet's part.
enum class WriteRange : std::uint8_t { AtFirst, EachPacket };

// LEN-04: where a WRITE that brings more than it announced is NAKed. Nothing of it is written.
enum class WriteExcess : std::uint8_t { AtOnce, AtLast };

// LEN-05: the NAK of a length above 2^31.
enum class OversizeNak : std::uint8_t { InvalidRequest, RemoteAccess };

// N-14: the receive that a WRITE with immediate data would have taken, had its key been good.
enum class RefusedImmediate : std::uint8_t { Flushed, AccessError };

// KEY-14, KEY-06: what memory holds of a request that is refused because it does not fit: nothing
// of its packet, or as much as fits into the receive or the region.
enum class RefusedData : std::uint8_t { NotWritten, AsFits };

// N-16: which receive of a shared queue a message takes; the verbs promise no order.
enum class SharedReceive : std::uint8_t { Oldest, Newest };

// RNR-05: a request that is tried again before the time was over that its RNR NAK asked for.
enum class EarlyResend : std::uint8_t { NakAgain, Silent };

// --- the requester

// REQ-09: where the READ begins that asks again for lost responses.
enum class ReadRestart : std::uint8_t { FirstMissing, WholeRead };

// RNR-12, REQ-08: how soon an implied NAK makes the requester repeat a READ or atomic.
enum class ImpliedNak : std::uint8_t { AtOnce, OnTimeout };

// RNR-13: what is sent first after an RNR wait: everything, or only the NAKed message.
enum class AfterRnr : std::uint8_t { WholeWindow, OneMessage };

// REQ-02, REQ-11, TMO-06: what is sent again after a loss: everything, or one packet, and the next
// when that is acknowledged.
enum class AfterLoss : std::uint8_t { WholeWindow, OnePacket };

// TMO-06: where a timeout begins again: at the oldest unacknowledged packet, or at the first packet
// of its message.
enum class TimeoutRestart : std::uint8_t { OldestPacket, Message };

// REQ-15: a second sequence NAK while nothing was sent since the first.
enum class RepeatedNak : std::uint8_t { Ignored, Restarts };

// REQ-21: a READ response of the wrong length.
enum class BadReadLength : std::uint8_t { Error, Dropped };

// REQ-23..25: a READ response out of its place, data for a request that wants none.
enum class UnexpectedResponse : std::uint8_t { Ignore, BadResponse };

// REQ-20: an ACK for the PSN of a READ or atomic, which it does not answer.
enum class AcknowledgedRead : std::uint8_t { Ignored, Retried };

// STA-06: which requests are carried out in SQD: those that had begun, or all that were posted.
enum class Drain : std::uint8_t { Begun, Posted };

// --- datagrams and paths

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
    // The choices that every connection meets
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

    // Acknowledges
    std::uint32_t ack_every = 8;                              // AckPolicy::EveryNth
    wire::Duration ack_delay = std::chrono::microseconds(10); // EveryNth and Delayed
    bool duplicate_rearms_nak = false; // RSP-03: a gap after a duplicate is NAKed again
    FirstMsn first_msn = FirstMsn::New;
    ResponseMsn response_msn = ResponseMsn::OfRequest;
    bool unsolicited_credits = false; // ACK-11: an ACK says that there are receives again

    // READs and atomics at the responder
    DuplicateRead duplicate_read = DuplicateRead::OriginalOnly;
    OtherAtomic other_atomic = OtherAtomic::Silent;
    bool duplicate_resends_later = false; // all later READs and atomics, too (N-38)
    std::uint8_t remembered_extra = 0;    // RDR-08, ATM-06: more than max_dest_rd_atomic
    ExcessRead excess_read = ExcessRead::NakInvalidRequest;
    LostKey lost_key = LostKey::NakRemoteAccess;

    // Faults at the responder
    ExcessPad excess_pad = ExcessPad::Nak;
    StrayPayload stray_payload = StrayPayload::Nak;
    FaultOrder fault_order = FaultOrder::KeysLast;
    WriteRange write_range = WriteRange::AtFirst;
    WriteExcess write_excess = WriteExcess::AtOnce;
    OversizeNak oversize_nak = OversizeNak::InvalidRequest;
    RefusedData refused_data = RefusedData::NotWritten;
    SharedReceive shared_receive = SharedReceive::Oldest;
    EarlyResend early_resend = EarlyResend::NakAgain;
    wire::Duration shortest_rnr_wait{0}; // RNR-07: the timer code says this at least

    // The requester
    AfterRnr after_rnr = AfterRnr::WholeWindow;
    AfterLoss after_loss = AfterLoss::WholeWindow;
    TimeoutRestart timeout_restart = TimeoutRestart::OldestPacket;
    RepeatedNak repeated_nak = RepeatedNak::Ignored;
    BadReadLength bad_read_length = BadReadLength::Error;
    AcknowledgedRead acknowledged_read = AcknowledgedRead::Ignored;
    Drain drain = Drain::Begun;
    bool timeout_grows = false; // TMO-01, TMO-08: each further one is twice as long
    // TMO-08: the first timeout, doubled at each further one until it is T; these resends use up
    // none of retry_cnt. 0: T from the first on.
    wire::Duration adaptive_timeout{0};
    wire::Duration fixed_timeout{0};       // instead of T, unless T is infinite; 0: T counts
    std::uint8_t timeout_floor = 0;        // TMO-05: smaller codes act as this one
    std::uint8_t rnr_wait_sixteenths = 16; // RNR-08: 16 is the time that was asked for

    // Datagrams, paths, congestion
    UdOversize ud_oversize = UdOversize::Complete;
    SourcePort source_port = SourcePort::FlowLabel;
    PkeyMatch pkey_match = PkeyMatch::Membership;
    bool vlan_checked = true; // N-05: foreign VLANs are dropped
    Congestion congestion;    // CA17-44..46
};

} // namespace veriroce::engine
