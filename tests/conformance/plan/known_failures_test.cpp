// What a profile's entries say of failures outside their cases.
#include <catch2/catch.hpp>

#include "conformance/plan/known_failures.hpp"

namespace veriroce::plan {
namespace {

using interpreter::Finding;
using interpreter::FindingKind;
using interpreter::Violation;

constexpr std::string_view kProfile = R"(profile: some device
deviations:
  - case: len/receive-too-small
    reason: "another code"
    kind: mismatch
    line: "< NAK psn=0 msn=0 code=INVALID_REQUEST"
    field: code
  - rule: RNR-08
    reason: "goes on too far"
    kind: violation
  - rule: TMO-01
    reason: "too early"
    kind: late
  - rule: RSP-02
    reason: "repaired"
    kind: violation
    until: "2020-01-01"
)";

std::vector<KnownFailure> known() {
    const auto profile = parse_profile("some.yaml", kProfile);
    REQUIRE(profile.has_value());
    return known_failures(*profile, {.firmware = "", .kernel = {}, .today = "2026-01-01"});
}

Finding mismatch(std::string field, std::string expected) {
    Finding finding{.kind = FindingKind::Mismatch, .differences = {{.field = field}}};
    finding.expected = std::move(expected);
    return finding;
}

} // namespace

TEST_CASE("known failures: a violation is known by its rule", "[profile]") {
    CHECK(is_known(known(), Violation{.rule = "RNR-08", .certain = true}));
    CHECK_FALSE(is_known(known(), Violation{.rule = "ACK-04", .certain = true}));
    CHECK_FALSE(is_known(known(), Violation{.rule = "TMO-01", .certain = true})); // only late
    CHECK_FALSE(is_known(known(), Violation{.rule = "RSP-02", .certain = true})); // expired
    CHECK_FALSE(is_known({}, Violation{.rule = "RNR-08", .certain = true}));
}

TEST_CASE("known failures: another finding by kind, subject and field", "[profile]") {
    CHECK(is_known(known(), mismatch("code", "b < NAK psn=7 code=INVALID_REQUEST")));
    CHECK_FALSE(is_known(known(), mismatch("psn", "b < NAK psn=7 code=INVALID_REQUEST")));
    CHECK_FALSE(is_known(known(), mismatch("code", "b < NAK psn=7 code=REMOTE_ACCESS")));
    Finding missing = mismatch("code", "b < NAK psn=7 code=INVALID_REQUEST");
    missing.kind = FindingKind::Missing;
    CHECK_FALSE(is_known(known(), missing));
}

TEST_CASE("known failures: what a line is about", "[profile]") {
    CHECK(subject_of_line("b < NAK psn=1 msn=1 code=REMOTE_ACCESS") == "< NAK code=REMOTE_ACCESS");
    CHECK(subject_of_line("dut done b recv id=1 len=77") == "dut done recv");
    CHECK(subject_of_line("dut event SQ_DRAINED within 1s") == "dut event SQ_DRAINED");
}

} // namespace veriroce::plan
