// The responder's half of a QP: requests in. The checks judge each one; then the responder carries
// it out, answers it again as a duplicate, or refuses it with a NAK.
#pragma once

#include "transport/engine/check_runner.hpp"
#include "transport/engine/device.hpp"

namespace veriroce::engine {

void handle_request(Device& device, Qp& qp, const PacketView& packet);

// The values of a request that the checks read.
RequestView request_view(const Device& device, const Qp& qp, const PacketView& packet);
// Carries out a request that passed the checks.
void carry_out(Device& device, Qp& qp, const RequestView& view);

} // namespace veriroce::engine
