// Lines that send: `>` packets, RAW frames, fragments and PFC.
#pragma once

#include "conformance/interpreter/met.hpp"
#include "conformance/interpreter/task.hpp"

namespace veriroce::interpreter {

class Interpreter;

Task<Met<>> play(Interpreter& interpreter, const script::SendPacket& line, Span span);
Task<Met<>> play(Interpreter& interpreter, const script::SendRaw& line, Span span);
Task<Met<>> play(Interpreter& interpreter, const script::SendFragment& line, Span span);
Task<Met<>> play(Interpreter& interpreter, const script::SendPfc& line, Span span);

} // namespace veriroce::interpreter
