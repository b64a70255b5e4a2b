#include "conformance/judge/violation_log.hpp"

namespace veriroce::judge {

void ViolationLog::add(Violation violation, std::uint64_t number) {
    ++counts_[static_cast<std::size_t>(violation.certainty)];
    if (violations_.size() < limits_.violations && keeps_one_more(violation)) {
        violations_.push_back(std::move(violation));
        found_at_.push_back(end_.value_or(FoundAt{0, number}));
    }
}

bool ViolationLog::keeps_one_more(const Violation& violation) {
    for (Seen& seen : seen_) {
        if (seen.rule != violation.rule || seen.connection != violation.connection ||
            seen.certainty != violation.certainty) {
            continue;
        }
        return ++seen.count <= limits_.of_one_rule_per_connection;
    }
    seen_.push_back({violation.rule, violation.connection, violation.certainty, 1});
    return true;
}

void ViolationLog::count_into(Summary& summary) const {
    summary.certain = counts_[static_cast<std::size_t>(Certainty::Certain)];
    summary.possible = counts_[static_cast<std::size_t>(Certainty::Possible)];
    summary.undecidable = counts_[static_cast<std::size_t>(Certainty::Undecidable)];
}

} // namespace veriroce::judge
