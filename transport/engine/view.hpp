// The input of the engine's checks: plain values of a QP and of the packet. The QP itself
// is made of Connection, Inbound and Outbound, so that a view copies nothing.
//
// PSNs count packets, all lengths are bytes.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "dissector/wire/packet.hpp"
#include "transport/engine/behaviour.hpp"
#include "transport/engine/credits.hpp"
#include "transport/engine/memory.hpp"
#include "transport/engine/verbs.hpp"

namespace veriroce::engine {

// The values that only verbs change.
struct Connection {
    QpType type = QpType::Rc;
    QpState state = QpState::Reset;
    PdId pd;
    wire::Qpn qpn;
    wire::Qpn peer;
    wire::Mtu mtu = wire::Mtu::B1024;
    wire::Pkey pkey = wire::kDefaultPkey;
    wire::Qkey qkey;
    Access access;
    AddressVector address;
    wire::Psn initial_rq_psn;
    wire::Psn initial_sq_psn;
    std::uint8_t timeout = 0;
    std::uint8_t retry_count = 0;
    std::uint8_t rnr_retry = 0;
    std::uint8_t min_rnr_timer = 0;
    std::uint8_t max_rd_atomic = 0;
    std::uint8_t max_dest_rd_atomic = 0;
    bool mig_req = true;                     // BTH-15
    MigState migration = MigState::Migrated; // which a QP without a second path is in
    std::optional<AlternatePath> alternate;
    bool sqd_async_notify = false;
    bool flow_control = false; // REQ-29, ACK-10; or as the device's behaviour says
};

// The NAK after which the responder waits (RSP-03, RNR-04).
enum class NakState : std::uint8_t { None, Sequence, Rnr };

// A message of several packets that has begun and not ended.
enum class OpenMessage : std::uint8_t { None, Send, Write };

// The responder's half of a QP, as far as checks look at it.
struct Inbound {
    wire::Psn expected_psn;
    wire::Msn msn;
    NakState nak = NakState::None;
    OpenMessage open = OpenMessage::None;
    bool receive_taken = false;  // the open SEND has its receive WQE
    std::uint64_t received = 0;  // bytes of the open message that came
    std::uint64_t announced = 0; // bytes that the RETH of an open WRITE announced
    std::uint64_t address = 0;   // of that RETH
    wire::Rkey rkey;             // of that RETH
    wire::Instant rnr_until;     // the end of the wait that the last RNR NAK asked for
    std::uint32_t replies = 0;   // READs and atomics that are not wholly answered
};

// The requester's half of a QP, as far as checks look at it.
struct Outbound {
    wire::Psn next_psn;    // of the next new packet
    wire::Psn unacked_psn; // the oldest that is not acknowledged
    wire::Msn msn;         // the newest that the peer told
    std::uint32_t outstanding_rd_atomic = 0;
    std::uint8_t retries = 0;       // used since the last progress
    std::uint8_t rnr_retries = 0;   // used since the last progress
    std::uint8_t early_resends = 0; // of an adaptive timer, since the last progress
    Credits credits;
};

// A READ, atomic, FLUSH or ATOMIC WRITE that the responder remembers, to answer its duplicate
// (RDR-04, ATM-04, EXT-04).
struct SavedRequest {
    wire::Psn psn;
    std::uint32_t packets = 1; // PSNs that its response takes
    std::uint8_t opcode = 0;
    std::uint64_t address = 0;
    wire::Rkey rkey;
    std::uint32_t length = 0;
    std::uint64_t compare = 0;
    std::uint64_t swap_or_add = 0;
    std::uint64_t original = 0; // what the atomic found
    wire::Msn msn;
};

// The remote memory that a request names: for the first packet of a WRITE the whole message's, for
// later packets what they write.
struct Target {
    wire::Rkey rkey;
    std::uint64_t address = 0;
    std::uint64_t length = 0;
    bool whole = false; // FLUSH of a whole region: address and length say nothing (EXT-03)
};

// The target of a request whose message stands as `inbound` says.
std::optional<Target> target_of(const wire::Packet& packet, const Inbound& inbound,
                                const Behaviour& behaviour);

// Of so many bytes of the open WRITE's next packet, those that its RETH announced (LEN-04).
constexpr std::uint64_t within_announced(const Inbound& inbound, std::uint64_t bytes) {
    const std::uint64_t left =
        inbound.announced > inbound.received ? inbound.announced - inbound.received : 0;
    return bytes < left ? bytes : left;
}

// How far `to` lies ahead of `from` going forward only: 0 .. 2^24-1. Where a whole half of the
// circle may be outstanding (REQ-02), a signed distance is not enough.
constexpr std::uint32_t forward(wire::Psn from, wire::Psn to) {
    return (to.value() - from.value()) & wire::kMask24;
}

// A packet before its role is known.
struct PacketView {
    const wire::Envelope& envelope;
    const wire::Packet& packet;
    const wire::OpcodeInfo& info;
    const Connection& connection;
    const Behaviour& behaviour;
    const std::vector<wire::Pkey>& pkeys; // of the port; empty: any
    wire::Instant now;

