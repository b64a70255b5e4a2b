#include "reports/console.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "conformance/rules/rules.hpp"
#include "tests/reports/made_up.hpp"

namespace veriroce::reports::test {

using interpreter::Verdict;

TEST_CASE("console: the head names device, link, seed and notes", "[reports]") {
    CHECK(console_head(made_up().run) == "DUT: a device of paper\n"
                                         "link: virtual, 1 us, seed 1\n"
                                         "note: nothing was offloaded\n"
                                         "\n");
}

TEST_CASE("console: a PASS is one line and what it measured", "[reports]") {
    CHECK(console_case(passed(), {}) ==
          "PASS   key/unknown-rkey                             KEY-01\n"
          "       measured  rtt: 3 samples, 0.001 / 0.002 / 0.003 ms\n");
    CHECK(console_case(passed(), {.quiet = true}).empty());
}

TEST_CASE("console: a FAIL tells line, both sides, its rule and how to run it again", "[reports]") {
    const auto rule = rules::catalogue().find("BTH-01");
    REQUIRE(rule.has_value());
    const std::string expected =
        fmt::format("FAIL   bth/transport-version[v=1]                   BTH-01\n"
                    "       why       the QP was not silent\n"
                    "       line      bth/transport-version.roce:9\n"
                    "       expected  dropped\n"
                    "       actual    < ACK psn=0 msn=1\n"
                    "       rule      BTH-01 ({}) {}\n"
                    "       again     veriroce test bth/transport-version --seed 1\n",
                    rules::word(rule->get().level), rule->get().text);
    CHECK(console_case(failed(), {}) == expected);
    CHECK(console_case(failed(), {.quiet = true}) == expected);
}

TEST_CASE("console: a SKIP is one line with its reason", "[reports]") {
    CHECK(console_case(skipped(), {}) ==
          "SKIP   rsp/gap-nak                                  RSP-02 RSP-03  "
          "unless out_of_order\n");
}

TEST_CASE("console: an ERROR says why and cites no rule", "[reports]") {
    interpreter::CaseResult result = passed();
    result.become(Verdict::Error, interpreter::FindingKind::Unplayable, "the fault never fired");
    result.measures.clear();
    CHECK(console_case(result, {}) == "ERROR  key/unknown-rkey                             KEY-01\n"
                                      "       why       the fault never fired\n"
                                      "       again     veriroce test key/unknown-rkey --seed 1\n");
}

TEST_CASE("console: colours mark the verdict and nothing else", "[reports]") {
    interpreter::CaseResult result = passed();
    result.measures.clear();
    CHECK(console_case(result, {.colour = true}) ==
          "\x1b[32mPASS  \x1b[0m key/unknown-rkey                             KEY-01\n");
    CHECK(console_case(failed(), {.colour = true}).starts_with("\x1b[31mFAIL  \x1b[0m "));
    CHECK(console_case(failed(), {}).find('\x1b') == std::string::npos);
}

TEST_CASE("console: the summary counts, and says when a run was interrupted", "[reports]") {
    plan::RunResults results = made_up();
    CHECK(console_summary(results, {}) == "\n"
                                          "3 runs in 1.500 s\n"
                                          "1 passed, 1 failed, 1 skipped\n");
    results.cases.push_back(passed());
    results.cases.back().verdict = Verdict::Warn;
    results.cases.push_back(passed());
    results.cases.back().verdict = Verdict::Error;
    results.cases.push_back(passed());
    results.cases.back().verdict = Verdict::Xpass;
    results.run.complete = false;
    CHECK(console_summary(results, {}) == "\n"
                                          "1 WARN\n"
                                          "1 XPASS\n"
                                          "1 ERROR\n"
                                          "incomplete: this is what ran until then\n"
                                          "6 runs in 1.500 s\n"
                                          "1 passed, 2 failed, 1 skipped\n");
}

TEST_CASE("results: the exit code is the gravest finding", "[reports]") {
    const auto code = [](std::initializer_list<Verdict> verdicts, bool strict = false) {
        plan::RunResults results;
        for (const Verdict verdict : verdicts) {
            results.cases.emplace_back();
            results.cases.back().verdict = verdict;
        }
        return results.exit_code(strict);
    };
    CHECK(code({Verdict::Pass, Verdict::Skip, Verdict::Info, Verdict::Xfail}) == 0);
    CHECK(code({Verdict::Pass, Verdict::Fail}) == 1);
    CHECK(code({Verdict::Pass, Verdict::Xpass}) == 1);
    CHECK(code({Verdict::Pass, Verdict::Warn}) == 0);
    CHECK(code({Verdict::Pass, Verdict::Warn}, true) == 1);
    CHECK(code({Verdict::Pass, Verdict::Error}) == 3);
    CHECK(code({Verdict::Fail, Verdict::Error}) == 1);
    CHECK(code({Verdict::Skip, Verdict::Skip}) == 3);
    CHECK(code({}) == 3);
}

TEST_CASE("console: progress is one line of a terminal that can be taken away", "[reports]") {
    CHECK(console_progress(12, 345, 0, "rsp/gap-nak") == "\r\x1b[K[12/345] rsp/gap-nak");
    CHECK(console_progress(12, 345, 2, "rsp/gap-nak") == "\r\x1b[K[12/345] 2 failed, rsp/gap-nak");
    const std::string line = console_progress(99'999, 99'999, 9'999, std::string(200, 'x'));
    CHECK(line.size() - console_no_progress.size() <= 80);
    CHECK(line.ends_with("x..."));
    CHECK(line.find('\n') == std::string::npos);
}

} // namespace veriroce::reports::test
