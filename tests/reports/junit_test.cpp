// junit.xml: what it says of each verdict, and that a reader of XML takes whatever it holds.
#include "reports/junit.hpp"

#include <catch2/catch.hpp>

#include <cstdio>
#include <cstdlib>

#include "tests/reports/made_up.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/text.hpp"

namespace veriroce::reports::test {
namespace {

// Reads the file with python3's parser and prints one line a test case and one for the counts.
constexpr std::string_view reader = R"(
import sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
counts = lambda e: ' '.join(e.get(k) for k in ('tests', 'failures', 'errors', 'skipped')
                            if e.get(k))
# What the schema of Jenkins' xUnit plugin knows, by element.
known = {'testsuites': 'name time tests failures errors', 'properties': '',
         'property': 'name value', 'testcase': 'name time classname group', 'system-out': '',
         'testsuite': 'name tests failures errors group time skipped timestamp hostname id',
         'failure': 'type message', 'error': 'type message', 'skipped': 'type message'}
inside = {'testsuites': 'testsuite', 'testsuite': 'properties testcase', 'properties': 'property',
          'testcase': 'failure error skipped system-out'}
for e in root.iter():
    assert set(e.attrib) <= set(known[e.tag].split()), (e.tag, e.attrib)
    assert {i.tag for i in e} <= set(inside.get(e.tag, '').split()), e.tag
print(root.tag, counts(root))
for suite in root:
    print(suite.tag, suite.get('name'), counts(suite), len(suite.findall('testcase')))
    for case in suite.findall('testcase'):
        inner = [e.tag + ':' + (e.get('message') or '') for e in case if e.tag != 'system-out']
        print(ascii(case.get('name')), case.get('classname'), *[ascii(i) for i in inner])
)";

std::string read_by_python(const std::string& xml) {
    const house::TemporaryFolder folder;
    const std::string out_file = folder.file("out");
    const int status = std::system(("python3 " + folder.file("reader.py", reader) + " " +
                                    folder.file("junit.xml", xml) + " >" + out_file + " 2>&1")
                                       .c_str());
    std::string out = house::read_text(out_file);
    INFO(out << "\n" << xml);
    REQUIRE(status == 0);
    return out;
}

interpreter::CaseResult with(interpreter::Verdict verdict, std::string id) {
    interpreter::CaseResult result = passed();
    result.id = std::move(id);
    result.verdict = verdict;
    result.findings = {{.kind = interpreter::FindingKind::Mismatch, .detail = "because"}};
    return result;
}

} // namespace

TEST_CASE("junit: groups are suites, runs are cases, and the counts are right", "[reports]") {
    CHECK(read_by_python(junit_xml(made_up())) ==
          "testsuites 3 1 0\n"
          "testsuite bth 1 1 0 0 1\n"
          "'bth/transport-version[v=1]' veriroce.bth 'failure:unexpected ACK: line 9 allows none "
          "for 10 ms'\n"
          "testsuite key 1 0 0 0 1\n"
          "'key/unknown-rkey' veriroce.key\n"
          "testsuite rsp 1 0 0 1 1\n"
          "'rsp/gap-nak' veriroce.rsp 'skipped:SKIP: unless out_of_order'\n");
}

TEST_CASE("junit: each verdict has its element", "[reports]") {
    using interpreter::Verdict;
    plan::RunResults results = made_up();
    results.cases = {with(Verdict::Pass, "a/1"),  with(Verdict::Fail, "a/2"),
                     with(Verdict::Warn, "a/3"),  with(Verdict::Info, "a/4"),
                     with(Verdict::Skip, "a/5"),  with(Verdict::Xfail, "a/6"),
                     with(Verdict::Xpass, "a/7"), with(Verdict::Error, "a/8")};
    CHECK(read_by_python(junit_xml(results)) == "testsuites 8 2 1\n"
                                                "testsuite a 8 2 1 2 8\n"
                                                "'a/1' veriroce.a\n"
                                                "'a/2' veriroce.a 'failure:because'\n"
                                                "'a/3' veriroce.a\n"
                                                "'a/4' veriroce.a\n"
                                                "'a/5' veriroce.a 'skipped:SKIP: because'\n"
                                                "'a/6' veriroce.a 'skipped:XFAIL: because'\n"
                                                "'a/7' veriroce.a 'failure:because'\n"
                                                "'a/8' veriroce.a 'error:because'\n");
}

