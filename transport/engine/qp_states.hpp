// The states of a QP: what ibv_modify_qp does, and how a QP ends.
//
// Source: rules STA-01..STA-10.
#pragma once

#include "transport/engine/device.hpp"

namespace veriroce::engine {

// Applies ibv_modify_qp to the QP, or rejects all of it (STA-09).
std::expected<void, VerbError> modify(Device& device, Qp& qp, const QpAttributes& attributes);
QpAttributes report(const Qp& qp);

// STA-10: clears all state of packets and verbs.
void reset(Device& device, Qp& qp);

// STA-07: to ERR; the timers stop, and posted work is flushed in order. The responder's queued
// replies still go out: one may be the NAK that says why.
void enter_error(Device& device, Qp& qp);

// UC and UD (STA-08): to SQE; posted sends are flushed in order, and the QP still receives.
void enter_send_error(Device& device, Qp& qp);

} // namespace veriroce::engine
