// Where a QP's receives come from: its own queue, or one that it shares with others.
//
// Source: rules RNR-01, RNR-14, N-16, STA-07.
#pragma once

#include "transport/engine/work_queues.hpp"

namespace veriroce::engine {

struct Device;
struct Qp;

// The receive that the open message holds, or that the next one would take; nullptr if there is
// none.
const ReceiveWork* next_receive(const Qp& qp);
// The protection domain in which its lkeys count.
PdId receive_domain(const Qp& qp);
// A message has begun that needs a receive at its end. The caller has checked next_receive().
void hold_receive(Device& device, Qp& qp);
// Takes it for its completion. Nothing if there is none.
std::optional<ReceiveWork> take_receive(Device& device, Qp& qp);
// Completes it in error. False if there is none.
bool fail_receive(Device& device, Qp& qp, WcStatus status);
// STA-07: completes in error every receive that belongs to the QP. Shared ones stay;
// LAST_WQE_REACHED says that the QP takes no more of them (N-16).
void flush_receives(Device& device, Qp& qp);
// STA-10
void forget_receives(Qp& qp);

} // namespace veriroce::engine
