// dut post … and dut recv …: work requests of the DUT.
#pragma once

#include "conformance/interpreter/met.hpp"
#include "conformance/interpreter/task.hpp"

namespace veriroce::interpreter {

class Interpreter;
struct CaseQp;

inline constexpr std::uint64_t kDefaultReceive = 256; // bytes, on either side

// `may_refuse`: the DUT may refuse it if the QP is in ERR, or cannot send yet (STA-03, STA-07).
Task<Met<>> play_post(Interpreter& interpreter, CaseQp& qp, const script::Post& post, Span span,
                      bool may_refuse = true);
Task<Met<>> post_receive(Interpreter& interpreter, CaseQp& qp, const script::Recv& recv, Span span,
                         bool may_refuse = true);

} // namespace veriroce::interpreter
