// The responder's half of a QP: requests in, replies out.
#pragma once

#include "transport/engine/device.hpp"

namespace veriroce::engine {

void handle_request(Device& device, Qp& qp, const PacketView& packet);

// The next packet of what the responder has to say.
std::optional<Transmit> next_reply(Device& device, Qp& qp);

} // namespace veriroce::engine
