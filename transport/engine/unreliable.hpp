// UC and UD: nothing is acknowledged, nothing is sent twice. A request is complete when its last
// packet is handed out; what does not fit at the receiver is dropped in silence. A send work
// request that fails takes the send queue to SQE, and the receiver goes on.
//
// Source: rules EXT-05, EXT-06, N-30, C10-93.1.1; the Linux kernel's rxe for what they leave open.
#pragma once

#include "transport/engine/device.hpp"

namespace veriroce::engine {

// The Q_Key that QP1 has by nature (BTH-03, N-30).
inline constexpr wire::Qkey kGsiQkey{0x80010000};
inline constexpr wire::Qpn kGsiQpn{1};

// The next packet of a UC or UD QP.
Transmit* next_unreliable(Device& device, Qp& qp);

// A packet for a UC QP that passed the packet checks (uc_responder.cpp), and for a UD QP
// (datagram.cpp).
void handle_uc(Device& device, Qp& qp, const PacketView& packet);
void handle_datagram(Device& device, Qp& qp, const PacketView& packet);
// A packet for QP 0xFFFFFF: a copy for each QP of the group that it is addressed to
// (multicast_verbs.cpp).
void handle_multicast(Device& device, const wire::Envelope& envelope, const wire::Packet& packet,
                      wire::Instant now);

} // namespace veriroce::engine
