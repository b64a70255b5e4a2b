#include "reports/json.hpp"

#include <catch2/catch.hpp>

#include <boost/json.hpp>

#include "tests/reports/made_up.hpp"

namespace veriroce::reports::test {
namespace {

namespace json = boost::json;

json::value parsed(const plan::RunResults& results) {
    json::error_code code;
    json::value document = json::parse(results_json(results), code);
    REQUIRE_FALSE(code);
    return document;
}

// Everything called `timing`, at any depth, goes.
void strip_timing(json::value& value) {
    if (value.is_object()) {
        value.get_object().erase("timing");
        for (auto& member : value.get_object())
            strip_timing(member.value());
    } else if (value.is_array()) {
        for (json::value& element : value.get_array())
            strip_timing(element);
    }
}

} // namespace

TEST_CASE("json: a run has its schema, its facts and its cases", "[reports]") {
    const json::value document = parsed(made_up());
    CHECK(document.at("schema") == "veriroce/results/2");
    const json::value& run = document.at("run");
    CHECK(run.at("seed") == "1");
    CHECK(run.at("dut") == "a device of paper");
    CHECK(run.at("link") == "virtual, 1 us");
    CHECK(run.at("complete") == true);
    CHECK(run.at("notes") == json::array{"nothing was offloaded"});
    CHECK(document.at("cases").as_array().size() == 3);
}

TEST_CASE("json: a case has every field", "[reports]") {
    const json::value document = parsed(made_up());
    json::value expected = {
        {"id", "bth/transport-version[v=1]"},
        {"title", "Version 1 is \"dropped\""},
        {"rules", json::array{"BTH-01"}},
        {"level", "MUST"},
        {"verdict", "FAIL"},
        {"summary", "unexpected ACK: line 9 allows none for 10 ms"},
        {"findings",
         json::array{json::object{{"kind", "unexpected"},
                                  {"line", 9},
                                  {"differences", json::array()},
                                  {"packet", 1},
                                  {"rules", json::array()},
                                  {"subject", "ACK"},
                                  {"expected", "dropped"},
                                  {"actual", "< ACK psn=0 msn=1"},
                                  {"time_ns", 10'000'000},
                                  {"detail", ""},
                                  {"text", "unexpected ACK: line 9 allows none for 10 ms"}}}},
        {"plays", nullptr},
        {"file", "bth/transport-version.roce"},
        {"qps", json::array{json::object{{"name", "b"},
                                         {"tester_qpn", 17},
                                         {"dut_qpn", 34},
                                         {"tester_first_psn", 0xFFFFFF},
                                         {"dut_first_psn", 5}}}},
        {"packets",
         json::array{json::object{{"from", "tester"},
                                  {"text", "> SEND_ONLY psn=0"},
                                  {"remarks", json::array()},
                                  {"line", nullptr},
                                  {"bytes", 64},
                                  {"on_wire", true},
                                  {"timing", {{"earliest_ns", 0}, {"latest_ns", 1000}}}},
                     json::object{{"from", "dut"},
                                  {"text", "< ACK psn=0 msn=1"},
                                  {"remarks",
                                   json::array{"injected: delay",
                                               "line 9: unexpected ACK: line 9 allows none for 10 "
                                               "ms",
                                               "ACK-04: PSN 7 was not sent; only PSNs before 5 "
                                               "were sent"}},
                                  {"line", 9},
                                  {"bytes", 62},
                                  {"on_wire", true},
                                  {"timing", {{"earliest_ns", 4000}, {"latest_ns", 5000}}}}}},
        {"host", json::array{json::object{
                     {"before", 1}, {"text", "done recv id=1"}, {"timing", {{"at_ns", 2000}}}}}},
        {"violations", json::array{json::object{{"rule", "ACK-04"},
                                                {"level", "MUST"},
                                                {"certainty", "certain"},
                                                {"packets", json::array{1}},
                                                {"measured", "PSN 7 was not sent"},
                                                {"allowed", "only PSNs before 5 were sent"}}}},
        {"measures", json::object()},
        {"faults", {{"drop when psn=0", 2}}},
        {"tolerated_retransmissions", 1},
        {"command", "veriroce test bth/transport-version --seed 1"}};
    CHECK(document.at("cases").at(1) == expected);
}

TEST_CASE("json: a case that was played again tells its other plays", "[reports]") {
    plan::RunResults results;
    results.cases = {played_again()};
    const json::value document = parsed(results);
    const json::value& one = document.at("cases").at(0);
    CHECK(one.at("verdict") == "ERROR");
    CHECK(one.at("findings").at(0).at("kind") == "not-repeatable");
    CHECK(one.at("plays") ==
          json::value{{"seen_in", 1},
                      {"others", json::array{json::object{{"verdict", "PASS"}, {"summary", ""}},
                                             json::object{{"verdict", "PASS"}, {"summary", ""}}}}});
}

TEST_CASE("json: a finding has every value that differs, and the packet and rules it is about",
          "[reports]") {
    plan::RunResults results;
    results.cases = {mismatched(), violating(), skipped()};
    const json::value document = parsed(results);
    const json::value& mismatch = document.at("cases").at(0).at("findings").at(0);
    CHECK(mismatch.at("kind") == "missing");
    CHECK(mismatch.at("differences") ==
          json::value{{{"field", "msn"}, {"expected", "2"}, {"actual", "1"}},
                      {{"field", "partition_key"}, {"expected", "0xFFFF"}, {"actual", "0x7FFF"}}});
    const json::value& violation = document.at("cases").at(1).at("findings").at(0);
    CHECK(violation.at("kind") == "violation");
    CHECK(violation.at("rules") == json::array{"ACK-04"});
    CHECK(violation.at("differences").at(0).at("expected") == "only PSNs before 5 were sent");
    CHECK(violation.at("time_ns").is_null());
    const json::value& skip = document.at("cases").at(2).at("findings").at(0);
    CHECK(skip.at("kind") == "unsupported");
    CHECK(skip.at("packet").is_null());
    CHECK(skip.at("detail") == "unless out_of_order");
}

TEST_CASE("json: what the other side wrote is stored as plain text", "[reports]") {
    plan::RunResults results = made_up();
    results.run.dut = "\x1b[2J\xC2\x9B\xFF \xC2\xB5s";
    results.run.notes = {"two\nlines"};
    const std::string text = results_json(results);
    for (const char c : text)
        CHECK((c == '\n' || static_cast<unsigned char>(c) >= 0x20) == true);
    CHECK(text.find('\x7F') == std::string::npos);
    const json::value document = parsed(results);
    CHECK(document.at("run").at("dut") == "\\x1b[2J\\xc2\\x9b\\xff \xC2\xB5s");
    CHECK(document.at("run").at("notes") == json::array{"two\nlines"});
}

TEST_CASE("json: measures have their unit and every sample in its order", "[reports]") {
    const json::value document = parsed(made_up());
    const json::value expected = {
        {"rtt", {{"unit", "ns"}, {"samples", json::array{3000, 1000, 2000}}}}};
    CHECK(document.at("cases").at(0).at("measures") == expected);
}

TEST_CASE("json: what depends on the clock stands under timing", "[reports]") {
    const plan::RunResults one = made_up();
    plan::RunResults other = made_up();
    other.timing = {};
    for (interpreter::RecordedPacket& packet : other.cases[1].packets)
        packet.at = {packet.at.earliest + std::chrono::seconds(5),
                     packet.at.latest + std::chrono::seconds(7)};
    json::value first = parsed(one);
    json::value second = parsed(other);
    CHECK(first != second);
    strip_timing(first);
    strip_timing(second);
    CHECK(first == second);
}

TEST_CASE("json: every verdict has its name", "[reports]") {
    for (const auto& [verdict, name] : {std::pair{interpreter::Verdict::Pass, "PASS"},
                                        std::pair{interpreter::Verdict::Fail, "FAIL"},
                                        std::pair{interpreter::Verdict::Warn, "WARN"},
                                        std::pair{interpreter::Verdict::Info, "INFO"},
                                        std::pair{interpreter::Verdict::Skip, "SKIP"},
                                        std::pair{interpreter::Verdict::Xfail, "XFAIL"},
                                        std::pair{interpreter::Verdict::Xpass, "XPASS"},
                                        std::pair{interpreter::Verdict::Error, "ERROR"}}) {
        plan::RunResults results;
        results.cases.emplace_back();
        results.cases.back().verdict = verdict;
        CHECK(parsed(results).at("cases").at(0).at("verdict") == name);
    }
}

TEST_CASE("json: the layout is two blanks a level and a newline at the end", "[reports]") {
    plan::RunResults results;
    results.run.seed = 18446744073709551615U;
    results.run.notes = {"a \"quoted\"\nnote"};
    CHECK(results_json(results) == R"({
  "schema": "veriroce/results/2",
  "cases": [],
  "run": {
    "program": "",
    "seed": "18446744073709551615",
    "mutant": "",
    "dut": "",
    "device": {
      "name": "",
      "device": "",
      "firmware": "",
      "driver": "",
      "kernel": "",
      "backend": "",
      "capabilities": [],
      "traits": [],
      "limits": {}
    },
    "link": "",
    "profile": "",
    "dut_host": "",
    "host": "",
    "complete": true,
    "notes": [
      "a \"quoted\"\nnote"
    ]
  },
  "timing": {
    "started": "",
    "wall_ns": 0,
    "round_trip_p99_ns": 0,
    "sleep_p99_ns": 0,
    "settle_ns": 0,
    "cases": []
  },
  "sheet": null
}
)");
}

} // namespace veriroce::reports::test
