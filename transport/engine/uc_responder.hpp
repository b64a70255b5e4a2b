// Requests of UC in. A missing packet loses its whole message silently; the next FIRST or ONLY
// begins a new message with any PSN.
//
// Source: rule EXT-06.
#pragma once

#include "transport/engine/device.hpp"

namespace veriroce::engine {

// A packet for a UC QP that passed the packet checks.
void handle_uc(Device& device, Qp& qp, const PacketView& packet);

} // namespace veriroce::engine
