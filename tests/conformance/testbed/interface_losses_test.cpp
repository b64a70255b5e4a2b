// Packets that the tester's own interface lost say nothing about the device.
#include "conformance/testbed/interface_losses.hpp"

#include <catch2/catch.hpp>

namespace veriroce::testbed::test {

using namespace interpreter;

namespace {

CaseResult failed(Finding finding) {
    CaseResult result;
    result.verdict = Verdict::Fail;
    result.findings = {std::move(finding)};
    return result;
}

constexpr InterfaceLosses before{.rx_dropped = 7};
constexpr InterfaceLosses after{.rx_dropped = 8, .rx_missed_errors = 3};

} // namespace

TEST_CASE("interface losses: the growth of each counter is told", "[testbed]") {
    CHECK(growth_text(before, before).empty());
    CHECK(growth_text(before, after) == "rx_missed_errors +3, rx_dropped +1");
    CHECK(growth_text({.rx_dropped = 0xFFFF'FFFF}, {.rx_dropped = 1}) == "rx_dropped +2");
}

TEST_CASE("interface losses: a failure that they explain is an ERROR", "[testbed]") {
    const Finding missing{.kind = FindingKind::Missing, .line = 7, .subject = "ACK"};
    CaseResult result = failed(missing);
    hold_to_losses(result, before, before);
    CHECK(result.verdict == Verdict::Fail);
    CHECK(result.lost_packets == 0);
    hold_to_losses(result, before, after);
    CHECK(result.verdict == Verdict::Error);
    CHECK(result.lost_packets == 4);
    CHECK(result.reason() == "the tester's interface lost packets (rx_missed_errors +3, rx_dropped "
                             "+1); before that: line 7: expected ACK, got nothing");
}

TEST_CASE("interface losses: a contradiction and a pass stay", "[testbed]") {
    CaseResult wrong = failed({.kind = FindingKind::Mismatch,
                               .differences = {{.field = "tver", .expected = "0", .actual = "1"}},
                               .packet = 0});
    hold_to_losses(wrong, before, after);
    CHECK(wrong.verdict == Verdict::Fail);
    CHECK(wrong.lost_packets == 4);
    CaseResult beside = failed({.kind = FindingKind::Missing});
    beside.violations = {{.rule = "BTH-01", .certain = true}};
    hold_to_losses(beside, before, after);
    CHECK(beside.verdict == Verdict::Fail);
    CaseResult passed;
    passed.verdict = Verdict::Pass;
    hold_to_losses(passed, before, after);
    CHECK(passed.verdict == Verdict::Pass);
    CHECK(passed.lost_packets == 0);
}

TEST_CASE("interface losses: an interface of this host has counters, an unknown one has none",
          "[testbed]") {
    CHECK(losses_of("lo").has_value());
    CHECK_FALSE(losses_of("no-such-if").has_value());
}

} // namespace veriroce::testbed::test
