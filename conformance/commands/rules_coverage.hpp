// `veriroce rules --coverage`: what checks each rule.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "conformance/rules/rules.hpp"

namespace veriroce::commands {

struct RuleCoverage {
    const rules::Rule* rule = nullptr; // of the catalogue
    std::vector<std::string_view> cases;
    bool judge = false;
    bool model = false;
    // Of a statement of the annex: rules that are made of it, and are covered themselves.
    std::vector<std::string_view> through;
    std::vector<std::string_view> measured; // cases of the data sheet, which demand nothing
    std::string_view needed;                // what a case would need, if no case names it

    [[nodiscard]] bool checked() const {
        return !cases.empty() || judge || model || !through.empty();
    }
};

// In the order of the catalogue.
std::vector<RuleCoverage> rule_coverage();

// "RSP-02   MUST   rsp/gap-nak and 11 more cases, judge, model", without a line's end.
std::string text_of(const RuleCoverage& rule);
// "333 rules: 249 with a case, 28 only through the judge, ..."
std::string summary_of(const std::vector<RuleCoverage>& rules);

} // namespace veriroce::commands
