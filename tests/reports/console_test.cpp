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

TEST_CASE("console: the head names both hosts where they are known", "[reports]") {
    testbed::RunInfo run = made_up().run;
    run.dut_host = "kernel 6.1.0-56-amd64, driver rdma_rxe\x1b";
    run.host = "lab, Linux 6.1, 2 CPUs";
    CHECK(console_head(run).starts_with("DUT: a device of paper\n"
                                        "DUT's host: kernel 6.1.0-56-amd64, driver rdma_rxe\\x1b\n"
                                        "tester's host: lab, Linux 6.1, 2 CPUs\n"
                                        "link: "));
}

TEST_CASE("console: a PASS is one line and what it measured", "[reports]") {
    CHECK(console_case(passed(), {}) ==
          "PASS   key/unknown-rkey                             KEY-01\n"
          "       measure   rtt: 3 samples: min 0.001 ms, median 0.002 ms, max 0.003 ms\n");
    CHECK(console_case(passed(), {.quiet = true}).empty());
}

namespace {

// A rule's row, as it is without line breaks.
std::string rule_row(std::string_view id) {
    const auto rule = rules::catalogue().find(id);
    REQUIRE(rule.has_value());
    return fmt::format("       rule      {} ({}) {}", id, rules::word(rule->get().level),
                       rule->get().text);
}

// Rows that were broken at blanks, joined again.
std::string unwrapped(std::string text) {
    const std::string broken = "\n                 ";
    for (std::size_t at = text.find(broken); at != std::string::npos; at = text.find(broken))
        text.replace(at, broken.size(), " ");
    return text;
}

} // namespace

TEST_CASE("console: a FAIL tells line, what came, its rule and how to run it again", "[reports]") {
    const std::string expected = "FAIL   bth/transport-version[v=1]                   BTH-01\n"
                                 "       line 9    dropped\n"
                                 "       got       < ACK psn=0 msn=1\n"
                                 "       unexpected ACK: line 9 allows none for 10 ms\n" +
                                 rule_row("BTH-01") +
                                 "\n"
                                 "       rerun     veriroce test bth/transport-version --seed 1\n";
    CHECK(unwrapped(console_case(failed(), {})) == expected);
    CHECK(unwrapped(console_case(failed(), {.quiet = true})) == expected);
}

TEST_CASE("console: a run whose packets are kept names their file", "[reports]") {
    interpreter::CaseResult result = failed();
    result.capture = "out/bth-transport-version-v-1-.pcapng";
    CHECK(console_case(result, {})
              .find("\n       packets   wireshark -g 2 out/bth-transport-version-v-1-.pcapng\n"
                    "       rerun     ") != std::string::npos);
}

TEST_CASE("console: the plays of a case are told where one was not enough", "[reports]") {
    const interpreter::CaseResult once = played_again();
    CHECK(console_case(once, {}).find("       2 others  PASS\n") != std::string::npos);
    interpreter::CaseResult twice = failed();
    twice.seen_in = 2;
    twice.other_plays.push_back({.verdict = interpreter::Verdict::Fail});
    const std::string text = console_case(twice, {});
    CHECK(text.find("       plays     seen in 2 of 2 plays\n") != std::string::npos);
    CHECK(text.find("another") == std::string::npos);
    plan::RunResults results;
    results.cases = {once, once};
    results.cases.back().findings.erase(results.cases.back().findings.begin());
    CHECK(console_summary(results, {}).find("2 ERROR, 1 of them not repeatable\n") !=
          std::string::npos);
}

TEST_CASE("console: every field that differs has a row, and values stand in one column",
          "[reports]") {
    CHECK(console_case(mismatched(), {})
              .starts_with("FAIL   bth/transport-version[v=1]                   BTH-01\n"
                           "       line 7        < ACK        psn=0 msn=2 exact\n"
                           "       got           < ACK psn=0 msn=1\n"
                           "       msn           expected 2, got 1\n"
                           "       partition_key expected 0xFFFF, got 0x7FFF\n"
                           "       waited        1 s\n"
                           "       rule          BTH-01 (MUST) "));
}

TEST_CASE("console: what did not come at all is named", "[reports]") {
    interpreter::CaseResult result = failed();
    result.findings = {{.kind = interpreter::FindingKind::Missing,
                        .line = 7,
                        .subject = "ACK",
                        .expected = "< ACK psn=0 within 20ms",
                        .time = std::chrono::milliseconds(20)}};
    CHECK(console_case(result, {})
              .find("       line 7    < ACK psn=0 within 20ms\n"
                    "       expected ACK, got nothing (waited 20 ms)\n"
                    "       rule ") != std::string::npos);
}

