// Which transition of a QP's state wants and allows which attributes.
//
// Source: the verbs' table of ibv_modify_qp as the Linux kernel has it, for RC, UC, UD and QP1;
// rules STA-08, STA-09. Where the verbs demand a port or a P_Key index ours have defaults.
#pragma once

#include "transport/engine/verbs.hpp"

namespace veriroce::engine {

// Whether ibv_modify_qp takes these attributes from one state to the other. `state` itself does not
// count. `gsi` is QP1, which has its Q_Key by nature.
bool transition_allowed(QpType type, bool gsi, QpState from, QpState to,
                        const QpAttributes& attributes);

} // namespace veriroce::engine
