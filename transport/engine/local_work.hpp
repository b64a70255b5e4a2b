// Requests that the engine carries out itself, without a packet: BIND_MW and LOCAL_INV.
//
// Source: rules KEY-09, KEY-11; the verbs (ibv_bind_mw, IBV_WR_BIND_MW, IBV_WR_LOCAL_INV).
#pragma once

#include "transport/engine/device.hpp"

namespace veriroce::engine {

// Posts the BIND_MW of a window of type 1; returns the key that the window will have.
std::expected<wire::Rkey, VerbError> post_bind(Device& device, Qp& qp, SendRequest request);
// Whether the verb takes a BIND_MW work request.
std::expected<void, VerbError> acceptable_bind(const Device& device, const SendRequest& request);
// Carries out the request; the completion status if that fails.
std::optional<WcStatus> carry_out_locally(Device& device, const Qp& qp, const SendRequest& request);

} // namespace veriroce::engine
