// Datagrams in, unicast and multicast: what passes the checks fills the oldest receive WQE, after
// its 40 bytes of GRH.
//
// Source: rules EXT-05, BTH-04.
#pragma once

#include "transport/engine/device.hpp"

namespace veriroce::engine {

// A packet for a UD QP that passed the packet checks.
void handle_datagram(Device& device, Qp& qp, const PacketView& packet);
// A packet for QP 0xFFFFFF: a copy for each QP of the group that it is addressed to.
void handle_multicast(Device& device, const wire::Envelope& envelope, const wire::Packet& packet,
                      wire::Instant now);

} // namespace veriroce::engine
