#include "conformance/interpreter/commands.hpp"

#include <utility>

#include "conformance/interpreter/clock.hpp"
#include "conformance/interpreter/connect.hpp"
#include "conformance/interpreter/connections.hpp"
#include "conformance/interpreter/dut_calls.hpp"
#include "conformance/interpreter/objects.hpp"
#include "conformance/interpreter/one_of.hpp"
#include "conformance/interpreter/queues.hpp"
#include "conformance/interpreter/regions.hpp"
#include "conformance/interpreter/tester_commands.hpp"
#include "conformance/interpreter/waiting.hpp"
#include "conformance/interpreter/windows.hpp"
#include "conformance/interpreter/work.hpp"

namespace veriroce::interpreter {
namespace {

// Commands that wait: `done`, `state`, `event`, `notified`.
Task<Met<>> wait_for(Interpreter& interpreter, const script::SideCommand& line, Span span) {
    std::optional<Awaited> waiting = co_await awaited(interpreter, line, span);
    co_await await_one(interpreter, std::move(*waiting));
    co_return Met<>{};
}

// One command of one side. There is no catch-all: a command without an overload does not compile.
struct OfDut {
    Interpreter& interpreter;
    const script::SideCommand& line;
    CaseQp& qp;
    Span span;

    Task<Met<>> operator()(const script::Post& post) const {
        return play_post(interpreter, qp, post, span, !line.refused);
    }
    Task<Met<>> operator()(const script::Recv& recv) const {
        return post_receive(interpreter, qp, recv, span, !line.refused);
    }
    Task<Met<>> operator()(const script::Modify& modify) const {
        return play_modify(interpreter, qp, modify, span);
    }
    Task<Met<>> operator()(const script::Reconnect& reconnect) const {
        return play_reconnect(interpreter, qp, reconnect, span);
    }
    Task<Met<>> operator()(const script::Connection& connection) const {
        return play_connection(interpreter, qp, connection, span);
    }
    template <OneOf<script::Done, script::State, script::EventSeen, script::Notified> Waiting>
    Task<Met<>> operator()(const Waiting& /*waiting*/) const {
        return wait_for(interpreter, line, span);
    }
    template <OneOf<script::MakeMr, script::MakeMw, script::Dereg, script::WriteMemory,
                    script::MakeCq, script::MakeSrq, script::RearmSrq, script::ArmCq,
                    script::Congestion, script::CqQuiet, script::Counter>
                  OfObject>
    Task<Met<>> operator()(const OfObject& object) const {
        return play_dut(interpreter, object, span);
    }
    Task<Met<>> operator()(const script::Answers& /*answers*/) const { return only("tester"); }

    Task<Met<>> only(std::string_view side) const {
        co_return unplayable(span, "only the " + std::string(side) + " has this command");
    }
};

struct OfTester {
    Interpreter& interpreter;
    const script::SideCommand& line;
    CaseQp& qp;
    Span span;

    Task<Met<>> operator()(const script::Answers& /*answers*/) const {
        co_return tester_answers(qp, span);
    }
    Task<Met<>> operator()(const script::MakeMr& mr) const {
        co_return make_tester_region(interpreter, mr, span);
    }
    Task<Met<>> operator()(const script::WriteMemory& write) const {
        return play_dut(interpreter, write, span); // the region knows its side
    }
    template <OneOf<script::Post, script::Recv, script::Modify> Verb>
    Task<Met<>> operator()(const Verb& verb) const {
        co_await must_answer(qp, span);
        co_await play_tester(interpreter, qp, verb, span);
        interpreter.clock().line_ended();
        co_return Met<>{};
    }
    template <OneOf<script::Done, script::State> Waiting>
    Task<Met<>> operator()(const Waiting& /*waiting*/) const {
        co_await must_answer(qp, span);
        co_await wait_for(interpreter, line, span);
        interpreter.clock().line_ended();
        co_return Met<>{};
    }
    template <
        OneOf<script::MakeMw, script::Dereg, script::MakeCq, script::MakeSrq, script::RearmSrq,
              script::ArmCq, script::Congestion, script::Connection, script::Reconnect,
              script::EventSeen, script::Notified, script::CqQuiet, script::Counter>
            DutOnly>
    Task<Met<>> operator()(const DutOnly& /*command*/) const {
        co_return unplayable(span, "only the DUT has this command");
    }
};

Task<Met<>> carry_out(Interpreter& interpreter, const script::SideCommand& line, Span span) {
    CaseQp& qp = *co_await qp_of(interpreter.objects(), line.qp);
    if (line.side == Side::Tester) {
        const OfTester tester{interpreter, line, qp, span};
        co_await std::visit(tester, line.command);
    } else {
        const OfDut dut{interpreter, line, qp, span};
        co_await std::visit(dut, line.command);
    }
    co_return Met<>{};
}

} // namespace

Task<Met<>> play(Interpreter& interpreter, const script::SideCommand& line, Span span) {
    if (!line.refused) {
        co_await carry_out(interpreter, line, span);
        co_return Met<>{};
    }
    Met<> met = co_await outcome_of(carry_out(interpreter, line, span));
    interpreter.clock().line_ended();
    if (met) {
        std::vector<Difference> differing;
        differing.push_back({"verb", "refused", "accepted"});
        co_return failed(mismatch(span, std::move(differing), "accepted"));
    }
    if (!is_refusal(met.error())) co_return met;
    co_return Met<>{};
}

} // namespace veriroce::interpreter
