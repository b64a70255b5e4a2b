#include "conformance/interpreter/finding.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <set>

namespace veriroce::interpreter::test {

using namespace std::chrono_literals;

TEST_CASE("finding: every difference is told, with both values", "[interpreter]") {
    const Difference msn{.field = "msn", .expected = "2", .actual = "1"};
    const Difference psn{.field = "psn", .expected = "3..5", .actual = "absent"};
    CHECK(text_of(msn) == "msn: expected 2, got 1");
    CHECK(sentence({.kind = FindingKind::Mismatch, .differences = {msn, psn}}) ==
          "msn: expected 2, got 1; psn: expected 3..5, got absent");
    CHECK(sentence({.kind = FindingKind::Missing, .differences = {msn}, .time = 1s}) ==
          "msn: expected 2, got 1 (waited 1 s)");
    CHECK(
        sentence({.kind = FindingKind::Mismatch,
                  .differences = {{.field = "packet", .expected = "RNR_NAK", .actual = "NAK"}}}) ==
        "expected RNR_NAK, got NAK");
    CHECK(sentence({.kind = FindingKind::Late,
                    .differences = {{.field = "time", .expected = "within 1 us", .actual = "2 us"}},
                    .detail = "after the line before it"}) ==
          "time: expected within 1 us, got 2 us: after the line before it");
}

TEST_CASE("finding: what is missing, unexpected or refused is named", "[interpreter]") {
    CHECK(sentence({.kind = FindingKind::Missing, .line = 7, .subject = "ACK", .time = 20ms}) ==
          "expected ACK, got nothing (waited 20 ms)");
    CHECK(sentence({.kind = FindingKind::Unexpected, .line = 13, .subject = "NAK", .time = 10ms}) ==
          "unexpected NAK: line 13 allows none for 10 ms");
    CHECK(sentence({.kind = FindingKind::Unexpected, .line = 13, .subject = "event"}) ==
          "unexpected event: line 13 allows none");
    CHECK(sentence({.kind = FindingKind::Unexpected, .subject = "completion"}) ==
          "unexpected completion: no line expects it");
    CHECK(sentence({.kind = FindingKind::Refused, .subject = "reg_mr", .detail = "EPERM"}) ==
          "the DUT refused reg_mr: EPERM");
    CHECK(sentence({.kind = FindingKind::Noisy, .detail = "too noisy to judge"}) ==
          "too noisy to judge");
}

TEST_CASE("finding: a summary tells all findings, and how they hang together", "[interpreter]") {
    const Finding violation{
        .kind = FindingKind::Violation,
        .differences = {{.field = "RDR-03", .expected = "it should be 1", .actual = "MSN is 0"}},
        .rules = {"RDR-03"}};
    const Finding mismatch{.kind = FindingKind::Mismatch, .line = 7, .detail = "psn is 0"};
    const Finding unplayable{.kind = FindingKind::Unplayable, .detail = "it never fired"};
    CHECK(summary({}).empty());
    CHECK(summary(std::vector{violation}) ==
          "every line passed, but the packets violate RDR-03: MSN is 0; it should be 1");
    CHECK(summary(std::vector{violation, mismatch}) ==
          "the packets violate RDR-03: MSN is 0; it should be 1; and line 7: psn is 0");
    CHECK(summary(std::vector{unplayable, mismatch}) == "it never fired; and line 7: psn is 0");
    CHECK(summary(std::vector{Finding{.kind = FindingKind::KnownDeviation, .detail = "old"},
                              Finding{.kind = FindingKind::Mismatch, .detail = "psn is 0"}}) ==
          "known deviation: old; here: psn is 0");
    CHECK(summary(std::vector{Finding{.kind = FindingKind::Unanswering, .detail = "no ACK"},
                              unplayable}) ==
          "after this case, the DUT does not answer a SEND on a new QP: no ACK; before that: it "
          "never fired");
}

TEST_CASE("finding: every kind has a name of its own", "[interpreter]") {
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < kFindingKinds; ++i)
        names.insert(name_of(static_cast<FindingKind>(i)));
    CHECK(names.size() == kFindingKinds);
    CHECK(name_of(FindingKind::Missing) == "missing");
    CHECK(name_of(FindingKind::DeviationAbsent) == "deviation-absent");
}

} // namespace veriroce::interpreter::test
