// QPs on both sides: brings them from the case's header to RTS before the first line, and plays
// `modify` and `reconnect` lines.
#pragma once

#include "conformance/interpreter/met.hpp"
#include "conformance/interpreter/task.hpp"

namespace veriroce::interpreter {

class Interpreter;
struct CaseQp;
struct QpIdentity;

// Makes protection domains, the queues that QPs have, the QPs and `unused`, and reads the counters
// that the case names.
Task<Met<>> connect(Interpreter& interpreter);

// `dut modify state=…` also sets the attributes that the verbs require for that step, from the `qp`
// line; from SQD back to RTS they require none. Otherwise only what the line names is set.
Task<Met<>> play_modify(Interpreter& interpreter, CaseQp& qp, const script::Modify& line,
                        Span span);
// Takes both ends of a QP through RESET and connects them with new first PSNs. Packets and
// completions of the time before must be claimed first, because PSNs mean something else
// afterwards.
Task<Met<>> play_reconnect(Interpreter& interpreter, CaseQp& qp, const script::Reconnect& line,
                           Span span);

// A QP that was connected before, or never: from here on it has this identity, and its packets and
// completions belong to a new life.
void begin_life(Interpreter& interpreter, CaseQp& qp, const QpIdentity& identity);

} // namespace veriroce::interpreter
