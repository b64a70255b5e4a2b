#include "conformance/interpreter/statements.hpp"

#include <variant>

#include "conformance/interpreter/blocks.hpp"
#include "conformance/interpreter/commands.hpp"
#include "conformance/interpreter/expect.hpp"
#include "conformance/interpreter/interpreter.hpp"
#include "conformance/interpreter/regions.hpp"
#include "conformance/interpreter/send.hpp"
#include "conformance/interpreter/silence.hpp"
#include "conformance/interpreter/wire.hpp"

namespace veriroce::interpreter {
namespace {

Task<Met<>> play(Interpreter& interpreter, const script::FaultLine& line, Span /*span*/) {
    interpreter.wire().add(line.rule);
    co_return Met<>{};
}

// There is no catch-all: a kind of statement without a `play` does not compile.
Task<Met<>> play_statement(Interpreter& interpreter, const script::Statement& statement) {
    return std::visit([&](const auto& line) { return play(interpreter, line, statement.span); },
                      statement.node);
}

} // namespace

Task<Met<>> play(Interpreter& interpreter, const script::Block& statements) {
    for (const script::Statement& one : statements)
        co_await play_statement(interpreter, one);
    co_return Met<>{};
}

} // namespace veriroce::interpreter
