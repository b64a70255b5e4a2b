// Lines that wait for something that the DUT or the tester's engine does: packets, completions,
// states, events, notifications. A single line and the lines of an `unordered` block wait in the
// same loop: it gives whatever comes to the first line that expects it, and ends when every line is
// met.
//
// Each kind of thing that a line waits for is a struct with overloads of four functions, all in the
// file of its subject (expect, completions); a kind without one of them does not compile:
//   ask_for   asks for it once; packets need no question
//   take      gives what came to the open lines that expect it
//   is_there  the same question without taking anything, for what may begin an alternative
//   overdue   the finding of a line whose patience is over
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "conformance/interpreter/clock.hpp"
#include "conformance/interpreter/completions.hpp"
#include "conformance/interpreter/expect.hpp"
#include "conformance/interpreter/task.hpp"

namespace veriroce::interpreter {

class Interpreter;
struct CaseQp;

// A line that waits, and its progress.
struct Awaited {
    Span span;
    CaseQp* qp = nullptr;
    wire::Duration patience{0};
    // `within T` counts from here. Without it a line waits from the end of the line met last.
    std::optional<Moment> since;
    std::variant<AwaitedPacket, AwaitedCompletions, AwaitedState, AwaitedEvent, AwaitedNotification>
        what;
    bool asked = false; // the DUT was asked
    bool met = false;

    [[nodiscard]] AwaitedPacket* packet() { return std::get_if<AwaitedPacket>(&what); }
    [[nodiscard]] const AwaitedPacket* packet() const { return std::get_if<AwaitedPacket>(&what); }
};

// The lines that wait at one time; `span` covers all of them.
struct OpenLines {
    std::vector<Awaited> lines;
    Span span;
};

// How a line asks.
struct Question {
    wire::Duration wait{0}; // at most, for the answer
    bool again = false;     // the line asked before

    // Whether it may sleep until something can have changed.
    [[nodiscard]] bool sleeps() const { return again && wait > wire::Duration(0); }
};

// The thing that a line waits for; nothing if it does not wait.
Met<std::optional<Awaited>> awaited(Interpreter& interpreter, const script::Statement& line);
Met<std::optional<Awaited>> awaited(Interpreter& interpreter, const script::SideCommand& line,
                                    Span span);
Met<Awaited> awaited(Interpreter& interpreter, const script::ExpectPacket& line, Span span);

// Waits until all of them are met, in any order.
Task<Met<>> await_all(Interpreter& interpreter, OpenLines open);
Task<Met<>> await_one(Interpreter& interpreter, Awaited line);

// Until when the line waits.
wire::Instant deadline_of(Interpreter& interpreter, const Awaited& line);
// The line has what it waited for.
void end_line(Interpreter& interpreter, Awaited& line);

// Asks for the thing that the line waits for, sleeping at most `wait`.
Task<Met<>> ask_for(Interpreter& interpreter, Awaited& line, wire::Duration wait);
// Whether the thing that the line waits for is there, or its next part. Only packets and
// completions begin alternatives.
Met<bool> is_there(Interpreter& interpreter, const Awaited& line);

} // namespace veriroce::interpreter
