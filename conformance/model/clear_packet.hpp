// Packets of the tester that leave a receiver no choice.
//
// Source: rules ENC-07, ENC-10, BTH-01, BTH-07, N-06.
#pragma once

#include "conformance/model/posted.hpp"
#include "conformance/model/story.hpp"

namespace veriroce::model {

// Whether every receiver takes the packet of the tester for one of this QP: nothing in its
// Ethernet, IP and BTH fields gives it a choice.
bool is_clear(const Story& story, const Packet& packet, const Qp& qp);

} // namespace veriroce::model
