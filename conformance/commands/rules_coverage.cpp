#include "conformance/commands/rules_coverage.hpp"

#include <algorithm>
#include <map>
#include <ranges>

#include <fmt/format.h>

#include "conformance/cases/embedded.hpp"
#include "conformance/cases/without_case.hpp"
#include "conformance/judge/judged_rules.hpp"
#include "conformance/model/checked_rules.hpp"
#include "conformance/sheet/measure.hpp"

namespace veriroce::commands {
namespace {

using Words = std::vector<std::string_view>;

Words words_of(std::string_view text) {
    Words words;
    for (const auto part : std::views::split(text, ' ')) {
        if (!part.empty()) words.emplace_back(part.begin(), part.end());
    }
    return words;
}

// The ids of the first line of a case, `rule ID...`.
Words rules_named_by(const cases::EmbeddedFile& file) {
    std::string_view line = file.text.substr(0, file.text.find('\n'));
    line = line.substr(0, line.find('#'));
    Words words = words_of(line);
    if (!words.empty()) words.erase(words.begin());
    return words;
}

std::map<std::string_view, Words> by_rule(std::span<const cases::EmbeddedFile> files) {
    std::map<std::string_view, Words> found;
    for (const cases::EmbeddedFile& file : files) {
        for (const std::string_view id : rules_named_by(file))
            found[id].push_back(file.id());
    }
    return found;
}

std::map<std::string_view, std::string_view> needed_by_rule() {
    std::map<std::string_view, std::string_view> found;
    for (const cases::WithoutCase& row : cases::rules_without_case()) {
        for (const std::string_view id : words_of(row.rules))
            found[id] = row.needed;
    }
    return found;
}

bool among(std::span<const std::string_view> ids, std::string_view id) {
    return std::ranges::find(ids, id) != ids.end();
}

} // namespace

std::vector<RuleCoverage> rule_coverage() {
    const auto named = by_rule(cases::embedded_files());
    const auto measured = by_rule(sheet::case_files());
    const auto needed = needed_by_rule();
    std::vector<RuleCoverage> all;
    for (const rules::Rule& rule : rules::catalogue().rules()) {
        RuleCoverage one{.rule = &rule,
                         .judge = among(judge::judged_rules(), rule.id),
                         .model = among(model::checked_rules(), rule.id)};
        if (const auto found = named.find(rule.id); found != named.end()) one.cases = found->second;
        if (const auto found = measured.find(rule.id); found != measured.end())
            one.measured = found->second;
        if (const auto found = needed.find(rule.id); found != needed.end()) {
            one.needed = found->second;
        }
        all.push_back(std::move(one));
    }
    for (RuleCoverage& statement : all) {
        if (statement.rule->group() != "CA17") continue;
        for (const RuleCoverage& other : all) {
            const Words clauses = words_of(other.rule->clause);
            const bool made_of_it =
                other.rule->id != statement.rule->id && among(clauses, statement.rule->id);
            if (made_of_it && other.checked()) statement.through.push_back(other.rule->id);
        }
    }
    return all;
}

std::string text_of(const RuleCoverage& rule) {
    std::vector<std::string> parts;
    if (!rule.cases.empty()) {
        const std::size_t more = rule.cases.size() - 1;
        parts.push_back(more == 0 ? std::string(rule.cases.front())
                                  : fmt::format("{} and {} more case{}", rule.cases.front(), more,
                                                more == 1 ? "" : "s"));
    }
    if (rule.judge) parts.emplace_back("judge");
    if (rule.model) parts.emplace_back("model");
    if (!rule.through.empty()) parts.push_back(fmt::format("as {}", fmt::join(rule.through, " ")));
    if (!rule.measured.empty())
        parts.push_back(fmt::format("measured by {}", fmt::join(rule.measured, " ")));
    if (!rule.needed.empty()) parts.push_back(fmt::format("a case needs {}", rule.needed));
    return fmt::format("{:<8} {:<6} {}", rule.rule->id, rules::word(rule.rule->level),
                       fmt::join(parts, ", "));
}

std::string summary_of(const std::vector<RuleCoverage>& rules) {
    const auto count = [&](auto wanted) { return std::ranges::count_if(rules, wanted); };
    const auto with_case = count([](const RuleCoverage& one) { return !one.cases.empty(); });
    const auto checked = count([](const RuleCoverage& one) { return one.checked(); });
    const auto is_open = [](const RuleCoverage& one) {
        return !one.checked() && one.measured.empty();
    };
    const auto open = [&](rules::Level level) {
        return count(
            [&](const RuleCoverage& one) { return is_open(one) && one.rule->level == level; });
    };
    return fmt::format(
        "{} rules: {} with a case, {} only through the judge, the model or a related "
        "rule, {} only measured by the data sheet, {} unchecked (MUST {}, SHOULD {}, INFO {})",
        rules.size(), with_case, checked - with_case,
        static_cast<std::ptrdiff_t>(rules.size()) - checked - count(is_open), count(is_open),
        open(rules::Level::Must), open(rules::Level::Should), open(rules::Level::Info));
}

} // namespace veriroce::commands