TEST_CASE("console: a violated rule is told by what was measured and what is allowed",
          "[reports]") {
    const std::string text = console_case(violating(), {});
    CHECK(text.find("       every line passed, but the packets violate ACK-04\n"
                    "       packet    < ACK psn=7 msn=1\n"
                    "       measured  PSN 7 was not sent\n"
                    "       allowed   only PSNs before 5 were sent\n"
                    "       rule      ACK-04 (MUST) ") != std::string::npos);
    CHECK(text.find("rule      BTH-01") == std::string::npos);
    interpreter::CaseResult both = violating();
    both.findings.push_back(mismatched().findings.front());
    const std::string more = console_case(both, {});
    CHECK(more.find("every line passed") == std::string::npos);
    CHECK(more.find("the packets violate ACK-04\n") != std::string::npos);
    CHECK(more.find("msn           expected 2, got 1\n") != std::string::npos);
    CHECK(more.find("rule          BTH-01") != std::string::npos);
}

TEST_CASE("console: no row of prose is wider than 100 columns, and no packet is broken",
          "[reports]") {
    interpreter::CaseResult result = failed();
    result.findings.front().detail = std::string(30, 'x');
    for (int i = 0; i < 30; ++i)
        result.findings.front().detail += " a word";
    result.findings.front().actual = "< ACK" + std::string(200, 'x');
    std::string text = console_case(result, {});
    std::size_t wide = 0;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        if (end > 100) {
            ++wide;
            CHECK(text.find("< ACKxxx") < end);
        }
        text.erase(0, end + 1);
    }
    CHECK(wide == 1);
}

TEST_CASE("console: what the other side wrote cannot command the terminal", "[reports]") {
    testbed::RunInfo run = made_up().run;
    run.dut = "evil\x1b[2J\xC2\x9B\x37m\xE2\x80\xAE\r\n0 failed";
    run.notes = {"a\x07 note"};
    CHECK(console_head(run) == "DUT: evil\\x1b[2J\\xc2\\x9b7m\\xe2\\x80\\xae\\x0d\\n0 failed\n"
                               "link: virtual, 1 us, seed 1\n"
                               "note: a\\x07 note\n"
                               "\n");
    interpreter::CaseResult result = mismatched();
    result.id = "a\x1b[1m/b";
    result.command = "veriroce test '\x1b'";
    interpreter::Finding& finding = result.findings.front();
    finding.expected += "\n";
    finding.actual += "\x7F";
    finding.differences[0] = {.field = "m\x01", .expected = "\x02", .actual = "\xFF"};
    finding.detail = "\x1b]0;title\x07";
    for (const interpreter::Verdict verdict :
         {Verdict::Pass, Verdict::Fail, Verdict::Skip, Verdict::Error, Verdict::Xfail}) {
        result.verdict = verdict;
        for (const char c : console_case(result, {}))
            CHECK((c == '\n' || (c >= ' ' && c <= '~')));
    }
    CHECK(console_progress(1, 2, 0, "a\x1b[1m").ends_with("] a\\x1b[1m"));
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
                                      "       the fault never fired\n"
                                      "       rerun     veriroce test key/unknown-rkey --seed 1\n");
}

TEST_CASE("console: colours mark the verdict, labels and values, and only when asked for",
          "[reports]") {
    interpreter::CaseResult result = passed();
    result.measures.clear();
    CHECK(console_case(result, {.colour = true}) ==
          "\x1b[32mPASS  \x1b[0m key/unknown-rkey                             KEY-01\n");
    const std::string text = console_case(mismatched(), {.colour = true});
    CHECK(text.starts_with("\x1b[31mFAIL  \x1b[0m "));
    CHECK(text.find("       \x1b[2mmsn          \x1b[0m expected \x1b[32m2\x1b[0m, got "
                    "\x1b[31m1\x1b[0m\n") != std::string::npos);
    CHECK(console_case(failed(), {}).find('\x1b') == std::string::npos);
    CHECK(console_case(mismatched(), {}).find('\x1b') == std::string::npos);
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
                                          "incomplete: the run ended before its last case\n"
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
    CHECK(line.size() - kConsoleNoProgress.size() <= 80);
    CHECK(line.ends_with("x..."));
    CHECK(line.find('\n') == std::string::npos);
}

} // namespace veriroce::reports::test
