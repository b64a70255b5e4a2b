// Cases tagged `load`: hundreds of QPs, thousands of messages.
#include <catch2/catch.hpp>

#include <algorithm>

#include "tests/conformance/plan/playing.hpp"

namespace veriroce::plan {
namespace {

using test::play_suite;
using test::right_engine;

Selection loads(std::vector<std::string> names) {
    Selection selection;
    selection.names = std::move(names);
    selection.load = true;
    return selection;
}

void check_all_pass(const std::vector<CaseResult>& results) {
    for (const CaseResult& result : results) {
        INFO(test::text_of(result));
        CHECK(result.verdict == Verdict::Pass);
    }
}

bool fails(std::string_view defect, std::string name) {
    const auto mutant = mutants::find(defect);
    REQUIRE(mutant.has_value());
    const auto results = play_suite(loads({std::move(name)}), test::engine_of(mutant->get()));
    return std::ranges::all_of(results,
                               [](const CaseResult& one) { return one.verdict == Verdict::Fail; });
}

} // namespace

TEST_CASE("load: the right engine passes under load", "[load]") {
    // Sanitizers take ten times as long.
    check_all_pass(
        play_suite(loads({kSanitized ? "load/mixed-under-loss" : "load"}), right_engine()));
}

TEST_CASE("load: without --load they are skipped", "[load]") {
    for (const CaseResult& result : play_suite(Selection{.names = {"load"}}, right_engine())) {
        CHECK(result.verdict == Verdict::Skip);
        CHECK(result.reason() == "load: use --load");
    }
}

TEST_CASE("load: defects of recovery show while all QPs recover", "[load][mutants]") {
    CHECK(fails("middle_skipped_on_resend", "load/mixed-under-loss"));
    CHECK(fails("one_replay_too_few", "load/mixed-under-loss"));
    if (!kSanitized) CHECK(fails("receive_ids_swapped", "load/back-to-back"));
}

// A queue of the tester that overruns would look like a device that does not answer.
TEST_CASE("load: the tester has room for all completions of its QPs", "[load]") {
    const CaseResult result = test::play_script(R"(rule   RSP-01
title  "Many QPs complete at once"
role   responder
qp     q[6]

dut    mr t len=64 access=remote_write fill=zero
tester mr r len=64 fill=random
repeat i in 0..5
  tester answers q[i]
  tester post q[i] RDMA_WRITE id=1..100 local=r[0 +8] remote=t[0 +8]
end
wait 100ms
repeat i in 0..5
  tester done q[i] send id=1..100
end
)");
    INFO(test::text_of(result));
    CHECK(result.verdict == Verdict::Pass);
}

} // namespace veriroce::plan
