// Converts our states, statuses, opcodes, rights and events to those of libibverbs, and back, with
// one table each. Only the verbs backend includes this header.
#pragma once

#include <infiniband/verbs.h>

#include <optional>
#include <string>
#include <string_view>

#include "conformance/dut/contract.hpp"

namespace veriroce::agent {

ibv_qp_type to_verbs(engine::QpType type);
ibv_qp_state to_verbs(engine::QpState state);
ibv_mtu to_verbs(wire::Mtu mtu);
ibv_mig_state to_verbs(engine::MigState state);
unsigned to_verbs(engine::Access access);
unsigned to_verbs(dut::Flags flags);
// Nothing for operations that ibv_post_send does not have.
std::optional<ibv_wr_opcode> to_verbs(engine::WrOpcode opcode);

// Nothing for a value without a name here.
std::optional<engine::QpState> state_of(ibv_qp_state state);
std::optional<wire::Mtu> mtu_of(ibv_mtu mtu);
std::optional<engine::MigState> mig_state_of(ibv_mig_state state);
std::optional<engine::EventType> event_of(ibv_event_type type);
std::optional<engine::WcOpcode> opcode_of(ibv_wc_opcode opcode);
// GENERAL_ERR replaces the statuses of transports that RoCE devices do not have.
engine::WcStatus status_of(ibv_wc_status status);
engine::Access access_of(unsigned flags);

// "EINVAL"; the number if libc has no name for it.
std::string errno_name(int error);
// A verb that failed with this errno: -32000, with the system's message.
dut::Failure refused_with(std::string_view verb, int error);

} // namespace veriroce::agent
