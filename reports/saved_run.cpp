#include "reports/saved_run.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "conformance/plan/run_name.hpp"
#include "reports/saved_results.hpp"

namespace veriroce::reports {
namespace {

using interpreter::CaseResult;
using interpreter::Verdict;

constexpr std::array kFromBestToWorst{Verdict::Pass,  Verdict::Info, Verdict::Skip,  Verdict::Error,
                                      Verdict::Xfail, Verdict::Warn, Verdict::Xpass, Verdict::Fail};

// Rules that the device broke in this run, whatever the verdict made of it.
void add_broken(std::vector<std::string>& broken, const CaseResult& result) {
    for (const interpreter::Violation& one : result.violations) {
        if (one.certain) broken.push_back(one.rule);
    }
    const bool wrong = result.verdict == Verdict::Fail || result.verdict == Verdict::Warn ||
                       result.verdict == Verdict::Xfail;
    for (const interpreter::Finding& finding : result.findings) {
        if (!wrong) break;
        const auto& rules = finding.rules.empty() ? result.rules : finding.rules;
        broken.insert(broken.end(), rules.begin(), rules.end());
    }
    std::ranges::sort(broken);
    broken.erase(std::ranges::unique(broken).begin(), broken.end());
}

} // namespace

int gravity(Verdict verdict) {
    return static_cast<int>(std::ranges::find(kFromBestToWorst, verdict) -
                            kFromBestToWorst.begin());
}

SavedRun saved_run(std::string name, const plan::RunResults& results) {
    SavedRun run{.name = std::move(name),
                 .dut = results.run.dut,
                 .link = results.run.link,
                 .profile = results.run.profile,
                 .started = results.timing.started,
                 .complete = results.run.complete,
                 .device = results.run.device,
                 .sheet = results.sheet,
                 .cases = {}};
    std::map<std::string, SavedCase> cases;
    for (const CaseResult& result : results.cases) {
        std::string id = plan::without_round(result.id);
        const auto [place, added] = cases.try_emplace(id);
        SavedCase& one = place->second;
        if (added || gravity(result.verdict) > gravity(one.verdict)) {
            one.id = std::move(id);
            one.verdict = result.verdict;
            one.summary = result.reason();
        }
        add_broken(one.broken, result);
        for (const auto& [measure, samples] : result.measures) {
            auto& all = one.measures[measure];
            all.insert(all.end(), samples.begin(), samples.end());
        }
    }
    for (auto& [id, one] : cases)
        run.cases.push_back(std::move(one));
    return run;
}

std::expected<SavedRun, std::string> read_saved_run(std::string name, std::string_view json) {
    auto results = read_results(json);
    if (!results) return std::unexpected(results.error());
    return saved_run(std::move(name), *results);
}

} // namespace veriroce::reports
