// A signal in the middle of a case: it ends at once, and earlier results stay.
#include <catch2/catch.hpp>

#include <csignal>

#include "dissector/command_line/stop_on_signal.hpp"
#include "tests/conformance/testbed/testbed_around.hpp"

namespace veriroce::test {
namespace {

// Whether a signal came is remembered by the process: the next test knows of none.
struct Forgets {
    Forgets() = default;
    Forgets(const Forgets&) = delete;
    Forgets& operator=(const Forgets&) = delete;
    ~Forgets() { const command_line::StopOnSignal anew; }
};

// The signal comes with the second case.
class SignalledTestbed final : public TestbedAround {
    CaseResult play_case(const script::Case& script, const script::Run& run,
                         const Environment& environment) override {
        if (played() == 2) std::raise(SIGINT);
        return TestbedAround::play_case(script, run, environment);
    }
};

} // namespace

TEST_CASE("interrupt: the case at hand ends and counts as not played", "[plan]") {
    const Forgets forgets;
    const command_line::StopOnSignal stop;
    Selection selection;
    selection.names = {"rsp/gap-nak"};
    selection.repeat = 3;
    const Plan plan = plan_of(selection);
    SignalledTestbed testbed;
    PlanRun run(testbed, plan, selection, {});
    CHECK(run.upcoming() == "rsp/gap-nak[round=1]");
    CHECK(run.next()->verdict == Verdict::Pass);
    CHECK_FALSE(run.next().has_value());
    CHECK(run.done() == 1);
    CHECK_FALSE(run.upcoming().has_value());
}

TEST_CASE("interrupt: a case that waits for long ends inside of its wait", "[plan]") {
    const Forgets forgets;
    const command_line::StopOnSignal stop;
    std::raise(SIGTERM);
    const CaseResult result = play_script("rule   RSP-01\n"
                                          "title  \"Long\"\n"
                                          "role   responder\n"
                                          "\n"
                                          "repeat 10000\n"
                                          "  wait 1s\n"
                                          "end\n");
    CHECK(result.verdict == Verdict::Error);
    CHECK(result.packets.empty());
}

} // namespace veriroce::test
