// Plays the statements of a block in order, each with the `play` overload of its kind.
#pragma once

#include "conformance/interpreter/met.hpp"
#include "conformance/interpreter/task.hpp"

namespace veriroce::interpreter {

class Interpreter;

Task<Met<>> play(Interpreter& interpreter, const script::Block& statements);

} // namespace veriroce::interpreter
