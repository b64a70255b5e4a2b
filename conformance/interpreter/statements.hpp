// Plays the statements of a block in their order: each by the `play` of its kind.
#pragma once

#include "conformance/interpreter/met.hpp"
#include "conformance/interpreter/task.hpp"

namespace veriroce::interpreter {

class Interpreter;

Task<Met<>> play(Interpreter& interpreter, const script::Block& statements);

} // namespace veriroce::interpreter
