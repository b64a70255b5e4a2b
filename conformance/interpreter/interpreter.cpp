#include "conformance/interpreter/interpreter.hpp"

#include <exception>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "conformance/interpreter/blocks.hpp"
#include "conformance/interpreter/clock.hpp"
#include "conformance/interpreter/commands.hpp"
#include "conformance/interpreter/conclude.hpp"
#include "conformance/interpreter/connect.hpp"
#include "conformance/interpreter/dut_calls.hpp"
#include "conformance/interpreter/expect.hpp"
#include "conformance/interpreter/objects.hpp"
#include "conformance/interpreter/record.hpp"
#include "conformance/interpreter/regions.hpp"
#include "conformance/interpreter/send.hpp"
#include "conformance/interpreter/silence.hpp"
#include "conformance/interpreter/story.hpp"
#include "conformance/interpreter/tester_peer.hpp"
#include "conformance/interpreter/wire.hpp"

namespace veriroce::interpreter {
namespace {

Environment with_named_addresses(const script::Case& script, Environment environment) {
    const auto name = [](const std::vector<script::Word>& names,
                         const std::vector<wire::IpAddress>& from,
                         std::map<std::string, wire::IpAddress>& into) {
        for (std::size_t i = 0; i < std::min(names.size(), from.size()); ++i)
            into[names[i].text] = from[i];
    };
    name(script.tester_addresses, environment.tester.spare, environment.tester.named);
    name(script.dut_addresses, environment.dut_others, environment.dut_named);
    return environment;
}

CaseResult result_of(const script::Case& script, const script::Run& run) {
    CaseResult result;
    result.id = script.id() + run.suffix;
    result.title = run.title;
    result.level = script.level;
    result.file = script.path;
    for (const script::Word& rule : script.rules)
        result.rules.push_back(rule.text);
    result.verdict = Verdict::Pass;
    return result;
}

Task<Met<>> play(Interpreter& interpreter, const script::FaultLine& line, Span /*span*/) {
    interpreter.wire().add(line.rule);
    co_return Met<>{};
}

// There is no catch-all: a kind of statement without a `play` does not compile.
Task<Met<>> play_statement(Interpreter& interpreter, const script::Statement& statement) {
    return std::visit([&](const auto& line) { return play(interpreter, line, statement.span); },
                      statement.node);
}

Task<Met<>> play_all(Interpreter& interpreter) {
    co_await connect(interpreter);
    Met<> played = co_await outcome_of(play(interpreter, interpreter.run().body));
    if (!played && played.error().verdict != Verdict::Pass) co_return played;
    co_await conclude(interpreter);
    co_return Met<>{};
}

// The outermost task: however the lines end, it sets a verdict and destroys what the case made on
// the DUT.
Task<void> play_case(Interpreter& interpreter) {
    Met<> outcome;
    try {
        outcome = co_await play_all(interpreter);
        if (!outcome) co_await hear_who_gave_up(interpreter);
    } catch (const std::exception& escaped) { // our mistake: it costs one case, not the run
        outcome = std::unexpected(
            Unmet{Verdict::Error,
                  Finding{.kind = FindingKind::Internal,
                          .detail = fmt::format("the harness failed: {}", escaped.what())}});
    }
    judge_outcome(interpreter, std::move(outcome));
    dut::Request reset = dut::Reset{};
    const dut::Answer gone = co_await interpreter.events().call(std::move(reset));
    if (gone || interpreter.result().verdict != Verdict::Pass) co_return;
    interpreter.result().verdict = Verdict::Error;
    Unmet unmet = refused(interpreter, gone.error(), Demand::Basic, {}).error();
    interpreter.result().findings.assign(1, std::move(unmet.finding));
}

} // namespace

struct Interpreter::Parts {
    Parts(Interpreter& interpreter, const script::Case& of, const script::Run& its_run,
          const Environment& where)
        : script(of), run(its_run), environment(with_named_addresses(of, where)),
          events([&interpreter](wire::Bytes frame,
                                Interval at) { interpreter.wire().hear(frame, at); },
                 [&interpreter] { return interpreter.record().size(); }),
          record(environment.most_recorded_bytes), tester(environment),
          wire(environment, events, record, objects, tester), clock(events, record),
          result(result_of(of, its_run)) {
        objects.least_timeout = environment.ack_timer_floor;
    }

    const script::Case& script;
    const script::Run& run;
    Environment environment;
    Events events;
    Record record;
    Objects objects;
    TesterPeer tester;
    Wire wire;
    Clock clock;
    CaseResult result;
    std::optional<HostLook> last_look;
    Task<void> play; // the last member: it refers to the others
};

Interpreter::Interpreter(const script::Case& script, const script::Run& run,
                         const Environment& environment)
    : parts_(std::make_unique<Parts>(*this, script, run, environment)) {}

Interpreter::~Interpreter() = default;

void Interpreter::start(wire::Instant now) {
    parts_->events.advance(now);
    parts_->play = play_case(*this);
    parts_->play.start();
}

bool Interpreter::finished() const {
    return parts_->play.done();
}

void Interpreter::advance(wire::Instant now) {
    parts_->events.advance(now);
    if (parts_->tester.advance(now)) parts_->wire.transmit_of_engine();
    parts_->wire.release();
}

std::optional<wire::Instant> Interpreter::deadline() const {
    std::optional<wire::Instant> earliest = parts_->events.deadline();
    for (const auto& one : {parts_->wire.next_release(), parts_->tester.next_timeout()}) {
        if (one && (!earliest || *one < *earliest)) earliest = one;
    }
    return earliest;
}

void Interpreter::sent(std::uint64_t number, Interval at) {
    parts_->record.sent(number, at);
}

CaseResult Interpreter::finish() {
    if (!finished()) {
        parts_->result.become(Verdict::Error, FindingKind::Interrupted, "interrupted");
    }
    judge_record(*this);
    return std::move(parts_->result);
}

Events& Interpreter::events() {
    return parts_->events;
}
const script::Case& Interpreter::script() const {
    return parts_->script;
}
const script::Run& Interpreter::run() const {
    return parts_->run;
}
const Environment& Interpreter::environment() const {
    return parts_->environment;
}
Record& Interpreter::record() {
    return parts_->record;
}
Wire& Interpreter::wire() {
    return parts_->wire;
}
Objects& Interpreter::objects() {
    return parts_->objects;
}
TesterPeer& Interpreter::tester() {
    return parts_->tester;
}
Clock& Interpreter::clock() {
    return parts_->clock;
}
CaseResult& Interpreter::result() {
    return parts_->result;
}
std::optional<HostLook>& Interpreter::last_look() {
    return parts_->last_look;
}

Task<Met<>> play(Interpreter& interpreter, const script::Block& statements) {
    for (const script::Statement& one : statements)
        co_await play_statement(interpreter, one);
    co_return Met<>{};
}

} // namespace veriroce::interpreter
