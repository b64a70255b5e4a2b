// QPs on both sides: from the case's header to RTS before the first line, and what `modify` and
// `reconnect` lines make of them.
#pragma once

#include "conformance/interpreter/met.hpp"
#include "conformance/interpreter/task.hpp"

namespace veriroce::interpreter {

class Interpreter;
struct CaseQp;

// Protection domains, those queues that a QP has, the QPs, `unused`, and the counters that the case
// cites.
Task<Met<>> connect(Interpreter& interpreter);

// `dut modify state=…` brings along what the verbs demand for that step, from the `qp` line; from
// SQD back to RTS they demand nothing. All else is exactly what the line names.
Task<Met<>> play_modify(Interpreter& interpreter, CaseQp& qp, const script::Modify& line,
                        Span span);
// Both ends of a QP through RESET, with new first PSNs. What the DUT had not yet been asked about
// is settled first: PSNs mean something else afterwards.
Task<Met<>> play_reconnect(Interpreter& interpreter, CaseQp& qp, const script::Reconnect& line,
                           Span span);

} // namespace veriroce::interpreter
