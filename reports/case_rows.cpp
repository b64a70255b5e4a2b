#include "reports/case_rows.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "conformance/plan/results.hpp"
#include "conformance/rules/rules.hpp"
#include "reports/pcapng.hpp"

namespace veriroce::reports {
namespace {

using interpreter::CaseResult;
using interpreter::Finding;
using interpreter::FindingKind;
using interpreter::Verdict;

bool is_violation(const Finding& finding) {
    return finding.kind == FindingKind::Violation;
}

void add_line(std::vector<Row>& rows, const Finding& finding) {
    if (finding.line != 0) {
        rows.push_back(
            {Row::Kind::Verbatim, fmt::format("line {}", finding.line), finding.expected});
    } else if (!finding.expected.empty()) {
        rows.push_back({Row::Kind::Verbatim, "expected", finding.expected});
    }
}

void add_violation(std::vector<Row>& rows, const Finding& finding, bool lines_met) {
    rows.push_back(
        {Row::Kind::Sentence, "",
         fmt::format("{}the packets violate {}", lines_met ? "every line passed, but " : "",
                     fmt::join(finding.rules, " "))});
    if (!finding.actual.empty()) rows.push_back({Row::Kind::Verbatim, "packet", finding.actual});
    for (const interpreter::Difference& one : finding.differences) {
        rows.push_back({Row::Kind::Text, "measured", one.actual});
        rows.push_back({Row::Kind::Text, "allowed", one.expected});
    }
}

void add_differences(std::vector<Row>& rows, const Finding& finding) {
    for (const interpreter::Difference& one : finding.differences)
        rows.push_back({Row::Kind::Difference, one.field, one.expected, one.actual});
    if (finding.kind == FindingKind::Missing && finding.time) {
        rows.push_back({Row::Kind::Text, "waited", interpreter::short_time(*finding.time)});
    }
    if (!finding.detail.empty()) rows.push_back({Row::Kind::Sentence, "", finding.detail});
}

void add_finding(std::vector<Row>& rows, const Finding& finding) {
    add_line(rows, finding);
    if (!finding.actual.empty()) rows.push_back({Row::Kind::Verbatim, "got", finding.actual});
    if (!finding.differences.empty()) return add_differences(rows, finding);
    rows.push_back({Row::Kind::Sentence, "", sentence(finding)});
}

// What the other plays of the case came to, and where their packets are.
void add_plays(std::vector<Row>& rows, const CaseResult& result) {
    if (result.seen_in > 0 && !plan::is_not_repeatable(result)) {
        rows.push_back({Row::Kind::Text, "plays", result.seen_text()});
        if (result.seen_in == result.other_plays.size() + 1) return; // they are all alike
    }
    std::map<std::string, std::size_t> plays; // by what they came to
    for (const interpreter::OtherPlay& play : result.other_plays) {
        const std::string why = summary(play.findings);
        ++plays[fmt::format("{}{}{}", name_of(play.verdict), why.empty() ? "" : ": ", why)];
    }
    for (const auto& [text, count] : plays) {
        rows.push_back(
            {Row::Kind::Text, count == 1 ? "another" : fmt::format("{} others", count), text});
    }
    for (const interpreter::OtherPlay& play : result.other_plays) {
        if (!play.capture.empty()) rows.push_back({Row::Kind::Verbatim, "packets", play.capture});
    }
}

// The rules that the findings name, or else those of the case.
std::vector<std::string> broken_rules(const CaseResult& result) {
    std::vector<std::string> rules;
    for (const Finding& finding : result.findings) {
        for (const std::string& rule : finding.rules.empty() ? result.rules : finding.rules) {
            if (std::ranges::find(rules, rule) == rules.end()) rules.push_back(rule);
        }
    }
    return rules;
}

} // namespace

std::string_view group_of(std::string_view id) {
    const std::size_t slash = id.find('/');
    return slash == std::string_view::npos ? "cases" : id.substr(0, slash);
}

std::vector<Row> case_rows(const CaseResult& result) {
    std::vector<Row> rows;
    const bool lines_met = std::ranges::all_of(result.findings, is_violation);
    for (const Finding& finding : result.findings) {
        if (is_violation(finding)) {
            add_violation(rows, finding, lines_met);
        } else {
            add_finding(rows, finding);
        }
    }
    if (result.verdict == Verdict::Fail || result.verdict == Verdict::Warn) {
        for (const std::string& id : broken_rules(result)) {
            const auto rule = rules::catalogue().find(id);
            if (!rule) continue;
            rows.push_back(
                {Row::Kind::Text, "rule",
                 fmt::format("{} ({}) {}", id, rules::word(rule->get().level), rule->get().text)});
        }
    }
    add_plays(rows, result);
    if (!result.capture.empty())
        rows.push_back({Row::Kind::Verbatim, "packets", open_command(result)});
    if (!result.command.empty()) rows.push_back({Row::Kind::Verbatim, "rerun", result.command});
    return rows;
}

std::string text_of(const Row& row) {
    if (row.kind != Row::Kind::Difference) return row.text;
    return fmt::format("expected {}, got {}", row.text, row.actual);
}

std::vector<std::string> remarks_of(const CaseResult& result, std::size_t packet) {
    std::vector<std::string> remarks = result.packets[packet].remarks;
    const auto add = [&remarks](std::string remark) { // results that were read again have it
        if (std::ranges::find(remarks, remark) == remarks.end())
            remarks.push_back(std::move(remark));
    };
    for (const Finding& finding : result.findings) {
        if (finding.packet != packet || is_violation(finding)) continue;
        add(finding.line == 0 ? sentence(finding)
                              : fmt::format("line {}: {}", finding.line, sentence(finding)));
    }
    for (const interpreter::Violation& one : result.violations) {
        if (!one.certain || one.packets.empty() || one.packets.front() != packet) continue;
        add(fmt::format("{}: {}; {}", one.rule, one.measured, one.allowed));
    }
    return remarks;
}

} // namespace veriroce::reports
