// Runs that were kept as results.json, read again whole, merged, and told as Markdown.
#include "reports/merge.hpp"

#include <catch2/catch.hpp>

#include <fmt/format.h>

#include "reports/json.hpp"
#include "reports/markdown.hpp"
#include "reports/pcapng.hpp"
#include "reports/saved_results.hpp"
#include "tests/reports/made_up.hpp"
#include "tests/temporary_folder.hpp"

namespace veriroce::reports::test {
namespace {

using interpreter::CaseResult;
using interpreter::Verdict;

plan::RunResults every_kind() {
    plan::RunResults results = made_up();
    results.sheet = sheet_of(1000);
    for (CaseResult one : {mismatched(), violating(), played_again()}) {
        one.id += std::to_string(results.cases.size());
        results.cases.push_back(std::move(one));
    }
    return results;
}

plan::RunResults run_of(std::vector<CaseResult> cases) {
    plan::RunResults results = made_up();
    results.timing.cases.clear();
    results.cases = std::move(cases);
    return results;
}

CaseResult named(CaseResult result, std::string id) {
    result.id = std::move(id);
    return result;
}

} // namespace

TEST_CASE("results: what is written is read again, whole", "[reports]") {
    const std::string written = results_json(every_kind());
    const auto read = read_results(written);
    REQUIRE(read);
    CHECK(results_json(*read) == written);
    CHECK_FALSE(has_bytes(read->cases[1].packets[0]));
    CHECK(has_bytes(failed().packets[0]));
}

TEST_CASE("results: a capture gives a case its bytes back, another one does not", "[reports]") {
    const house::TemporaryFolder folder;
    CaseResult result = failed();
    result.packets[1].at = {at_us(999'990), at_us(999'991)}; // before the other, in the capture
    result.packets.push_back(result.packets[0]);
    result.packets.back().on_wire = false;
    const std::string path = (folder.path() / capture_name(result.id)).string();
    CHECK(path.ends_with("/bth-transport-version-v-1-.pcapng"));
    REQUIRE(write_pcapng(result, path));
    auto read = read_results(results_json(run_of({result})));
    REQUIRE(read);
    CaseResult& again = read->cases[0];
    REQUIRE(take_frames(again, path));
    CHECK(again.packets[0].frame == result.packets[0].frame);
    CHECK(again.packets[1].frame == result.packets[1].frame);
    CHECK_FALSE(has_bytes(again.packets[2]));
    CHECK_FALSE(take_frames(again, path + ".missing"));
    again.packets.pop_back();
    again.packets.pop_back();
    CHECK_FALSE(take_frames(again, path));
}

TEST_CASE("merge: shards give the plan again", "[reports]") {
    const CaseResult pass = passed();
    std::vector<Part> parts(2);
    parts[0] = {"one", run_of({named(pass, "a/1"), named(pass, "a/3"), named(failed(), "a/5")})};
    parts[1] = {"two", run_of({named(pass, "a/2"), named(skipped(), "a/4")})};
    parts[0].results.timing.cases = {{"a/1", std::chrono::milliseconds(2)}};
    parts[1].results.timing.started = "2026-01-02T03:00:00Z";
    const Merged merged = merge(parts);
    std::string ids;
    for (const CaseResult& one : merged.results.cases)
        ids += one.id + " ";
    CHECK(ids == "a/1 a/2 a/3 a/4 a/5 ");
    CHECK(merged.from == std::vector<std::size_t>{0, 1, 0, 1, 0});
    CHECK(merged.conflicts.empty());
    CHECK(merged.results.run.complete);
    CHECK(merged.results.timing.started == "2026-01-02T03:00:00Z");
    CHECK(merged.results.timing.wall == std::chrono::seconds(3));
    CHECK(merged.results.run.notes ==
          std::vector<std::string>{"merged from 2 runs: one, two", "nothing was offloaded"});
}

TEST_CASE("merge: the runs of a group stay together, the first part's groups first", "[reports]") {
    const CaseResult pass = passed();
    std::vector<Part> parts(2);
    parts[0] = {"suite", run_of({named(pass, "b/1"), named(pass, "b/2"), named(pass, "a/1")})};
    parts[1] = {"sheet", run_of({named(pass, "sheet/1"), named(pass, "b/3")})};
    std::vector<std::string> ids;
    for (const CaseResult& one : merge(std::move(parts)).results.cases)
        ids.push_back(one.id);
    CHECK(ids == std::vector<std::string>{"b/1", "b/2", "b/3", "a/1", "sheet/1"});
}

TEST_CASE("merge: of repetitions the gravest verdict counts, and says so", "[reports]") {
    std::vector<Part> parts(4);
    parts[0] = {"a", run_of({named(passed(), "x")})};
    parts[1] = {"b", run_of({named(failed(), "x")})};
    parts[2] = {"c", run_of({named(mismatched(), "x")})};
    parts[3] = {"d", run_of({named(failed(), "x")})};
    parts[1].results.sheet = parts[3].results.sheet = sheet_of(1000);
    parts[2].results.run.complete = false;
    const Merged merged = merge(parts);
    REQUIRE(merged.results.cases.size() == 1);
    const CaseResult& one = merged.results.cases[0];
    CHECK(one.verdict == Verdict::Fail);
    CHECK(one.reason() == failed().reason());
    CHECK(merged.from == std::vector<std::size_t>{1});
    CHECK(one.seen_text() == "seen in 2 of 4 plays");
    CHECK(one.other_plays[0].verdict == Verdict::Pass);
    CHECK(one.measures.at("rtt").size() == 3);
    CHECK(one.faults[0].fired == 6);
    CHECK_FALSE(merged.results.run.complete);
    CHECK(merged.results.sheet.quantities[0].series[0].samples.size() == 40);
    CHECK(merged.results.sheet.behaviours.size() == 1);
    REQUIRE(merged.results.run.notes.size() > 2);
    CHECK(merged.results.run.notes[1] ==
          "1 of 1 runs is in several of the merged runs; each has the gravest of its verdicts");
    CHECK(merged.results.run.notes[2] == "1 of them had different verdicts: x");
    // A report of reports stays one.
    const auto again = read_results(results_json(merged.results));
    REQUIRE(again);
    CHECK(again->cases[0].seen_text() == one.seen_text());
    CHECK(again->cases[0].other_plays[1].findings.size() == 1);
    const Merged passing = merge({{"a", run_of({passed()})}, {"b", run_of({passed()})}});
    CHECK(passing.results.cases[0].seen_in == 0);
}

TEST_CASE("merge: what the parts do not agree on is told", "[reports]") {
    std::vector<Part> parts(3, {"a", run_of({passed()})});
    parts[1].name = "b";
    parts[2].name = "c";
    parts[1].results.run.seed = parts[2].results.run.seed = 7;
    parts[2].results.run.dut = "a device of stone";
    const Merged merged = merge(parts);
    CHECK(merged.conflicts ==
          std::vector<std::string>{"the merged runs have different devices: a, b say a device of "
                                   "paper; c says a device of stone",
                                   "the merged runs have different seeds: a says 1; b, c say 7"});
    CHECK(merged.results.run.dut == "a device of paper | a device of stone");
    CHECK(merged.results.run.notes[1] == merged.conflicts[0]);
}

TEST_CASE("markdown: a pull request gets the verdict, the counts and what differs", "[reports]") {
    plan::RunResults results = every_kind();
    results.cases[1].capture = "report/bth-transport-version-v-1-.pcapng";
    const std::string text = report_markdown(results);
    INFO(text);
    CHECK(text.starts_with("## veriroce: 3 of 4 judged runs failed; 1 run could not be judged\n"));
    CHECK(text.find("| FAIL | ERROR | SKIP | PASS |\n|---:|---:|---:|---:|\n| 3 | 1 | 1 | 1 |\n") !=
          std::string::npos);
    CHECK(text.find("| FAIL | [bth/transport-version\\[v=1\\]]"
                    "(report.html#bth/transport-version%5Bv=1%5D) |") != std::string::npos);
    CHECK(text.find("| [pcapng](bth-transport-version-v-1-.pcapng) |") != std::string::npos);
    CHECK(text.find("| msn: expected 2, got 1<br>partition\\_key:") != std::string::npos);
    CHECK(text.find("rsp/gap-nak") == std::string::npos); // SKIP
    CHECK(text.find("| What it sends again after a NAK | go-back-N |") != std::string::npos);
}

TEST_CASE("markdown: text of a device is text, and rows are capped", "[reports]") {
    CHECK(markdown_cell("<b>|@all\n`x` http://a #1") ==
          "&lt;b&gt;\\|&#64;all \\`x\\` http&#58;//a \\#1");
    plan::RunResults results = made_up();
    results.run.dut = "<script>\x1b[2J\n# headline";
    results.cases.assign(kMarkdownRows + 5, failed());
    for (std::size_t i = 0; i < results.cases.size(); ++i)
        results.cases[i].id = fmt::format("a)](x/{}", i);
    const std::string text = report_markdown(results);
    INFO(text);
    CHECK(text.find("<script") == std::string::npos);
    CHECK(text.find("\n# ") == std::string::npos);
    CHECK(text.find("\n5 more are in report.html.\n") != std::string::npos);
    CHECK(text.find("[a)\\](x/0](report.html#a%29%5D%28x/0)") != std::string::npos);
    CHECK(text.size() < 65'536);
    CHECK(headline(plan::RunResults{}) == "No run was played");
}

} // namespace veriroce::reports::test
