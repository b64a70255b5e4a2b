// Lines that wait for something that the DUT or the tester's engine does: packets, completions,
// states, events, notifications. A line by itself and the lines of an `unordered` block wait in the
// same loop: it gives what came to the first line that wants it, and ends when every line has its
// own.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "conformance/interpreter/awaited.hpp"
#include "conformance/interpreter/task.hpp"

namespace veriroce::interpreter {

class Interpreter;

// What a line waits for; nothing if it does not wait.
Met<std::optional<Awaited>> awaited(Interpreter& interpreter, const script::Statement& line);
Met<std::optional<Awaited>> awaited(Interpreter& interpreter, const script::SideCommand& line,
                                    Span span);
Met<Awaited> awaited(Interpreter& interpreter, const script::ExpectPacket& line, Span span);

// Until all of them are met, in whatever order; `span` is theirs as a whole.
Task<Met<>> await_all(Interpreter& interpreter, std::vector<Awaited> open, Span span);
Task<Met<>> await_one(Interpreter& interpreter, Awaited line);

// Asks for what the line waits for, sleeping for at most `wait`.
Task<Met<>> ask_for(Interpreter& interpreter, Awaited& line, wire::Duration wait);
// Whether what the line waits for is there, or its next part.
Met<bool> is_there(Interpreter& interpreter, const Awaited& line);

} // namespace veriroce::interpreter
