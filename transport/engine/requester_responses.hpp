// Responses at the requester: acknowledges, NAKs, READ and atomic data.
#pragma once

#include "transport/engine/device.hpp"

namespace veriroce::engine {

void handle_response(Device& device, Qp& qp, const PacketView& packet, wire::Instant now);

} // namespace veriroce::engine
