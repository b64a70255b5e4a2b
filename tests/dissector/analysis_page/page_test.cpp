// The page in a real browser: page_test.py looks at it.
#include <catch2/catch.hpp>

#include <cstdlib>
#include <fstream>

#include <fmt/format.h>

#include "dissector/analysis_page/html.hpp"
#include "tests/dissector/flow/captured.hpp"
#include "tests/temporary_folder.hpp"

namespace veriroce::analysis_page::test {
namespace {

std::string page_of(std::string_view capture, const std::vector<std::string>& files) {
    analyze::Analyzer analyzer({.flow = {}, .traces = kGraphs});
    decode::Dissection dissection;
    std::uint64_t number = 0;
    for (const auto& frame : flow::test::frames_of(flow::test::pcap(capture))) {
        flow::test::dissect(frame, ++number, dissection);
        analyzer.observe({&dissection, 1});
    }
    analyzer.finish();
    return page_html(report_of(analyzer, {}), files);
}

constexpr const char* kEvil = "</script><img src=x onerror=\"document.title='evil'\">\x1b\".pcap";

} // namespace

TEST_CASE("page: the name of a file cannot leave its element", "[analysis_page]") {
    const std::string page = page_of("rxe-rnr-nak", {kEvil});
    CHECK(page.find("<img") == std::string::npos);
    CHECK(page.find("\\u003c/script>\\u003cimg") != std::string::npos);
    CHECK(page.find('\x1b') == std::string::npos);
    CHECK(page.find("script-src 'sha256-") != std::string::npos);
}

TEST_CASE("page: a browser shows connections and graphs, and zooms", "[analysis_page]") {
    const house::TemporaryFolder folder;
    std::ofstream(folder.file("loss.html")) << page_of("rxe-write-loss", {kEvil});
    std::ofstream(folder.file("two.html")) << page_of("rxe-atomic", {"a.pcap", "b.pcap"});
    const std::string command =
        fmt::format("python3 '{}/tests/dissector/analysis_page/page_test.py' '{}'",
                    VERIROCE_SOURCE_DIR, folder.path().string());
    CHECK(std::system(command.c_str()) == 0);
}

} // namespace veriroce::analysis_page::test
