// Lines that expect silence (no, quiet, dropped), lines that leave packets to the judge (judged),
// and wait.
//
// "Silent" is no RoCEv2 packet, no completion, no event and no change of the QP's state; what the
// host's own stack says (ICMP, ARP, ND) does not count (conformance/rules/catalogue.tsv).
#pragma once

#include "conformance/interpreter/met.hpp"
#include "conformance/interpreter/task.hpp"

namespace veriroce::interpreter {

class Interpreter;

Task<Met<>> play(Interpreter& interpreter, const script::No& line, Span span);
Task<Met<>> play(Interpreter& interpreter, const script::Quiet& line, Span span);
Task<Met<>> play(Interpreter& interpreter, const script::Dropped& line, Span span);
Task<Met<>> play(Interpreter& interpreter, const script::Judged& line, Span span);
Task<Met<>> play(Interpreter& interpreter, const script::Wait& line, Span span);

} // namespace veriroce::interpreter
