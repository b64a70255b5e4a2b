#include "conformance/commands/test_matrix.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "conformance/commands/test_device.hpp"
#include "conformance/judge/judged_rules.hpp"
#include "conformance/model/checked_rules.hpp"
#include "conformance/plan/ahead.hpp"
#include "conformance/plan/run.hpp"
#include "dissector/command_line/stop_on_signal.hpp"

namespace veriroce::commands {
namespace {

using namespace command_line;

bool among(std::span<const std::string_view> ids, std::string_view id) {
    return std::ranges::find(ids, id) != ids.end();
}

std::string what_caught(const interpreter::CaseResult& result) {
    const interpreter::Finding& finding = result.findings.front();
    if (finding.kind != interpreter::FindingKind::Violation) {
        return finding.line == 0 ? std::string("the end of the case")
                                 : fmt::format("line {}", finding.line);
    }
    const std::string rule = finding.rules.empty() ? std::string("?") : finding.rules.front();
    const bool judge = among(judge::judged_rules(), rule);
    const bool model = among(model::checked_rules(), rule);
    return fmt::format("{} by {}", rule,
                       judge && model ? "judge or model"
                       : judge        ? "judge"
                                      : "model");
}

std::vector<const mutants::Mutant*> defects_of(const TestOptions& options) {
    std::vector<const mutants::Mutant*> defects;
    const auto add = [&](std::span<const mutants::Mutant> list) {
        for (const mutants::Mutant& one : list) {
            if (options.mutant.empty() || options.mutant == one.name) defects.push_back(&one);
        }
    };
    add(mutants::all());
    for (const auto& sample : mutants::blind_samples())
        add(sample);
    return defects;
}

} // namespace

Accepted<std::vector<CaughtBy>> catches(const plan::Plan& plan, const mutants::Mutant& defect,
                                        const TestOptions& options) {
    testbed::VirtualTestbedOptions device;
    device.seed = options.seed;
    plant(defect, device);
    auto lacks = dut::Lacks::parse(defect.lacks);
    if (!lacks) return unable(lacks.error());
    device.lacks = std::move(*lacks);
    testbed::VirtualTestbed bench(std::move(device));
    plan::RunOptions alone;
    alone.seed = options.seed;
    plan::Selection all; // a defect shows in whatever was selected
    all.slow = true;
    std::vector<CaughtBy> caught;
    for (const plan::PlannedRun& run : plan.runs) {
        const script::Case& script = plan.cases[run.case_index];
        const std::string id = script.id();
        if (!caught.empty() && caught.back().case_id == id) continue;
        const auto environment = plan::environment_alone(bench, run, alone);
        if (plan::reason_to_skip(script, run, bench, environment, all)) continue;
        const auto result = bench.play(script, *run.run, environment);
        const bool failed = result.verdict == interpreter::Verdict::Fail ||
                            result.verdict == interpreter::Verdict::Warn;
        if (failed && !result.findings.empty()) caught.push_back({id, what_caught(result)});
    }
    return caught;
}

Accepted<int> print_matrix(const plan::Plan& plan, const TestOptions& options, std::FILE* out) {
    if (!options.dut.empty()) return misused("--matrix plays in virtual time: leave out --dut");
    const auto defects = defects_of(options);
    if (defects.empty()) return misused(fmt::format("'{}' is no planted defect", options.mutant));
    const StopOnSignal stop;
    std::size_t found = 0;
    std::size_t pairs = 0;
    plan::Ahead<Accepted<std::vector<CaughtBy>>> all(
        threads_of(options), defects.size(),
        [&](std::size_t number) { return catches(plan, *defects[number], options); });
    for (const mutants::Mutant* defect : defects) {
        const auto caught = all.take();
        if (StopOnSignal::requested()) return kExitInterrupted;
        if (!caught) return std::unexpected(caught.error());
        found += caught->empty() ? 0 : 1;
        pairs += caught->size();
        for (const CaughtBy& one : *caught)
            fmt::print(out, "{} {} {} {}\n", defect->name, defect->rule, one.case_id, one.what);
        if (caught->empty()) fmt::print(out, "{} {} -\n", defect->name, defect->rule);
    }
    fmt::print(out, "\n{} of {} defects are caught, in {} pairs of a case and a defect\n", found,
               defects.size(), pairs);
    return kExitSuccess;
}

} // namespace veriroce::commands
