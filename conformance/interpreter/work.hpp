// dut post … and dut recv …: work requests of the DUT.
#pragma once

#include "conformance/interpreter/met.hpp"
#include "conformance/interpreter/task.hpp"

namespace veriroce::interpreter {

class Interpreter;
struct CaseQp;

inline constexpr std::uint64_t kDefaultReceive = 256; // bytes, on either side

Task<Met<>> play_post(Interpreter& interpreter, CaseQp& qp, const script::Post& post, Span span);
Task<Met<>> post_receive(Interpreter& interpreter, CaseQp& qp, const script::Recv& recv, Span span);

} // namespace veriroce::interpreter
