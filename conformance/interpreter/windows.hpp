// Memory windows, and the end of regions and windows: dut mw, post BIND_MW, dereg.
#pragma once

#include "conformance/interpreter/met.hpp"
#include "conformance/interpreter/task.hpp"

namespace veriroce::interpreter {

class Interpreter;
struct CaseQp;

Task<Met<>> play_dut(Interpreter& interpreter, const script::MakeMw& line, Span span);
Task<Met<>> play_dut(Interpreter& interpreter, const script::Dereg& line, Span span);
// Binds a window of type 1 with the verb, which returns the new key, and a window of type 2 with a
// work request, which names the new key: `rkey=`, or the next variant of the old key.
Task<Met<>> bind_window(Interpreter& interpreter, CaseQp& qp, const script::Post& post, Span span);

} // namespace veriroce::interpreter
