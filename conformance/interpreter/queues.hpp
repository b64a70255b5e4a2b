// Objects that several QPs can share: protection domains, completion queues and their
// notifications, shared receive queues. Also the device's counters and congestion management.
#pragma once

#include <cstdint>
#include <string>

#include "conformance/dut/contract.hpp"
#include "conformance/interpreter/met.hpp"
#include "conformance/interpreter/task.hpp"

namespace veriroce::interpreter {

class Interpreter;

// The protection domain with this number, which the first call makes.
Task<Met<dut::PdHandle>> domain(Interpreter& interpreter, std::int64_t number, Span span);
// Plays the `dut cq` and `dut srq` lines whose queue a QP has (`qp cq=NAME`), wherever they are in
// the script, because the queues must exist before the QPs.
Task<Met<>> make_queues_of_qps(Interpreter& interpreter);
// The CQ that a `qp` line names by `cq` or `recv_cq`, or the CQ of all QPs that name none.
Task<Met<dut::CqHandle>> queue_of_qp(Interpreter& interpreter, const script::QpSetup& setup,
                                     std::string_view kind);
// Arms a limit after the first receives: an empty queue is below every limit, and some devices
// would report that at once.
Task<Met<>> arm_limit(Interpreter& interpreter, const std::string& srq, Span span);
// Reads the counters that the case's `dut counter` lines name, before its first line.
Task<Met<>> note_counters(Interpreter& interpreter);

Task<Met<>> play_dut(Interpreter& interpreter, const script::MakeCq& line, Span span);
Task<Met<>> play_dut(Interpreter& interpreter, const script::MakeSrq& line, Span span);
Task<Met<>> play_dut(Interpreter& interpreter, const script::RearmSrq& line, Span span);
Task<Met<>> play_dut(Interpreter& interpreter, const script::ArmCq& line, Span span);
Task<Met<>> play_dut(Interpreter& interpreter, const script::Congestion& line, Span span);
Task<Met<>> play_dut(Interpreter& interpreter, const script::CqQuiet& line, Span span);
Task<Met<>> play_dut(Interpreter& interpreter, const script::Counter& line, Span span);

} // namespace veriroce::interpreter
