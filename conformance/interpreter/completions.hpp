// Completions, events and states of the DUT: fetching them, their text, and whether a completion is
// the one that a `done` line describes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "conformance/dut/contract.hpp"
#include "conformance/interpreter/met.hpp"
#include "conformance/interpreter/task.hpp"

namespace veriroce::interpreter {

class Interpreter;
struct CaseQp;
struct Objects;

// Fetches the completions of the QP's CQ, waiting at most `wait` for the first. Gives each to its
// own QP, because QPs may share the queue.
Task<Met<>> collect_completions(Interpreter& interpreter, CaseQp& qp, wire::Duration wait,
                                Span span);
Task<Met<>> collect_events(Interpreter& interpreter, wire::Duration wait, Span span);
// A device without `query_qp` does not report the state of a QP: lines about it are passed over.
bool reports_state(const Interpreter& interpreter);
// Nothing if the DUT does not report its state.
Task<Met<std::optional<engine::QpState>>> state_of_dut(Interpreter& interpreter, const CaseQp& qp,
                                                       Span span);

std::string completion_name(const dut::Completion& completion); // "recv completion id=3"
std::string completion_text(const dut::Completion& completion); // "done recv id=3 status=..."
std::string state_text(std::optional<engine::QpState> state);

// How the completion differs from the line's for this id: every value.
Met<std::vector<Difference>> differences(const Objects& objects, const CaseQp& qp,
                                         const script::Done& line, std::int64_t id,
                                         const dut::Completion& seen);

} // namespace veriroce::interpreter
