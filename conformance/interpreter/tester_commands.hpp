// `tester …` lines: the tester's engine as its user sees it. It takes part in a QP only after
// `tester answers`; before that the script speaks.
#pragma once

#include "conformance/interpreter/met.hpp"
#include "conformance/interpreter/task.hpp"

namespace veriroce::interpreter {

class Interpreter;
struct CaseQp;

Met<> tester_answers(CaseQp& qp, Span span);
// An ERROR if the script, not the engine, answers for the tester on this QP.
Met<> must_answer(const CaseQp& qp, Span span);

Met<> play_tester(Interpreter& interpreter, CaseQp& qp, const script::Post& post, Span span);
Met<> play_tester(Interpreter& interpreter, CaseQp& qp, const script::Recv& recv, Span span);
Met<> play_tester(Interpreter& interpreter, CaseQp& qp, const script::Modify& line, Span span);

} // namespace veriroce::interpreter
