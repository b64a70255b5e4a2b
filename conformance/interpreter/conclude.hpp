// The end of a case: after the last line nothing may be left that no line expects, and the verdict
// follows from what was found.
#pragma once

#include "conformance/interpreter/met.hpp"
#include "conformance/interpreter/task.hpp"

namespace veriroce::interpreter {

class Interpreter;
struct CaseQp;

// After the settle time: every packet, completion and event was claimed by a line or needs none,
// and the memory around the DUT's regions is as it was.
Task<Met<>> conclude(Interpreter& interpreter);
// The same for the packets and completions of one QP.
Task<Met<>> all_claimed(Interpreter& interpreter, CaseQp& qp);

// The verdict of the lines, unless what the tester itself did makes it an ERROR.
void judge_outcome(Interpreter& interpreter, Met<> outcome);
// The packets of the record into the result, and the rules that they violate.
void judge_record(Interpreter& interpreter);

} // namespace veriroce::interpreter
