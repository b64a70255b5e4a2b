// any, unordered, repeat.
#pragma once

#include "conformance/interpreter/met.hpp"
#include "conformance/interpreter/task.hpp"

namespace veriroce::interpreter {

class Interpreter;

// The first packet or completion selects the alternative that begins with it. If none comes within
// the settle time, the first alternative that begins with silence is selected.
Task<Met<>> play(Interpreter& interpreter, const script::AnyBlock& block, Span span);
Task<Met<>> play(Interpreter& interpreter, const script::Unordered& block, Span span);
Task<Met<>> play(Interpreter& interpreter, const script::Repeat& block, Span span);

} // namespace veriroce::interpreter
