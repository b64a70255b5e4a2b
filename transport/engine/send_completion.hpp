// The end of send work requests: acknowledged, sent (UC, UD) or failed.
#pragma once

#include "transport/engine/device.hpp"

namespace veriroce::engine {

// Completes in order all work that an acknowledge of `psn`, which has been sent, finishes, and
// notes how far the peer has come. Stops at a READ or atomic without its response.
void acknowledge_through(Device& device, Qp& qp, wire::Psn psn);
// UC, UD: the oldest work is sent, and complete.
void complete_sent(Device& device, Qp& qp);
// Ends the oldest work with an error and the QP with it; of UC and UD only the send queue.
void fail_oldest(Device& device, Qp& qp, WcStatus status);
// After works were completed: reports what waited for it (a request that was carried out locally, a
// local fault, SQ_DRAINED).
void settle_oldest(Device& device, Qp& qp);

} // namespace veriroce::engine
