// What no line of a script names is judged all the same, and nobody is blamed for what fault rules
// did.
#include <catch2/catch.hpp>

#include <algorithm>

#include "conformance/interpreter/judging.hpp"
#include "tests/conformance/plan/playing.hpp"

namespace veriroce::test {
namespace {

VirtualTestbedOptions device_with(std::string_view mutant) {
    const auto found = mutants::find(mutant);
    REQUIRE(found.has_value());
    return engine_of(*found);
}

bool has(const std::vector<std::string>& rules, std::string_view rule) {
    return std::ranges::find(rules, rule) != rules.end();
}

} // namespace

TEST_CASE("judging: a rule that no line names fails the case", "[interpreter][RDR-03]") {
    int failed = 0;
    for (const CaseResult& result :
         play_suite(over_both({"rdr/response-opcodes"}), device_with("read_not_in_its_msn"))) {
        INFO(result.id);
        if (result.verdict == Verdict::Pass) continue;
        ++failed;
        CHECK(result.verdict == Verdict::Fail);
        CHECK(has(result.rules, "RDR-03"));
        CHECK(result.reason().find("every line passed, but the packets violate RDR-03: ") == 0);
        CHECK(result.line() == 0);
        REQUIRE_FALSE(result.violations.empty());
        const Violation& violation = result.violations.front();
        CHECK(violation.certain);
        CHECK(violation.level == rules::Level::Must);
        REQUIRE_FALSE(violation.packets.empty());
        const RecordedPacket& proof = result.packets.at(violation.packets.front());
        CHECK(proof.from == Side::Dut);
        CHECK(result.actual() == proof.script);
        CHECK(violation.measured.starts_with("MSN is "));
        CHECK(violation.allowed.starts_with("MSN must be "));
        CHECK(result.findings.front().packet == violation.packets.front());
    }
    CHECK(failed >= 12);
}

TEST_CASE("judging: the right engine is blamed for nothing, whatever the cases do to it",
          "[interpreter]") {
    for (const CaseResult& result : play_suite(over_both(), right_engine())) {
        INFO(result.id);
        CHECK(result.verdict == Verdict::Pass);
        CHECK(std::ranges::none_of(result.violations, &Violation::certain));
    }
}

TEST_CASE("judging: a SHOULD warns, and no judgement makes a failed case better", "[interpreter]") {
    const auto heeded = [](Verdict before, rules::Level level, bool certain) {
        CaseResult result;
        result.level = rules::Level::Should; // of the case: what it is about is not what was broken
        result.verdict = before;
        result.packets.resize(1);
        result.violations.push_back(
            {.rule = "X-01", .level = level, .certain = certain, .packets = {0}, .measured = "so"});
        blame_violations(result);
        return result.verdict;
    };
    using enum Verdict;
    CHECK(heeded(Pass, rules::Level::Must, true) == Fail);
    CHECK(heeded(Pass, rules::Level::Should, true) == Warn);
    CHECK(heeded(Pass, rules::Level::Info, true) == Pass);
    CHECK(heeded(Pass, rules::Level::Must, false) == Pass);
    CHECK(heeded(Warn, rules::Level::Must, true) == Fail);
    CHECK(heeded(Fail, rules::Level::Should, true) == Fail);
    CHECK(heeded(Error, rules::Level::Must, true) == Error);
    CHECK(heeded(Skip, rules::Level::Must, true) == Skip);
}

} // namespace veriroce::test
