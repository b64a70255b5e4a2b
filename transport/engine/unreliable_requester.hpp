// Requests of UC and UD out. Nothing is acknowledged and nothing is sent twice: a request is
// complete when its last packet is handed out. One that fails takes the send queue to SQE, and the
// QP still receives.
//
// Source: rules EXT-05, EXT-06, N-30, C10-93.1.1; the Linux kernel's rxe for what they leave open.
#pragma once

#include "transport/engine/device.hpp"

namespace veriroce::engine {

// The next packet of a UC or UD QP; nullptr if there is none.
Transmit* next_unreliable(Device& device, Qp& qp);

} // namespace veriroce::engine
