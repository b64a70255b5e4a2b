// `dut …` and `tester …` lines: calls the function of the line's command for the line's side.
#pragma once

#include "conformance/interpreter/met.hpp"
#include "conformance/interpreter/task.hpp"

namespace veriroce::interpreter {

class Interpreter;

Task<Met<>> play(Interpreter& interpreter, const script::SideCommand& line, Span span);

} // namespace veriroce::interpreter
