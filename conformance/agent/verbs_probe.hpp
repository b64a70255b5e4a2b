// What an RDMA device does when it is asked, not what its attributes claim. Some drivers claim
// more than they do: a QP type, SQD, more SGEs, or memory windows that they then refuse.
//
// Nothing is sent: a QP is connected to itself. Only a refusal counts as lacking (EINVAL,
// EOPNOTSUPP, ENOSYS); any other error, for example of a port without a link, leaves the claim as
// it is. It takes some milliseconds.
//
// Source: conformance/agent/README.md, "Capabilities and traits".
#pragma once

#include <infiniband/verbs.h>

#include "conformance/dut/contract.hpp"

namespace veriroce::agent {

// The answer to hello without what the device refuses.
void probe(ibv_context& context, dut::Welcome& welcome);

} // namespace veriroce::agent
