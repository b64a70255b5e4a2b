#include "conformance/interpreter/case_result.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace veriroce::interpreter {

std::string_view name_of(Verdict verdict) {
    switch (verdict) {
    case Verdict::Pass: return "PASS";
    case Verdict::Fail: return "FAIL";
    case Verdict::Warn: return "WARN";
    case Verdict::Info: return "INFO";
    case Verdict::Skip: return "SKIP";
    case Verdict::Xfail: return "XFAIL";
    case Verdict::Xpass: return "XPASS";
    case Verdict::Error: return "ERROR";
    }
    return "ERROR";
}

const Finding* CaseResult::blamed() const {
    const auto found = std::ranges::find_if(
        findings, [](const Finding& one) { return one.line != 0 || !one.actual.empty(); });
    return found == findings.end() ? nullptr : &*found;
}

std::string CaseResult::expected() const {
    const Finding* finding = blamed();
    return finding == nullptr ? "" : finding->expected;
}

std::string CaseResult::actual() const {
    const Finding* finding = blamed();
    return finding == nullptr ? "" : finding->actual;
}

std::uint32_t CaseResult::line() const {
    const Finding* finding = blamed();
    return finding == nullptr ? 0 : finding->line;
}

void CaseResult::become(Verdict becomes, FindingKind kind, std::string detail) {
    verdict = becomes;
    findings.assign(1, Finding{.kind = kind, .detail = std::move(detail)});
}

std::string CaseResult::seen_text() const {
    if (seen_in == 0) return {};
    return fmt::format("seen in {} of {} plays", seen_in, other_plays.size() + 1);
}

} // namespace veriroce::interpreter
