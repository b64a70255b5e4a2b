// Faults of a case, and of a plan from outside of it: what is played, and what a missed one means.
#include <catch2/catch.hpp>

#include "conformance/plan/shrink.hpp"
#include "tests/conformance/interpreter/lines.hpp"

namespace veriroce::test {
namespace {

const std::string send_acknowledged = with("dut    recv id=1..2\n"
                                           "> SEND_ONLY  psn=0 ackreq\n"
                                           "< ACK        psn=0\n"
                                           "> SEND_ONLY  psn=1 ackreq\n"
                                           "< ACK        psn=1\n"
                                           "dut    done recv id=1..2\n");

FaultPlan plan_with(std::string text) {
    FaultPlan plan{.path = "x.faults", .text = std::move(text), .rules = {}};
    auto rules = script::load_plan(plan.path, plan.text);
    if (!rules) FAIL(rules.error().front().text(plan.path));
    plan.rules = std::move(*rules);
    return plan;
}

CaseResult play_under(std::string_view text, FaultPlan plan) {
    const auto compiled = script::compile("made/up.roce", text);
    REQUIRE(compiled.has_value());
    VirtualTestbed testbed(right_engine());
    Environment environment = testbed.environment({});
    environment.plan = std::move(plan);
    return testbed.play(compiled->test_case, compiled->runs.front(), environment);
}

} // namespace

TEST_CASE("faults: a rule that missed is an ERROR, whatever else failed", "[plan]") {
    const std::string rule = "fault  drop when from=tester psn=7 fires=2\n";
    const CaseResult alone = fails(with(rule + "> SEND_ONLY  psn=1 ackreq\n"
                                               "< NAK        psn=0\n"),
                                   "fired 0 times, expected 2", Verdict::Error);
    CHECK(alone.line() == 0);
    const CaseResult both =
        fails(with(rule + "> SEND_ONLY  psn=1 ackreq\n"
                          "< NAK        psn=3\n"),
              "fired 0 times, expected 2; and line 7: psn: expected 3, got 0", Verdict::Error);
    CHECK(both.line() == 7);
    CHECK(both.expected() == "< NAK        psn=3");
    CHECK(both.actual() == "< NAK psn=0 msn=0 code=PSN_SEQUENCE");
}

TEST_CASE("faults: a rule that a failing line cut short leaves the DUT its FAIL", "[plan]") {
    const CaseResult result = fails(with("dut    post SEND id=1\n"
                                         "fault  drop when from=dut psn=0 fires=3\n"
                                         "< SEND_ONLY  psn=0 within 1ms\n"),
                                    "expected SEND_ONLY, got nothing (waited 1 ms)");
    REQUIRE(result.faults.size() == 1);
    CHECK(result.faults[0].fired == 1);
}

TEST_CASE("faults: a plan acts on every case that is played under it", "[plan]") {
    CHECK(play_under(send_acknowledged, {}).verdict == Verdict::Pass);
    const CaseResult lost = play_under(send_acknowledged, plan_with("drop when from=b psn=1\n"));
    CHECK(lost.verdict == Verdict::Fail);
    CHECK(lost.line() == 9);
    REQUIRE(lost.faults.size() == 1);
    CHECK(lost.faults[0].fired == 1);
    const CaseResult missed = play_under(send_acknowledged, plan_with("drop when psn=99\n"));
    CHECK(missed.verdict == Verdict::Error);
    CHECK(missed.reason().ends_with("never fired"));
}

TEST_CASE("faults: no plan touches the sanity exchange", "[plan]") {
    Selection selection;
    selection.names = {"rsp/gap-nak"};
    const Plan plan = plan_of(selection);
    VirtualTestbed testbed(right_engine());
    RunOptions options;
    options.plan = plan_with("delay 1us when from=dut\ndrop when psn=0 p=0.0\n");
    PlanRun run(testbed, plan, selection, options);
    CHECK(run.next()->verdict == Verdict::Pass);
    options.plan = plan_with("drop when from=dut\n"); // no sanity exchange could pass
    PlanRun deaf(testbed, plan, selection, options);
    const auto result = deaf.next();
    CHECK(result->verdict == Verdict::Fail);
    CHECK(result->reason().find("does not answer a SEND") == std::string::npos);
}

TEST_CASE("shrink: of a case under a plan the plan is made small", "[plan]") {
    const auto compiled = script::compile("made/up.roce", send_acknowledged);
    REQUIRE(compiled.has_value());
    VirtualTestbed testbed(right_engine());
    Environment environment = testbed.environment({});
    environment.plan = plan_with("# three rules, one of them to blame\n"
                                 "mark ce when from=b psn=0 also\n"
                                 "drop when from=b psn=1\n"
                                 "delay 1us when from=a also\n");
    const auto small = shrink(testbed, compiled->test_case, compiled->runs.front(), environment);
    if (!small) FAIL(small.error());
    CHECK(small->text == "drop when from=b psn=1\n");
    CHECK(small->result.verdict == Verdict::Fail);
}

} // namespace veriroce::test
