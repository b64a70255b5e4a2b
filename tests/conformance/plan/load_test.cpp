// Cases tagged `load`: hundreds of QPs, thousands of messages.
#include <catch2/catch.hpp>

#include <algorithm>

#include "tests/conformance/plan/playing.hpp"

namespace veriroce::plan {
namespace {

using interpreter::CaseResult;
using interpreter::Verdict;
using test::kSanitized;
using test::play_suite;
using test::right_engine;

} // namespace

TEST_CASE("load: the right engine passes under load", "[load]") {
    // Sanitizers take ten times as long.
    const auto results = play_suite(
        Selection{.names = {kSanitized ? "load/mixed-under-loss" : "load"}}, right_engine());
    for (const CaseResult& result : results) {
        INFO(test::text_of(result));
        CHECK(result.verdict == Verdict::Pass);
    }
}

TEST_CASE("load: they are played if asked for", "[load]") {
    const auto load_cases = [](const Selection& selection) {
        return std::ranges::count_if(test::plan_of(selection).cases,
                                     [](const script::Case& one) { return one.tagged("load"); });
    };
    CHECK(load_cases({}) == 0);
    CHECK(load_cases({.names = {"load/one-word"}}) == 1);
    CHECK(load_cases({.tags = {"load"}}) == 5);
    CHECK(load_cases({.load = true}) == 5);
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
