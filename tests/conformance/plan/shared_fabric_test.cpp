// --shared-fabric: runs that disturb other hosts of the network are left out, each with the reason.
#include "tests/conformance/plan/playing.hpp"

#include <map>

using namespace veriroce;
using namespace veriroce::test;

namespace {

std::map<std::string, std::string> skipped(bool shared_fabric) {
    Selection selection;
    selection.names = {"rob", "rsp/gap-nak"};
    selection.shared_fabric = shared_fabric;
    const auto plan = make_plan(selection, {});
    REQUIRE(plan.has_value());
    VirtualTestbed bench(right_engine());
    PlanRun run(bench, *plan, selection, {});
    std::map<std::string, std::string> reasons;
    while (const auto result = run.next()) {
        if (result->verdict == Verdict::Skip) reasons[result->id] = result->reason();
    }
    return reasons;
}

} // namespace

TEST_CASE("plan: --shared-fabric leaves out what sends PAUSE frames", "[plan]") {
    CHECK(skipped(false).empty());
    const std::string reason = "--shared-fabric: it sends PAUSE frames, which may stop other hosts";
    CHECK(skipped(true) ==
          std::map<std::string, std::string>{{"rob/other-frames", reason}, {"rob/paused", reason}});
}
