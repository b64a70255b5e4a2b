#include "conformance/commands/rules.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "conformance/commands/rules_coverage.hpp"
#include "conformance/rules/rules.hpp"
#include "dissector/command_line/refusal.hpp"

namespace veriroce::commands {
namespace {

using namespace command_line;

bool is_called(const rules::Rule& rule, const std::string& id) {
    return rule.id == id || rule.group() == id;
}

int print_coverage(const std::vector<std::string>& ids, std::FILE* out) {
    auto coverage = rule_coverage();
    std::erase_if(coverage, [&](const RuleCoverage& one) {
        const auto called = [&](const std::string& id) { return is_called(*one.rule, id); };
        return !ids.empty() && std::ranges::none_of(ids, called);
    });
    for (const RuleCoverage& one : coverage)
        fmt::print(out, "{}\n", text_of(one));
    fmt::print(out, "\n{}\n", summary_of(coverage));
    return kExitSuccess;
}

} // namespace

void add_rules(Command program) {
    auto command = program.add_command("rules", "Print the rule catalogue");
    const auto ids = std::make_shared<std::vector<std::string>>();
    command.option(
        "ID", *ids,
        "Rules (RSP-02) or groups (RSP); the default is all. Roles: np and rp are the notification "
        "and reaction points of congestion control");
    const auto coverage = std::make_shared<bool>(false);
    command.flag(
        "--coverage", *coverage,
        "Say what checks each rule: cases, the judge, the model, or what a case would need");
    command.on_run([ids, coverage] { return run_rules(*ids, stdout, stderr, *coverage); });
}

int run_rules(const std::vector<std::string>& ids, std::FILE* out, std::FILE* err, bool coverage) {
    const auto& rules = rules::catalogue().rules();
    for (const std::string& id : ids) {
        const auto called = [&](const rules::Rule& rule) { return is_called(rule, id); };
        if (std::ranges::any_of(rules, called)) continue;
        return tell(err, {kExitUsage, rules::unknown_rule(id)});
    }
    if (coverage) return print_coverage(ids, out);
    for (const rules::Rule& rule : rules) {
        const auto called = [&](const std::string& id) { return is_called(rule, id); };
        if (!ids.empty() && std::ranges::none_of(ids, called)) continue;
        fmt::print(out, "{:<8} {:<6} {:<10} {}\n", rule.id, rules::word(rule.level),
                   rules::word(rule.role), rule.title);
        if (!ids.empty()) fmt::print(out, "         {}\n", rule.text);
    }
    return kExitSuccess;
}

} // namespace veriroce::commands
