// What several QPs can share: protection domains, completion queues and their notifications, shared
// receive queues. And the device's counters.
#pragma once

#include <cstdint>
#include <string>

#include "conformance/dut/contract.hpp"
#include "conformance/interpreter/met.hpp"
#include "conformance/interpreter/task.hpp"

namespace veriroce::interpreter {

class Interpreter;

// The protection domain of this number, made when it is first asked for.
Task<Met<dut::PdHandle>> domain(Interpreter& interpreter, std::int64_t number, Span span);
// `dut cq` and `dut srq` lines whose queue a QP has (`qp cq=NAME`) are carried out before the QPs
// are connected, wherever they stand.
Task<Met<>> make_queues_of_qps(Interpreter& interpreter);
// The CQ that a `qp` line names, or the one that QPs have without a name.
Task<Met<dut::CqHandle>> queue_of_qp(Interpreter& interpreter, const script::QpSetup& setup);
// A limit is armed behind the first receives: an empty queue is below every limit, and some devices
// say so at once.
Task<Met<>> arm_limit(Interpreter& interpreter, const std::string& srq, Span span);
// What the counters of the case's `dut counter` lines are before its first line.
Task<Met<>> note_counters(Interpreter& interpreter);

Task<Met<>> play_dut(Interpreter& interpreter, const script::MakeCq& line, Span span);
Task<Met<>> play_dut(Interpreter& interpreter, const script::MakeSrq& line, Span span);
Task<Met<>> play_dut(Interpreter& interpreter, const script::ArmCq& line, Span span);
Task<Met<>> play_dut(Interpreter& interpreter, const script::CqQuiet& line, Span span);
Task<Met<>> play_dut(Interpreter& interpreter, const script::Counter& line, Span span);

} // namespace veriroce::interpreter
