// Memory windows, and the end of regions and windows: dut mw, post BIND_MW, dereg.
#pragma once

#include "conformance/interpreter/met.hpp"
#include "conformance/interpreter/task.hpp"

namespace veriroce::interpreter {

class Interpreter;
struct CaseQp;

Task<Met<>> play_dut(Interpreter& interpreter, const script::MakeMw& line, Span span);
Task<Met<>> play_dut(Interpreter& interpreter, const script::Dereg& line, Span span);
// Type 1 by the verb, which says the new key; type 2 by a work request, which names it: the next
// variant of the old one unless `rkey=` is written.
Task<Met<>> bind_window(Interpreter& interpreter, CaseQp& qp, const script::Post& post, Span span);

} // namespace veriroce::interpreter
