// The end of a case: whatever no line expects is a finding, and the verdict follows from the
// findings.
#pragma once

#include "conformance/interpreter/met.hpp"
#include "conformance/interpreter/task.hpp"

namespace veriroce::interpreter {

class Interpreter;
struct CaseQp;

// After the settle time: every packet, completion and event was claimed by a line or needs none,
// and the memory around the DUT's regions is unchanged.
Task<Met<>> conclude(Interpreter& interpreter);
// The same for the packets and completions of one QP.
Task<Met<>> all_claimed(Interpreter& interpreter, CaseQp& qp);

// After a line that was not met: hears which QPs have given up, on a device whose ACK timer is its
// own.
Task<Met<>> hear_who_gave_up(Interpreter& interpreter);
// The verdict of the lines, or ERROR if the tester did not do its part.
void judge_outcome(Interpreter& interpreter, Met<> outcome);
// Copies the packets of the record into the result, with the rules that they violate.
void judge_record(Interpreter& interpreter);

} // namespace veriroce::interpreter