    // The path that the packet must have come by: of an ARMED QP, a packet whose sender has
    // migrated comes by the other one (N-24, ENC-14).
    [[nodiscard]] bool by_alternate() const {
        return connection.migration == MigState::Armed && packet.bth.mig_req &&
               connection.alternate;
    }
    [[nodiscard]] const AddressVector& path() const {
        return by_alternate() ? connection.alternate->address : connection.address;
    }
};

// A request at the responder.
// NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): an aggregate of references
struct RequestView : PacketView {
    const Inbound& inbound;
    const Memory& memory;
    std::uint32_t message_limit = 0;
    // The receive WQE that the packet's message holds or would take: its bytes in all and where
    // they lie. `receive_ready` says whether there is one.
    bool receive_ready = false;
    std::uint64_t receive_bytes = 0;
    std::span<const Sge> receive_sges;
    PdId receive_domain; // in which their lkeys count: the shared queue's where there is one
    // The memory that the packet reads, writes or flushes by an rkey. Nothing for a SEND and for a
    // READ or WRITE of zero bytes, whose key is not looked at (LEN-08, C9-88).
    std::optional<Target> target;
    // Of a duplicate that has a response of its own: what is remembered of it, or nullptr.
    const SavedRequest* saved = nullptr;

    // Whether the packet would take a receive WQE that its message does not hold yet.
    [[nodiscard]] bool takes_receive() const;
};

// A datagram at its receiver.
// NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): likewise
struct DatagramView : PacketView {
    bool receive_ready = false;
    std::uint64_t receive_bytes = 0; // of the oldest receive WQE
    std::uint32_t port_mtu = 0;
};

// Whether a QP in this state hears what comes in (STA-01, STA-02, STA-07).
constexpr bool receives(QpState state) {
    return state == QpState::Rtr || state == QpState::Rts || state == QpState::Sqd ||
           state == QpState::Sqe;
}

constexpr bool is_atomic(WrOpcode opcode) {
    return opcode == WrOpcode::AtomicCmpAndSwp || opcode == WrOpcode::AtomicFetchAndAdd;
}
// Whether a request is carried out here and sends nothing (KEY-09).
constexpr bool is_local(WrOpcode opcode) {
    return opcode == WrOpcode::LocalInv || opcode == WrOpcode::BindMw;
}
// Whether a request takes a receive at the peer, and so a credit (REQ-29).
constexpr bool takes_receive(WrOpcode opcode) {
    return opcode == WrOpcode::Send || opcode == WrOpcode::SendWithImm ||
           opcode == WrOpcode::SendWithInv || opcode == WrOpcode::RdmaWriteWithImm;
}
// Whether a request is answered by data for its SGEs.
constexpr bool brings_data(WrOpcode opcode) {
    return opcode == WrOpcode::RdmaRead || is_atomic(opcode);
}
// Whether a request is answered by a response of its own and not by an ACK: by data, or by an empty
// READ response (EXT-02).
constexpr bool wants_response(WrOpcode opcode) {
    return brings_data(opcode) || opcode == WrOpcode::Flush || opcode == WrOpcode::AtomicWrite;
}
// The same of a request at the responder; these share max_dest_rd_atomic (N-28).
bool wants_response(const wire::OpcodeInfo& request);

// The request of the requester to which a response's PSN belongs.
struct PendingRequest {
    WrOpcode opcode = WrOpcode::Send;
    wire::Psn first; // of its PSN range
    wire::Psn last;
    wire::Psn expected_response; // READ and atomics: the next response that is taken
    wire::Psn asked_from;        // READ: the PSN of the request that was sent last
    std::uint64_t length = 0;    // of the data in the response, or of the message
    // Whether an earlier READ or atomic waits for its response (REQ-08).
    bool behind_unanswered = false;
};

// A response at the requester.
// NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): likewise
struct ResponseView : PacketView {
    const Outbound& outbound;
    std::optional<PendingRequest> request; // nothing if the PSN is in nobody's range
};

// A decision of the requester about its next packet or its next try.
struct SendView {
    const Connection& connection;
    const Outbound& outbound;
    const Behaviour& behaviour;
    const SendRequest& request; // of the message that would go next, or be tried again
    std::uint32_t packets = 1;  // PSNs that would be taken at once
    wire::Psn ssn{};            // of the message (REQ-29)
};

} // namespace veriroce::engine
