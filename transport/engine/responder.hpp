// The responder's half of a QP: requests in, replies out.
#pragma once

#include "transport/engine/device.hpp"

namespace veriroce::engine {

void handle_request(Device& device, Qp& qp, const PacketView& packet);

// The next packet of what the responder has to say.
std::optional<Transmit> next_reply(Device& device, Qp& qp);

// --- between the responder's files

// What the checks see of a request.
RequestView request_view(const Device& device, const Qp& qp, const PacketView& packet);
// Carries out a request that passed the checks.
void carry_out(Device& device, Qp& qp, const RequestView& view);
// The receive WQE that a faulty message holds, or would have taken, completes in error. False if
// there is none.
bool fail_receive(Device& device, Qp& qp, WcStatus status);

} // namespace veriroce::engine
