// Calls of the DUT contract, as lines make them.
//
// Name a dut::Request before you await a call with it, and move it in: g++ 12 destroys a temporary
// of such an expression twice.
#pragma once

#include <utility>

#include "conformance/dut/contract.hpp"
#include "conformance/interpreter/events.hpp"
#include "conformance/interpreter/interpreter.hpp"
#include "conformance/interpreter/met.hpp"
#include "conformance/interpreter/task.hpp"

namespace veriroce::interpreter {

struct Environment;

// Whether every device can do what the request asks for, or a lawful device may lack it.
enum class Demand : std::uint8_t { Basic, Optional };
Demand demand_of(const dut::Request& request, const Environment& environment);

// The DUT refused a verb or did not answer: an ERROR, because the tester could not prepare the
// case. A SKIP that names the verb if the device lacks what was demanded, and in a dialogue if the
// queue is full: dialogues do not count its places.
std::unexpected<Unmet> refused(const Interpreter& interpreter, const dut::Failure& failure,
                               Demand demand, Span span);
[[nodiscard]] bool is_refusal(const Unmet& unmet);

// How long one call to the DUT may wait; bounded, so that it does not outlive its case by much.
std::uint32_t wait_ms_of(wire::Duration left);

template <typename Result>
Task<Met<Result>> ask(Interpreter& interpreter, dut::Request request, Span span) {
    const Demand demand = demand_of(request, interpreter.environment());
    dut::Answer answer = co_await interpreter.events().call(std::move(request));
    if (!answer) co_return refused(interpreter, answer.error(), demand, span);
    auto* result = std::get_if<Result>(&*answer);
    if (result == nullptr) co_return unplayable(span, "the DUT answered another question");
    co_return std::move(*result);
}

} // namespace veriroce::interpreter
