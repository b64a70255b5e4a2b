// A queue pair: what the verbs set (Connection), the two halves of the transport (Inbound and
// Outbound, which checks see), and their queues.
#pragma once

#include <memory>

#include "transport/engine/rate_limiter.hpp"
#include "transport/engine/receive_source.hpp"
#include "transport/engine/reply_queue.hpp"
#include "transport/engine/saved_requests.hpp"

namespace veriroce::engine {

// The requester's place in its send queue: the next packet to send. It goes back when packets are
// sent again.
struct Cursor {
    std::size_t work = 0;     // counted from the oldest work
    std::uint32_t packet = 0; // of that work
};

struct Qp {
    Qp(QpId qp, wire::Qpn qpn, const QpDescription& wanted)
        : id(qp), description(wanted), sends(wanted.capacity), receives(wanted.capacity) {
        connection.type = wanted.type;
        connection.pd = wanted.pd;
        connection.qpn = qpn;
    }

    QpId id;
    QpDescription description;
    Connection connection;
    wire::Envelope envelope; // of every packet that it sends

    // Responder
    Inbound inbound;
    ReplyQueue replies;
    SavedRequests saved;
    wire::Psn last_acked; // RSP-10: the SEND or WRITE packet that was executed last
    bool established = false;
    bool out_of_credits = false;     // the last ACK said that there are no receives (ACK-11)
    std::uint32_t deferred_acks = 0; // requests that an ACK which waits will acknowledge (ACK-03)

    // Requester
    Outbound outbound;
    Cursor cursor;
    std::uint32_t since_ack_request = 0;        // packets (BTH-18)
    std::optional<wire::Duration> ack_interval; // nothing: the timer never runs (TMO-02)
    bool waits_for_rnr = false;
    wire::Psn rnr_psn;
    bool implied_nak_taken = false;       // one retry for a gap, until there is progress
    bool rewound = false;                 // nothing was sent since the cursor went back
    bool one_message = false;             // RNR-13: until there is progress only the oldest is sent
    std::optional<wire::Psn> recovers_to; // AfterLoss::OnePacket: until this one is the oldest
    std::size_t drain_works = 0;          // in SQD: how many of the oldest may still begin
    bool drain_pending = false;           // SQ_DRAINED is to be raised (STA-06)

    bool ready = false;        // in the engine's list of QPs that may have packets to send
    bool request_turn = false; // replies and requests take turns

    bool migration_refused = false; // PATH_MIG_ERR was raised since the QP became ARMED

    SendQueue sends;
    ReceiveQueue receives;
    SharedReceiveQueue* srq = nullptr; // instead of its own
    std::optional<ReceiveWork> held;   // out of the shared queue, by the open message

    // Congestion
    std::optional<wire::Instant> last_cnp; // that answered a packet to this QP (CNP-04)
    std::unique_ptr<RateLimiter> limiter;  // null: the device is not a reaction point
};

} // namespace veriroce::engine
