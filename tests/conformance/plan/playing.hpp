// Plays cases in virtual time for tests: the program's own, and small ones that stand in the test.
#pragma once

#include <catch2/catch.hpp>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/cases/embedded.hpp"
#include "conformance/interpreter/playable.hpp"
#include "conformance/mutants/mutants.hpp"
#include "conformance/plan/plan.hpp"
#include "conformance/plan/run.hpp"
#include "conformance/script/script.hpp"
#include "conformance/testbed/virtual_testbed.hpp"
#include "tests/part_of.hpp"

namespace veriroce::test {

using namespace interpreter;
using namespace plan;
using namespace testbed;

inline VirtualTestbedOptions right_engine(std::uint64_t seed = 1) {
    VirtualTestbedOptions options;
    options.seed = seed;
    return options;
}

inline constexpr const InexactLab& real_lab = kRealLab;

// The right engine, and what a filter makes of its packets.
template <typename Filter>
VirtualTestbedOptions engine_behind() {
    VirtualTestbedOptions options;
    options.filter =
        +[]() -> std::unique_ptr<engine::SurfaceFilter> { return std::make_unique<Filter>(); };
    return options;
}

inline VirtualTestbedOptions engine_of(const mutants::Mutant& mutant) {
    VirtualTestbedOptions options;
    options.engine.behaviour = mutant.behaviour;
    options.checks = mutant.checks;
    options.filter = mutant.make_filter;
    options.traits = mutants::traits_of(mutant);
    options.ack_timer_floor = mutant.ack_timer_floor;
    if (auto lacks = dut::Lacks::parse(mutant.lacks)) {
        options.lacks = std::move(*lacks);
    } else {
        FAIL(lacks.error());
    }
    return options;
}

// Of the longest sweeps SWEEP_SHARE=I/N plays part I of N; all of them without. With sanitizers
// they are samples already.
inline Shard sweep_share() {
    const char* text = std::getenv("SWEEP_SHARE");
    const auto share = parse_shard(text == nullptr || kSanitized ? "1/1" : text);
    if (!share) throw std::runtime_error("SWEEP_SHARE: " + share.error());
    return *share;
}

// As sweep_of; of a long sweep the part that SWEEP_SHARE tells. One element at least.
template <std::ranges::random_access_range List>
auto shared_sweep_of(const List& all, std::size_t part, std::size_t parts) {
    const Shard share = sweep_share();
    auto taken = part_of(all, part + parts * (share.index - 1), parts * kSweepStep * share.of);
    if (taken.empty()) taken.push_back(all[(part + share.index) % std::size(all)]);
    return taken;
}

// Both IP versions; all of the program's own cases if none is named.
inline Selection over_both(std::vector<std::string> names = {}) {
    Selection selection;
    selection.names = std::move(names);
    selection.ip_versions = {4, 6};
    selection.slow = true;
    return selection;
}

// With sanitizers a sample of the suite's cases, one of kSweepStep * `rarer`, by turns: to compile
// the others would take longer than to play these. Load has a test of its own.
inline Selection swept(Selection selection, std::size_t turn, std::size_t rarer = 1) {
    if (!kSanitized) return selection;
    const auto files = cases::embedded_files();
    const std::size_t step = kSweepStep * rarer;
    for (std::size_t i = turn % step; i < files.size(); i += step) {
        if (files[i].group() != "load") selection.names.emplace_back(files[i].id());
    }
    return selection;
}

inline Plan plan_of(const Selection& selection) {
    auto plan = make_plan(selection, {});
    if (!plan) FAIL(plan.error().text);
    return std::move(*plan);
}

// As `veriroce test` plays it: with the sanity exchange after each run.
inline std::vector<CaseResult> play_suite(const Plan& plan, const Selection& selection,
                                          VirtualTestbedOptions device, std::uint64_t seed = 1) {
    VirtualTestbed testbed(std::move(device));
    RunOptions options;
    options.seed = seed;
    PlanRun run(testbed, plan, selection, options);
    std::vector<CaseResult> results;
    while (auto result = run.next())
        results.push_back(std::move(*result));
    REQUIRE(results.size() == plan.runs.size());
    return results;
}

inline std::vector<CaseResult> play_suite(const Selection& selection, VirtualTestbedOptions device,
                                          std::uint64_t seed = 1) {
    return play_suite(plan_of(selection), selection, std::move(device), seed);
}

// A verdict with what it takes to understand it.
inline std::string text_of(const CaseResult& result) {
    std::string text = result.id + ": " + std::string(name_of(result.verdict));
    for (const auto& [label, part] : {std::pair{"reason", result.reason()},
                                      {"expected", result.expected()},
                                      {"actual", result.actual()}}) {
        if (!part.empty()) text += std::string("\n  ") + label + ": " + part;
    }
    return text;
}

// The first run of a script in a test, without a sanity exchange.
inline CaseResult play_script(std::string_view script,
                              VirtualTestbedOptions device = right_engine()) {
    const auto compiled = script::compile("made/up.roce", script);
    if (!compiled) FAIL(compiled.error().front().text("made/up.roce"));
    const auto beyond = unplayable_lines(*compiled);
    if (!beyond.empty()) FAIL(beyond.front().text("made/up.roce"));
    REQUIRE_FALSE(compiled->runs.empty());
    VirtualTestbed testbed(std::move(device));
    const PlannedRun planned{.run = std::make_shared<const script::Run>(compiled->runs.front())};
    return testbed.play(compiled->test_case, *planned.run, testbed.environment(planned.network()));
}

} // namespace veriroce::test
