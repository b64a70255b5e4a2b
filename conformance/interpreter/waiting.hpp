// Lines that wait for something that the DUT or the tester's engine does: packets, completions,
// states, events, notifications. A single line and the lines of an `unordered` block wait in the
// same loop: it gives whatever comes to the first line that expects it, and ends when every line is
// met.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "conformance/interpreter/awaited.hpp"
#include "conformance/interpreter/task.hpp"

namespace veriroce::interpreter {

class Interpreter;

// The thing that a line waits for; nothing if it does not wait.
Met<std::optional<Awaited>> awaited(Interpreter& interpreter, const script::Statement& line);
Met<std::optional<Awaited>> awaited(Interpreter& interpreter, const script::SideCommand& line,
                                    Span span);
Met<Awaited> awaited(Interpreter& interpreter, const script::ExpectPacket& line, Span span);

// Waits until all of them are met, in any order; `span` covers all of them.
Task<Met<>> await_all(Interpreter& interpreter, std::vector<Awaited> open, Span span);
Task<Met<>> await_one(Interpreter& interpreter, Awaited line);

// Asks for the thing that the line waits for, sleeping at most `wait`.
Task<Met<>> ask_for(Interpreter& interpreter, Awaited& line, wire::Duration wait);
// Whether the thing that the line waits for is there, or its next part.
Met<bool> is_there(Interpreter& interpreter, const Awaited& line);

} // namespace veriroce::interpreter
