// How a QP's packets travel: addresses, source port, traffic class; and the ACK timeout that
// belongs to the path.
//
// Source: rules ENC-02, ENC-12, TMO-01, TMO-02.
#pragma once

#include "transport/engine/device.hpp"

namespace veriroce::engine {

// The envelope of a packet of the QP that goes by this path to this peer.
wire::Envelope envelope_to(const Device& device, const Qp& qp, const AddressVector& path,
                           wire::Qpn peer);

// After its path changed: sets the QP's envelope and ACK timeout.
void settle_path(const Device& device, Qp& qp);

} // namespace veriroce::engine
