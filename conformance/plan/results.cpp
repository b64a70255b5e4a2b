#include "conformance/plan/results.hpp"

#include <algorithm>

#include "dissector/command_line/exit_code.hpp"

namespace veriroce::plan {

using interpreter::CaseResult;
using interpreter::Finding;
using interpreter::FindingKind;
using interpreter::Verdict;

std::size_t RunResults::count(Verdict verdict) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        cases, [verdict](const CaseResult& result) { return result.verdict == verdict; }));
}

int RunResults::exit_code(bool strict) const {
    const bool broken = count(Verdict::Fail) + count(Verdict::Xpass) > 0;
    if (broken || (strict && count(Verdict::Warn) > 0)) return command_line::kExitFound;
    // A run in which nothing reached a verdict proves nothing, and must not look like success.
    const std::size_t judged = cases.size() - count(Verdict::Skip) - count(Verdict::Error);
    if (count(Verdict::Error) > 0 || judged == 0) return command_line::kExitUnable;
    return command_line::kExitSuccess;
}

} // namespace veriroce::plan