TEST_CASE("junit: what cannot stand in XML does not break it", "[reports]") {
    plan::RunResults results = made_up();
    interpreter::CaseResult odd = failed();
    odd.id = "odd/\xC2\xB5s & <b> \"q\"";
    odd.findings = {
        {.kind = interpreter::FindingKind::Mismatch,
         .actual = "\xEF\xBF\xBF\xF0\x9F\x98\x80",
         .detail = std::string("nul \0 bell \a half \xC3 surrogate \xED\xA0\x80 end ]]>", 40)}};
    results.run.dut = "\x01\xFF\xC2\x9B\x7F\xE2\x80\xAE";
    results.cases = {odd};
    const std::string xml = junit_xml(results);
    CHECK(xml.find("value=\"?\?\?\?\?\?\?\?\"") != std::string::npos);
    const std::string text = read_by_python(xml);
    CHECK(text.find("'odd/\\xb5s & <b> \"q\"'") != std::string::npos);
    CHECK(text.find("nul ? bell ? half ? surrogate ??? end") != std::string::npos);
}

TEST_CASE("junit: the details are the rows of the console", "[reports]") {
    plan::RunResults results = made_up();
    results.cases = {mismatched()};
    const std::string xml = junit_xml(results);
    CHECK(xml.find("message=\"msn: expected 2, got 1; partition_key: expected 0xFFFF, got 0x7FFF "
                   "(waited 1 s)\">"
                   "line 7: &lt; ACK        psn=0 msn=2 exact&#10;"
                   "got: &lt; ACK psn=0 msn=1&#10;"
                   "msn: expected 2, got 1&#10;"
                   "partition_key: expected 0xFFFF, got 0x7FFF&#10;"
                   "waited: 1 s&#10;"
                   "rule: BTH-01 (MUST) ") != std::string::npos);
    CHECK(xml.find("rerun: veriroce test bth/transport-version --seed 1&#10;</failure>") !=
          std::string::npos);
}

TEST_CASE("junit: each case names its rules, its script and its captures", "[reports]") {
    plan::RunResults results = made_up();
    results.cases = {played_again(), passed()};
    results.cases[0].capture = "out/a & b.pcapng";
    results.cases[0].other_plays[1].capture = "out/play-2.pcapng";
    const std::string xml = junit_xml(results);
    INFO(xml);
    CHECK(xml.find("</error>\n      <system-out>rules: BTH-01 (MUST)&#10;script: "
                   "bth/transport-version.roce&#10;[[ATTACHMENT|out/a &amp; b.pcapng]]&#10;"
                   "[[ATTACHMENT|out/play-2.pcapng]]&#10;</system-out>") != std::string::npos);
    CHECK(xml.find("<system-out>rules: KEY-01 (MUST)&#10;script: key/unknown-rkey.roce&#10;"
                   "</system-out>") != std::string::npos);
    CHECK(xml.find("<property name=\"firmware\" value=\"1.0\"/>") != std::string::npos);
    static_cast<void>(read_by_python(xml));
}

TEST_CASE("junit: a finding that did not show again has a type of its own", "[reports]") {
    plan::RunResults results = made_up();
    results.cases = {played_again()};
    const std::string xml = junit_xml(results);
    CHECK(xml.find("<error type=\"NOT-REPEATABLE\" message=\"not repeatable: seen in 1 of 3 plays; "
                   "there: ") != std::string::npos);
    CHECK(xml.find("2 others: PASS&#10;") != std::string::npos);
    CHECK(xml.find(" errors=\"1\"") != std::string::npos);
}

TEST_CASE("junit: the time of a case is that of its timing", "[reports]") {
    const std::string xml = junit_xml(made_up());
    CHECK(xml.find("classname=\"veriroce.key\" time=\"0.005000\"") != std::string::npos);
    CHECK(xml.find("timestamp=\"2026-01-02T03:04:05Z\"") != std::string::npos);
    CHECK(junit_xml(made_up()) == xml);
}

} // namespace veriroce::reports::test
