// The responder's half of a QP: requests in, replies out.
#pragma once

#include "transport/engine/device.hpp"

namespace veriroce::engine {

void handle_request(Device& device, Qp& qp, const PacketView& packet);

// The next packet of what the responder has to say.
Transmit* next_reply(Device& device, Qp& qp);

// --- between the responder's files

// ACK-10: what an ACK says of credits.
wire::Syndrome ack_syndrome(const Device& device, const Qp& qp);
// RNR-07
wire::Syndrome rnr_syndrome(const Device& device, const Qp& qp);
// Queues an acknowledge, which ends the wait of one that was deferred.
void acknowledge(Device& device, Qp& qp, wire::Psn psn, wire::Syndrome syndrome);
// A SEND or WRITE packet was carried out: acknowledged now, later or not (ACK-01..03).
void acknowledge_request(Device& device, Qp& qp, const RequestView& view);
// The ACK that waits goes now; or something else said as much.
void send_deferred_ack(Device& device, Qp& qp);
void drop_deferred_ack(Device& device, Qp& qp);
// ACK-11: there is a receive again.
void note_posted_receive(Device& device, Qp& qp);
// What the checks see of a request.
RequestView request_view(const Device& device, const Qp& qp, const PacketView& packet);
// Carries out a request that passed the checks.
void carry_out(Device& device, Qp& qp, const RequestView& view);
// The receive WQE that a faulty message holds, or would have taken, completes in error. False if
// there is none.
bool fail_receive(Device& device, Qp& qp, WcStatus status);

} // namespace veriroce::engine
