// Runs that were kept as results.json, read again and compared.
#include <catch2/catch.hpp>

#include "reports/comparison.hpp"
#include "reports/json.hpp"
#include "tests/reports/made_up.hpp"

namespace veriroce::test {
namespace {

using interpreter::CaseResult;
using interpreter::Verdict;
using reports::Comparison;
using reports::SavedRun;
using reports::TableFormat;

CaseResult result_of(std::string id, Verdict verdict) {
    CaseResult result;
    result.become(verdict, interpreter::FindingKind::Internal, "why");
    result.id = std::move(id);
    if (verdict == Verdict::Pass) result.findings.clear();
    return result;
}

SavedRun saved(std::string name, std::vector<CaseResult> cases) {
    plan::RunResults results;
    results.run.dut = "device of " + name;
    results.run.complete = true;
    results.cases = std::move(cases);
    const auto run = reports::read_saved_run(std::move(name), reports::results_json(results));
    REQUIRE(run);
    return *run;
}

std::vector<std::string> ids_of(const std::vector<reports::Change>& changes) {
    std::vector<std::string> ids;
    for (const reports::Change& one : changes)
        ids.push_back(one.id);
    return ids;
}

CaseResult measured(std::vector<wire::Duration> samples) {
    CaseResult result = result_of("tmo/interval", Verdict::Pass);
    result.measures["wait"] = std::move(samples);
    return result;
}

using Ids = std::vector<std::string>;
using namespace std::chrono_literals;

} // namespace

TEST_CASE("comparison: what results.json keeps is read again", "[reports]") {
    const SavedRun run = saved("a", {result_of("b/two[ip=4]", Verdict::Fail),
                                     result_of("a/one[round=1]", Verdict::Pass),
                                     result_of("a/one[round=2]", Verdict::Warn)});
    CHECK(run.name == "a");
    CHECK(run.dut == "device of a");
    REQUIRE(run.cases.size() == 2); // rounds of --repeat count as one, with the gravest verdict
    CHECK(run.cases[0].id == "a/one");
    CHECK(run.cases[0].verdict == Verdict::Warn);
    CHECK(run.cases[0].summary == "why");
    CHECK(run.cases[1].id == "b/two[ip=4]");
}

TEST_CASE("comparison: a file that is no results.json is refused with its place", "[reports]") {
    const auto error = [](std::string_view text) {
        const auto run = reports::read_saved_run("x", text);
        REQUIRE_FALSE(run);
        return run.error();
    };
    CHECK(error("{").starts_with("this is not JSON"));
    CHECK(error("[]") == "expected an object, as results.json is");
    CHECK(error("{}") == "schema is missing or has another type");
    CHECK(error(R"({"schema": "veriroce/results/1"})") ==
          "expected schema veriroce/results/2, got \"veriroce/results/1\"");
    const std::string head = R"({"schema": "veriroce/results/2", "run": {"dut": "d", "profile": "",
        "complete": true}, "cases": )";
    CHECK(error(head + "7}") == "cases is missing or has another type");
    CHECK(error(head + R"([{"id": "a", "verdict": "GOOD"}]})") ==
          "cases[0].verdict: expected a verdict, got \"GOOD\"");
    CHECK(error(head + R"([{"id": "a", "verdict": "PASS", "summary": "",
        "measures": {"m": {"samples": ["1"]}}}]})") ==
          "cases[0].measures.m.samples[0]: expected an integer");
}

TEST_CASE("comparison: each change has its place", "[reports]") {
    const SavedRun before = saved(
        "a", {result_of("fail-to-pass", Verdict::Fail), result_of("gone", Verdict::Pass),
              result_of("known-to-fail", Verdict::Xfail), result_of("pass", Verdict::Pass),
              result_of("pass-to-error", Verdict::Pass), result_of("pass-to-known", Verdict::Pass),
              result_of("skip-to-fail", Verdict::Skip), result_of("warn-to-fail", Verdict::Warn)});
    const SavedRun after = saved(
        "b",
        {result_of("fail-to-pass", Verdict::Pass), result_of("known-to-fail", Verdict::Fail),
         result_of("new", Verdict::Fail), result_of("pass", Verdict::Pass),
         result_of("pass-to-error", Verdict::Error), result_of("pass-to-known", Verdict::Xfail),
         result_of("skip-to-fail", Verdict::Fail), result_of("warn-to-fail", Verdict::Fail)});
    const Comparison one = reports::compare(before, after);
    CHECK(ids_of(one.worse) == Ids{"known-to-fail", "pass-to-known", "warn-to-fail"});
    CHECK(ids_of(one.better) == Ids{"fail-to-pass"});
    CHECK(ids_of(one.unjudged) == Ids{"gone", "pass-to-error"});
    CHECK(ids_of(one.fresh) == Ids{"new", "skip-to-fail"});
    CHECK(one.unchanged == 1);
    const Comparison back = reports::compare(after, before);
    CHECK(ids_of(back.better) == ids_of(one.worse));
    CHECK(ids_of(back.worse) == ids_of(one.better));

    const std::string text = reports::comparison_text(one, before, after, TableFormat::Text);
    INFO(text);
    CHECK(text.find("PASS       -> XFAIL       pass-to-known\n      why\n") != std::string::npos);
    CHECK(text.ends_with("3 worse, 1 better, 2 no longer judged, 2 judged now, 1 unchanged\n"));
}

