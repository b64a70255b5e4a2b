// Any text as a profile: read, or refused with its place; what is read holds what it promises.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "conformance/plan/profile.hpp"

namespace {

using namespace veriroce::plan;
using veriroce::interpreter::CaseResult;
using veriroce::interpreter::Verdict;

void require(bool holds) {
    if (!holds) std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto profile = parse_profile("x.yaml", text);
    if (!profile) {
        require(profile.error().starts_with("x.yaml:") && profile.error().ends_with('\n'));
        return 0;
    }
    require(!profile->name.empty() && profile->time_scale >= 0.1);
    for (const Deviation& entry : profile->deviations) {
        require(!entry.reason.empty() && entry.rule.empty() != entry.case_id.empty());
        require(entry.line >= 1);
    }
    CaseResult result;
    result.id = "rsp/gap-nak";
    result.rules = {"RSP-02"};
    for (const Verdict verdict : {Verdict::Fail, Verdict::Pass}) {
        result.verdict = verdict;
        KnownDeviations(*profile, {.firmware = "2.1.7", .kernel = "6.1.0", .today = "2026-06-01"})
            .judge(result);
        require(result.verdict == verdict || !result.reason().empty());
    }
    return 0;
}
