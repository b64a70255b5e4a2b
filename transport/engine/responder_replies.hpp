// The responder's replies: when it acknowledges, with which syndrome and credits, and the packets
// of acknowledges, READ responses and atomic results.
//
// Source: rules ACK-01..ACK-12, RDR-01..RDR-14, RNR-07.
#pragma once

#include "transport/engine/device.hpp"

namespace veriroce::engine {

// ACK-10: the syndrome of an ACK, with the credits that the QP has now.
wire::Syndrome ack_syndrome(const Device& device, const Qp& qp);
// RNR-07
wire::Syndrome rnr_syndrome(const Device& device, const Qp& qp);
// Queues an acknowledge; a deferred ACK is then no longer needed.
void acknowledge(Device& device, Qp& qp, wire::Psn psn, wire::Syndrome syndrome);
// A SEND or WRITE packet was carried out: acknowledges it now, later or not at all (ACK-01..03).
void acknowledge_request(Device& device, Qp& qp, const RequestView& view);
// The deferred ACK goes now.
void send_deferred_ack(Device& device, Qp& qp);
// Another reply acknowledges as much.
void drop_deferred_ack(Device& device, Qp& qp);
// ACK-11: there is a receive again.
void note_posted_receive(Device& device, Qp& qp);

// The next packet of the QP's replies; nullptr if there is none.
Transmit* next_reply(Device& device, Qp& qp);

} // namespace veriroce::engine