TEST_CASE("comparison: times that no longer overlap are told, from three samples on", "[reports]") {
    const auto changes = [](std::vector<wire::Duration> before, std::vector<wire::Duration> after) {
        return reports::compare(saved("a", {measured(std::move(before))}),
                                saved("b", {measured(std::move(after))}))
            .measures;
    };
    const auto slower = changes({1ms, 3ms, 2ms}, {4ms, 5ms, 6ms});
    REQUIRE(slower.size() == 1);
    CHECK(slower[0].measure == "wait");
    CHECK(slower[0].before.median == 2'000'000);
    CHECK(slower[0].after.median == 5'000'000);
    CHECK(changes({4ms, 5ms, 6ms}, {1ms, 3ms, 2ms}).size() == 1);
    CHECK(changes({1ms, 3ms, 2ms}, {3ms, 5ms, 6ms}).empty());
    CHECK(changes({1ms, 2ms}, {4ms, 5ms, 6ms}).empty());
    CHECK(changes({1ms, 2ms, 3ms}, {4ms, 5ms}).empty());
    // One stray of many proves nothing, and hides nothing.
    CHECK(changes({1ms, 1ms, 1ms, 1ms, 1ms, 1ms, 1ms, 9ms}, {4ms, 5ms, 6ms}).size() == 1);
    CHECK(changes({1ms, 1ms, 1ms, 1ms, 1ms, 1ms, 9ms}, {4ms, 5ms, 6ms}).empty());
}

TEST_CASE("comparison: of counts one sample is enough", "[reports]") {
    const auto changes = [](std::int64_t before, std::int64_t after) {
        const auto run_of = [](std::int64_t tries) {
            plan::RunResults results;
            results.sheet.quantities = {
                {.name = "retries",
                 .title = "Retries",
                 .unit = sheet::Unit::Packets,
                 .series = {{.label = "", .asked = {}, .samples = {tries}}}}};
            return results;
        };
        return reports::compare(reports::saved_run("a", run_of(before)),
                                reports::saved_run("b", run_of(after)))
            .measures.size();
    };
    CHECK(changes(7, 6) == 1);
    CHECK(changes(7, 7) == 0);
}

TEST_CASE("comparison: what the device is, and what it breaks, is compared too", "[reports]") {
    plan::RunResults before = reports::test::made_up();
    plan::RunResults after = before;
    before.sheet = reports::test::sheet_of(1000);
    after.sheet = reports::test::sheet_of(5000);
    after.sheet.behaviours[0].kind = "selective repeat";
    after.run.device.capabilities = {"raw", "srq"};
    after.run.device.firmware = "2.0";
    after.run.device.limits["sge"] = 30;
    after.cases[1].violations.clear();
    after.cases[0].verdict = Verdict::Fail;
    after.cases[0].findings = {{.kind = interpreter::FindingKind::Missing, .line = 3}};
    const SavedRun one = reports::saved_run("a", before);
    const SavedRun other = reports::saved_run("b", after);
    const Comparison changes = reports::compare(one, other);
    std::string facts;
    for (const reports::FactChange& fact : changes.facts)
        facts += fact.name + ": " + fact.before + " -> " + fact.after + "; ";
    CHECK(facts == "firmware: 1.0 -> 2.0; capability atomic: yes -> no; capability srq: no -> yes; "
                   "limit sge: 2 -> 30; What it sends again after a NAK: go-back-N -> selective "
                   "repeat; ");
    REQUIRE(changes.measures.size() == 1); // the timers are the same
    CHECK(changes.measures[0].measure == "NAK after a packet that is ahead");
    REQUIRE(changes.broken.size() == 1);
    CHECK(changes.broken[0].rule == "KEY-01");
    REQUIRE(changes.kept.size() == 1);
    CHECK(changes.kept[0].rule == "ACK-04");
    const std::string text = reports::comparison_text(changes, one, other, TableFormat::Markdown);
    INFO(text);
    CHECK(text.find("| KEY-01 | key/unknown-rkey |") != std::string::npos);
    CHECK(text.find("| 1.1 us (1 us..1.19 us) | 5.1 us (5 us..5.19 us) |") != std::string::npos);
    // A file of an older version keeps no hello: nothing is known, so nothing changed.
    before.run.device = {};
    const Comparison older = reports::compare(reports::saved_run("a", before), other);
    CHECK(older.facts.size() == 1);
}

TEST_CASE("comparison: a matrix has the gravest verdict of a case's runs", "[reports]") {
    const SavedRun one = saved("a", {result_of("rsp/gap[n=1]", Verdict::Pass),
                                     result_of("rsp/gap[n=2]", Verdict::Fail),
                                     result_of("ack/each", Verdict::Pass)});
    const SavedRun other = saved(
        "b", {result_of("rsp/gap[n=1]", Verdict::Pass), result_of("ack/each", Verdict::Pass)});
    const std::string text = reports::matrix_text({one, other}, false, TableFormat::Markdown);
    INFO(text);
    CHECK(text.find("| rsp/gap | FAIL | PASS |\n") != std::string::npos);
    CHECK(text.find("ack/each") == std::string::npos);
    CHECK(text.ends_with("1 of 2 cases pass everywhere\n"));
    CHECK(reports::matrix_text({one, other}, true, TableFormat::Markdown)
              .find("| ack/each | PASS | PASS |\n") != std::string::npos);
}

TEST_CASE("comparison: no text of a device ends a cell or begins markup", "[reports]") {
    CaseResult hostile = result_of("a|b", Verdict::Fail);
    hostile.findings[0].detail = "<script>x</script> | `y`\x1b[2J";
    const SavedRun right = saved("a", {result_of("a|b", Verdict::Pass)});
    const SavedRun wrong = saved("b", {hostile});
    const std::string text = reports::comparison_text(reports::compare(right, wrong), right, wrong,
                                                      TableFormat::Markdown);
    INFO(text);
    CHECK(text.find("<script") == std::string::npos);
    CHECK(text.find("| a\\|b | PASS | FAIL |") != std::string::npos);
    CHECK(text.find('\x1b') == std::string::npos);
}

} // namespace veriroce::test
