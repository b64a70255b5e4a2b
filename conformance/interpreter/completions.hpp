// Completions, events, states and notifications: `done`, `event`, `state` and `notified` lines, and
// fetching of the DUT what they wait for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conformance/dut/contract.hpp"
#include "conformance/interpreter/met.hpp"
#include "conformance/interpreter/task.hpp"

namespace veriroce::interpreter {

class Interpreter;
struct Awaited;
struct CaseQp;
struct OpenLines;
struct Question;

// `done`
struct AwaitedCompletions {
    const script::Done* line = nullptr;
    Side side = Side::Dut;
    std::int64_t next = 0; // id
    std::int64_t last = 0;

    // The DUT refused these posts, so that nothing is to come.
    [[nodiscard]] bool none() const { return next > last; }
};
// `state`
struct AwaitedState {
    const script::State* line = nullptr;
    Side side = Side::Dut;
    std::optional<engine::QpState> seen;
};
// `event`
struct AwaitedEvent {
    const script::EventSeen* line = nullptr;
};
// `notified`
struct AwaitedNotification {
    const script::Notified* line = nullptr;
    bool came = false;
};

// What waiting.hpp asks of each kind of line.
Met<AwaitedCompletions> awaited_by(Interpreter& interpreter, const script::Done& line, Side side,
                                   const CaseQp& qp);
Task<Met<>> ask_for(Interpreter& interpreter, const Awaited& line, AwaitedCompletions& what,
                    Question question);
Task<Met<>> ask_for(Interpreter& interpreter, const Awaited& line, AwaitedState& what,
                    Question question);
Task<Met<>> ask_for(Interpreter& interpreter, const Awaited& line, AwaitedEvent& what,
                    Question question);
Task<Met<>> ask_for(Interpreter& interpreter, const Awaited& line, AwaitedNotification& what,
                    Question question);
Met<> take(Interpreter& interpreter, OpenLines& open, Awaited& line,
           const AwaitedCompletions& what);
Met<> take(Interpreter& interpreter, OpenLines& open, Awaited& line, const AwaitedState& what);
Met<> take(Interpreter& interpreter, OpenLines& open, Awaited& line, const AwaitedEvent& what);
Met<> take(Interpreter& interpreter, OpenLines& open, Awaited& line,
           const AwaitedNotification& what);
// Whether the queue's next completion is the one that the line waits for.
Met<bool> is_there(Interpreter& interpreter, const Awaited& line, const AwaitedCompletions& what);
Finding overdue(Interpreter& interpreter, const Awaited& line, const AwaitedCompletions& what);
Finding overdue(Interpreter& interpreter, const Awaited& line, const AwaitedState& what);
Finding overdue(Interpreter& interpreter, const Awaited& line, const AwaitedEvent& what);
Finding overdue(Interpreter& interpreter, const Awaited& line, const AwaitedNotification& what);

// A `wait` of this length or more fetches completions before it ends.
inline constexpr wire::Duration kWaitThatLooks = std::chrono::milliseconds(4);

// Fetches the completions of the QP's CQs, waiting at most `wait` for the first of the `awaited`
// queue. Gives each to its own QP, because QPs may share a CQ.
Task<Met<>> collect_completions(Interpreter& interpreter, CaseQp& qp, wire::Duration wait,
                                Span span, engine::Queue awaited = engine::Queue::Send);
Task<Met<>> collect_events(Interpreter& interpreter, wire::Duration wait, Span span);
// A device without `query_qp` does not report the state of a QP: lines about it are passed over.
bool reports_state(const Interpreter& interpreter);
// Nothing if the DUT does not report its state.
Task<Met<std::optional<engine::QpState>>> state_of_dut(Interpreter& interpreter, const CaseQp& qp,
                                                       Span span);

std::string completion_name(const dut::Completion& completion); // "recv completion id=3"
std::string completion_text(const dut::Completion& completion); // "done recv id=3 status=..."
std::string state_text(std::optional<engine::QpState> state);
std::string event_text(engine::EventType type); // "event SQ_DRAINED"

} // namespace veriroce::interpreter
