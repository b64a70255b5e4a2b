// The requester's half of a QP, requests out: posted work becomes packets, in order, as far as
// window, fence and the number of READs and atomics allow.
//
// Responses come in through requester_responses.hpp; send_completion.hpp and retry.hpp end or
// repeat what was sent.
#pragma once

#include "transport/engine/device.hpp"

namespace veriroce::engine {

// InvalidArgument or NotSupported if the QP cannot carry out such a request; NoMemory if the queue
// is full.
std::expected<void, VerbError> post(Device& device, Qp& qp, const SendRequest& request);
// Puts a request that was found acceptable into the send queue, or flushes it.
std::expected<void, VerbError> enqueue(Device& device, Qp& qp, const SendRequest& request);

// The QP's next request packet; nullptr if there is none.
Transmit* next_request(Device& device, Qp& qp, wire::Instant now);

// --- what RC shares with UC and UD (unreliable_requester.hpp)

// STA-06: in SQD only the work that is to be drained begins.
inline bool may_begin(const Qp& qp) {
    return qp.connection.state == QpState::Rts ||
           (qp.connection.state == QpState::Sqd && qp.cursor.work < qp.drain_works);
}
// Gives the work its PSNs; sets its `fault` if its own memory is not reachable. Work that sends
// nothing has no PSNs and is carried out here: in order, after the work that began before it.
void start(Device& device, Qp& qp, SendWork& work);
// The packet (packet_to_peer) of a SEND or WRITE at the cursor.
wire::Packet& segment(Device& device, const Qp& qp, const SendWork& work, wire::Psn psn);
// The payload at this place of the message. Nothing if its memory is not reachable.
std::optional<wire::Bytes> payload_of(Device& device, const Qp& qp, const SendWork& work,
                                      std::uint64_t offset, std::size_t bytes);

} // namespace veriroce::engine
