// `dut …` and `tester …` lines: each by the `play` of its command, for the side that it names.
#pragma once

#include "conformance/interpreter/met.hpp"
#include "conformance/interpreter/task.hpp"

namespace veriroce::interpreter {

class Interpreter;

Task<Met<>> play(Interpreter& interpreter, const script::SideCommand& line, Span span);

} // namespace veriroce::interpreter
