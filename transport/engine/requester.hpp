// The requester's half of a QP: work requests and responses in, requests and completions out.
#pragma once

#include "transport/engine/device.hpp"

namespace veriroce::engine {

// InvalidArgument or NotSupported if the QP cannot carry out such a request; NoMemory if the queue
// is full.
std::expected<void, VerbError> post(Device& device, Qp& qp, const SendRequest& request);

// Posts the BIND_MW of a window of type 1 and gives the key that it will have.
std::expected<wire::Rkey, VerbError> post_bind(Device& device, Qp& qp, SendRequest request);

Transmit* next_request(Device& device, Qp& qp, wire::Instant now);

void handle_response(Device& device, Qp& qp, const PacketView& packet, wire::Instant now);
void handle_timer(Device& device, Qp& qp, Timer timer, wire::Instant now);

// --- between the requester's files

// Carries out a request that sends nothing; the status of what cannot be done.
std::optional<WcStatus> carry_out_locally(Device& device, const Qp& qp, const SendRequest& request);
// What the verb asks of a BIND_MW by work request.
std::expected<void, VerbError> acceptable_bind(const Device& device, const SendRequest& request);
// Puts a request that was found acceptable into the send queue, or flushes it.
std::expected<void, VerbError> enqueue(Device& device, Qp& qp, const SendRequest& request);

// STA-06: in SQD no work begins but those that are to be drained.
inline bool may_begin(const Qp& qp) {
    return qp.connection.state == QpState::Rts ||
           (qp.connection.state == QpState::Sqd && qp.cursor.work < qp.drain_works);
}
// Gives the work its PSNs, unless its own memory is not what it says (`fault`). What sends nothing
// has none and is carried out here: in order, behind what was begun before it.
void start(Device& device, Qp& qp, SendWork& work);
// The packet (packet_to_peer) of a SEND or WRITE at which the cursor stands.
wire::Packet& segment(Device& device, const Qp& qp, const SendWork& work, wire::Psn psn);
// The payload at this place of the message. Nothing if its memory is not reachable.
std::optional<wire::Bytes> payload_of(Device& device, const Qp& qp, const SendWork& work,
                                      std::uint64_t offset, std::size_t bytes);
// UC, UD: the oldest work is sent, and complete.
void complete_sent(Device& device, Qp& qp);
// Completes in order all that is finished by an acknowledge of `psn`, which has been sent, and
// notes how far the peer has come. Stops at a READ or atomic that is not answered.
void acknowledge_through(Device& device, Qp& qp, wire::Psn psn);
// Ends the oldest work with an error and the QP with it; of UC and UD only the send queue.
void fail_oldest(Device& device, Qp& qp, WcStatus status);
// After works were completed: reports what waited for it (a request that was carried out here, a
// local fault, SQ_DRAINED).
void settle_oldest(Device& device, Qp& qp);
// The next packet to send is the oldest that is not acknowledged.
void rewind(Device& device, Qp& qp);
// One try more from the oldest unacknowledged packet, or the end (REQ-12, TMO-03).
void retry(Device& device, Qp& qp);
void arm_ack_timer(Device& device, Qp& qp, wire::Instant now);

} // namespace veriroce::engine
