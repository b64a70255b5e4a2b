#include "reports/html.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <string>

#include <fmt/format.h>

#include "reports/comparison_html.hpp"
#include "tests/reports/injection_page.hpp"
#include "tests/reports/made_up.hpp"
#include "tests/temporary_folder.hpp"

namespace veriroce::reports::test {
namespace {

constexpr std::string_view kHostile =
    "</script><script>owned=1</script><img src=x onerror=owned=1>\"'\\u003c]]>-->";

std::string source(std::string_view /*file*/) {
    return "case \"A title\"\n# a comment\n\n> SEND_ONLY psn=0\n\n\n\n\ndropped\n";
}

plan::RunResults few() {
    plan::RunResults results = made_up();
    results.cases.resize(3);
    results.cases.push_back(mismatched());
    results.cases.back().id = "bth/other";
    return results;
}

plan::RunResults many() {
    plan::RunResults results = made_up();
    results.cases.clear();
    for (int i = 0; i < 2000; ++i) {
        results.cases.push_back(i % 25 == 0 ? failed() : passed());
        results.cases.back().id = fmt::format("group{}/run-{}", i % 20, i);
        if (i % 25 == 0) continue;
        results.cases.back().packets = failed().packets;
    }
    return results;
}

plan::RunResults long_run() {
    plan::RunResults results = made_up();
    interpreter::CaseResult result = failed();
    result.id = "rsp/long";
    const interpreter::RecordedPacket one = result.packets.front();
    result.packets.assign(300, one);
    for (std::size_t i = 0; i < result.packets.size(); ++i) {
        result.packets[i].at = {at_us(static_cast<std::int64_t>(i)),
                                at_us(static_cast<std::int64_t>(i))};
        result.packets[i].script =
            fmt::format("> RDMA_WRITE_ONLY_WITH_IMM psn={} imm=0x12345678 ackreq", i);
    }
    result.packets[7].script +=
        " hoplimit=64 private=hex\"00112233445566778899AABBCCDDEEFF0011223344556677\"";
    result.packets[7].script += " flow=0x12345 dscp=26 ecn=2 ttl=64 sport=49152 dport=4791 id=4242";
    result.findings.front().packet = result.packets.size() - 1;
    results.cases = {result};
    return results;
}

// Every text that a device, its agent, a script or a file name brings in.
plan::RunResults hostile() {
    const std::string text(kHostile);
    plan::RunResults results = few();
    results.run.dut = results.run.dut_host = results.run.link = results.run.host = text;
    results.run.profile = text;
    results.run.notes = {text};
    for (interpreter::CaseResult& result : results.cases) {
        result = failed();
        result.id = "a/" + text + std::to_string(&result - results.cases.data());
        result.title = result.file = result.command = result.capture = text;
        result.rules = {text};
        result.faults = {{text, 1}};
        result.measures[text] = {std::chrono::microseconds(1)};
        interpreter::Finding& finding = result.findings.front();
        finding.subject = finding.expected = finding.actual = finding.detail = text;
        finding.differences = {{text, text, text}};
        for (interpreter::RecordedPacket& packet : result.packets) {
            packet.script = text;
            packet.remarks = {text};
        }
    }
    return results;
}

// Two runs, a day's firmware apart.
SavedRun older(const plan::RunResults& results) {
    plan::RunResults before = results;
    before.run.device.capabilities.clear();
    before.sheet = sheet_of(700);
    for (interpreter::CaseResult& one : before.cases)
        one.verdict = interpreter::Verdict::Pass;
    return saved_run("fw 1", before);
}

SavedRun newer(const plan::RunResults& results) {
    plan::RunResults after = results;
    after.sheet = sheet_of(5000);
    return saved_run("fw 2 </script><img src=x onerror=owned=1>", after);
}

std::string diff_page(const plan::RunResults& results) {
    const SavedRun before = older(results);
    const SavedRun after = newer(results);
    return comparison_html(compare(before, after), before, after);
}

} // namespace

TEST_CASE("html: a report is whole, and its policy names its script", "[reports]") {
    const std::string page = report_html(few(), source);
    CHECK(page.starts_with("<!doctype html>"));
    CHECK(page.ends_with("</html>\n"));
    CHECK(page.find("script-src 'sha256-") != std::string::npos);
    CHECK(page.find("http://") == page.find("http://www.w3.org/2000/svg"));
    CHECK(page.find("https://") == std::string::npos);
}

TEST_CASE("html: text from outside stands nowhere as markup", "[reports]") {
    const std::string page = report_html(hostile(), [](auto) { return std::string(kHostile); });
    CHECK(page.find("<img") == std::string::npos);
    CHECK(page.find("owned=1</script") == std::string::npos);
    CHECK(page.find("\\u003c/script>\\u003cscript>owned=1") != std::string::npos);
}

TEST_CASE("html: a page with a plot has the library's notices, another one has no library",
          "[reports]") {
    const std::string plain = report_html(few(), source);
    CHECK(plain.find("Chart.js") == std::string::npos);
    CHECK(plain.size() < 100'000);
    plan::RunResults results = few();
    results.sheet = sheet_of(1000);
    const std::string page = report_html(results, source);
    CHECK(page.find("Chart.js v3") != std::string::npos);
    CHECK(page.find("<summary>Licences</summary>") != std::string::npos);
    CHECK(page.find("Permission is hereby granted, free of charge") != std::string::npos);
    CHECK(page_licences().find("Permission is hereby granted") != std::string_view::npos);
    CHECK(matrix_html({older(results), newer(results)}, false).find("\"wrong\"") !=
          std::string::npos);
}

TEST_CASE("html: two reports of the same results are equal", "[reports]") {
    CHECK(report_html(few(), source) == report_html(few(), source));
}

TEST_CASE("html: decoded packets are capped in a run", "[reports]") {
    plan::RunResults results = long_run();
    const std::size_t whole = report_html(results, source).size();
    results.cases.front().verdict = interpreter::Verdict::Pass;
    CHECK(report_html(results, source).size() < whole);
    static_assert(kDecodedOfRun < 300);
}

TEST_CASE("html: a real browser shows reports, and runs nothing of the device", "[reports]") {
    const house::TemporaryFolder folder;
    static_cast<void>(folder.file("few.html", report_html(few(), source)));
    static_cast<void>(folder.file("many.html", report_html(many(), source)));
    static_cast<void>(folder.file("long.html", report_html(long_run(), source)));
    std::string page = report_html(hostile(), [](auto) { return std::string(kHostile); });
    static_cast<void>(folder.file("hostile.html", page));
    page.insert(page.find("<header>"), "<script>owned=1</script><img src=x onerror='owned=1'>"
                                       "<a href='javascript:owned=1' id=a></a>");
    static_cast<void>(folder.file("broken.html", page));
    plan::RunResults measured = few();
    measured.sheet = sheet_of(1000);
    static_cast<void>(folder.file("sheet.html", report_html(measured, source)));
    static_cast<void>(folder.file("diff.html", diff_page(few())));
    static_cast<void>(folder.file("matrix.html", matrix_html({older(few()), newer(few())}, false)));
    plan::RunResults hostile_sheet = hostile();
    hostile_sheet.sheet = sheet_of(1000);
    hostile_sheet.sheet.behaviours[0] = {"x", std::string(kHostile), std::string(kHostile),
                                         std::string(kHostile)};
    hostile_sheet.sheet.quantities[0].title = hostile_sheet.sheet.quantities[1].series[0].label =
        kHostile;
    hostile_sheet.run.device.firmware = hostile_sheet.run.device.driver = kHostile;
    hostile_sheet.run.device.capabilities = {std::string(kHostile)};
    static_cast<void>(folder.file("hostile_diff.html", diff_page(hostile_sheet)));
    static_cast<void>(folder.file(
        "hostile_matrix.html",
        matrix_html({saved_run(std::string(kHostile), hostile_sheet), older(hostile_sheet)},
                    true)));
    static_cast<void>(folder.file("hostile_sheet.html", report_html(hostile_sheet, [](auto) {
                                      return std::string(kHostile);
                                  })));
    static_cast<void>(folder.file("inject.html", injection_page()));
    const char* pictures =
        std::getenv("VERIROCE_PICTURES"); // a folder, for people who want to look
    const std::string command =
        fmt::format("python3 '{}/tests/reports/page_test.py' '{}' {}", VERIROCE_SOURCE_DIR,
                    folder.path().string(), pictures == nullptr ? "" : pictures);
    CHECK(std::system(command.c_str()) == 0);
}

} // namespace veriroce::reports::test
