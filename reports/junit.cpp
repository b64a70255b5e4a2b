#include "reports/junit.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "conformance/rules/rules.hpp"
#include "dissector/wire/safe_text.hpp"
#include "reports/case_rows.hpp"

namespace veriroce::reports {
namespace {

using wire::shown_character;

using interpreter::CaseResult;
using interpreter::Verdict;

// As text and as the value of an attribute; line ends stay line ends there too.
std::string escaped(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const bool line = text.front() == '\n' || text.front() == '\t';
        const std::size_t size = line ? 1 : shown_character(text);
        const std::string_view character = text.substr(0, std::max<std::size_t>(size, 1));
        if (size == 0)
            out += '?';
        else if (character == "&")
            out += "&amp;";
        else if (character == "<")
            out += "&lt;";
        else if (character == ">")
            out += "&gt;";
        else if (character == "\"")
            out += "&quot;";
        else if (character == "\n")
            out += "&#10;";
        else if (character == "\t")
            out += "&#9;";
        else
            out += character;
        text.remove_prefix(character.size());
    }
    return out;
}

std::string attribute(std::string_view name, std::string_view value) {
    return fmt::format(" {}=\"{}\"", name, escaped(value));
}

std::string seconds(wire::Duration time) {
    return fmt::format("{:.6f}", static_cast<double>(time.count()) / 1e9);
}

// What a person needs to know of a case that did not pass, a line each.
std::string details(const CaseResult& result) {
    std::string text;
    for (const Row& row : case_rows(result)) {
        if (!row.label.empty()) text += row.label + ": ";
        text += text_of(row) + "\n";
    }
    return text;
}

std::string outcome(const CaseResult& result) {
    const std::string_view type =
        plan::is_not_repeatable(result) ? "NOT-REPEATABLE" : name_of(result.verdict);
    const auto element = [&](std::string_view name) {
        return fmt::format("      <{}{}{}>{}</{}>\n", name, attribute("type", type),
                           attribute("message", result.reason()), escaped(details(result)), name);
    };
    switch (result.verdict) {
    case Verdict::Pass: return {};
    case Verdict::Fail:
    case Verdict::Xpass: return element("failure");
    case Verdict::Error: return element("error");
    case Verdict::Skip:
    case Verdict::Xfail:
        return fmt::format(
            "      <skipped{}/>\n",
            attribute("message", fmt::format("{}: {}", name_of(result.verdict), result.reason())));
    case Verdict::Warn:
    case Verdict::Info: return {};
    }
    return {};
}

// Rules, script and captures, and what a case that passes with a remark has to say. Readers take
// [[ATTACHMENT|path]] on a line of its own for a file to show with the case.
std::string output(const CaseResult& result) {
    std::string text = fmt::format("rules: {} ({})\nscript: {}\n", fmt::join(result.rules, " "),
                                   rules::word(result.level), result.file);
    if (result.verdict == Verdict::Warn || result.verdict == Verdict::Info)
        text += fmt::format("{}\n{}", name_of(result.verdict), details(result));
    const auto attach = [&text](const std::string& path) {
        if (!path.empty()) text += fmt::format("[[ATTACHMENT|{}]]\n", wire::safe_text(path));
    };
    attach(result.capture);
    for (const interpreter::OtherPlay& play : result.other_plays)
        attach(play.capture);
    return fmt::format("      <system-out>{}</system-out>\n", escaped(text));
}

// The counts that a <testsuite> and the whole have.
struct Counts {
    std::size_t tests = 0;
    std::size_t failures = 0;
    std::size_t errors = 0;
    std::size_t skipped = 0;
    wire::Duration time{0};

    void add(const CaseResult& result, wire::Duration wall) {
        ++tests;
        time += wall;
        if (result.verdict == Verdict::Fail || result.verdict == Verdict::Xpass) ++failures;
        if (result.verdict == Verdict::Error) ++errors;
        if (result.verdict == Verdict::Skip || result.verdict == Verdict::Xfail) ++skipped;
    }
    [[nodiscard]] std::string text() const {
        return fmt::format(" tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{}\"", tests,
                           failures, errors, seconds(time));
    }
};

struct Suite {
    Counts counts;
    std::string cases;
};

std::string property(std::string_view name, std::string_view value) {
    return fmt::format("      <property{}{}/>\n", attribute("name", name),
                       attribute("value", value));
}

// What the run was, in each suite: readers show a suite by itself.
std::string properties(const testbed::RunInfo& run) {
    std::string text = "    <properties>\n";
    text += property("dut", run.dut) + property("link", run.link);
    text += property("seed", std::to_string(run.seed));
    if (!run.dut_host.empty()) text += property("dut_host", run.dut_host);
    if (!run.device.firmware.empty()) text += property("firmware", run.device.firmware);
    if (!run.profile.empty()) text += property("profile", run.profile);
    text += property("complete", run.complete ? "true" : "false");
    return text + "    </properties>\n";
}

} // namespace

std::string junit_xml(const plan::RunResults& results) {
    std::map<std::string, wire::Duration> walls;
    for (const plan::CaseTiming& one : results.timing.cases)
        walls[one.id] = one.wall;
    std::map<std::string, Suite, std::less<>> suites;
    Counts all;
    for (const CaseResult& result : results.cases) {
        Suite& suite = suites[std::string(group_of(result.id))];
        const wire::Duration wall = walls[result.id];
        suite.counts.add(result, wall);
        all.add(result, wall);
        suite.cases +=
            fmt::format("    <testcase{}{}{}>\n{}{}    </testcase>\n", attribute("name", result.id),
                        attribute("classname", fmt::format("veriroce.{}", group_of(result.id))),
                        attribute("time", seconds(wall)), outcome(result), output(result));
    }
    std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    out += fmt::format("<testsuites name=\"veriroce\"{}>\n", all.text());
    for (const auto& [name, suite] : suites) {
        out += fmt::format("  <testsuite{}{} skipped=\"{}\"{}>\n{}{}  </testsuite>\n",
                           attribute("name", name), suite.counts.text(), suite.counts.skipped,
                           attribute("timestamp", results.timing.started), properties(results.run),
                           suite.cases);
    }
    return out + "</testsuites>\n";
}

} // namespace veriroce::reports
