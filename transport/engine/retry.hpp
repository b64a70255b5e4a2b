// Sending again: the requester's timers, and its way back to the oldest unacknowledged packet.
//
// Source: rules REQ-12, REQ-13, RNR-08..RNR-13, TMO-01..TMO-08.
#pragma once

#include "transport/engine/device.hpp"

namespace veriroce::engine {

// The next packet to send is the oldest unacknowledged one.
void rewind(Device& device, Qp& qp);
// Tries once more from the oldest unacknowledged packet, or fails the work (REQ-12, TMO-03).
void retry(Device& device, Qp& qp);
void arm_ack_timer(Device& device, Qp& qp, wire::Instant now);

// A timer of the QP has expired; the responder's (AckDelay) too.
void handle_timer(Device& device, Qp& qp, Timer timer, wire::Instant now);

} // namespace veriroce::engine
