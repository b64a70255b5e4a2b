#include "conformance/plan/results.hpp"

#include <algorithm>

#include "dissector/command_line/exit_code.hpp"

namespace veriroce::plan {

using interpreter::CaseResult;
using interpreter::Finding;
using interpreter::FindingKind;
using interpreter::Verdict;

bool is_not_repeatable(const CaseResult& result) {
    return result.verdict == Verdict::Error &&
           std::ranges::any_of(result.findings, [](const Finding& one) {
               return one.kind == FindingKind::NotRepeatable;
           });
}

std::size_t RunResults::count(Verdict verdict) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        cases, [verdict](const CaseResult& result) { return result.verdict == verdict; }));
}

std::size_t RunResults::not_repeatable() const {
    return static_cast<std::size_t>(std::ranges::count_if(cases, is_not_repeatable));
}

std::size_t RunResults::judged() const {
    return cases.size() - count(Verdict::Skip) - count(Verdict::Error);
}

int RunResults::exit_code(bool strict, double allowed_errors) const {
    const bool broken = count(Verdict::Fail) + count(Verdict::Xpass) > 0;
    if (broken || (strict && count(Verdict::Warn) > 0)) return command_line::kExitFound;
    // A run in which nothing reached a verdict proves nothing, and must not look like success.
    if (judged() == 0) return command_line::kExitUnable;
    const std::size_t errors = count(Verdict::Error);
    const double allowed = allowed_errors * static_cast<double>(judged() + errors);
    const bool few = run.complete && static_cast<double>(errors) <= allowed;
    return errors == 0 || few ? command_line::kExitSuccess : command_line::kExitUnable;
}

} // namespace veriroce::plan
