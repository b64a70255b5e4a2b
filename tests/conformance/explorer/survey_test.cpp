// How many of the defects that were written blind the dialogues find, every fourth of them: hidden,
// as it takes minutes.
//
//   test_explorer '[survey]'
#include <cstdio>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "conformance/explorer/dialogue.hpp"
#include "conformance/explorer/exploration.hpp"
#include "conformance/explorer/signature.hpp"
#include "tests/conformance/plan/playing.hpp"

namespace veriroce::explorer {
namespace {

using interpreter::CaseResult;
using interpreter::Environment;
using interpreter::Verdict;
using testbed::VirtualTestbed;

constexpr std::uint64_t kDialogues = 2'000; // about two seconds
constexpr std::size_t kStep = 4;

struct Script {
    std::uint64_t seed = 0;
    script::Script compiled;
};

std::vector<Script> dialogues() {
    const Reach reach = reach_of(VirtualTestbed(test::right_engine()).environment({}));
    std::vector<Script> all;
    for (std::uint64_t seed = 1; seed <= kDialogues; ++seed) {
        auto script = script::compile("explored/x.roce", dialogue_of(seed, reach).text);
        REQUIRE(script.has_value());
        all.push_back({seed, *std::move(script)});
    }
    return all;
}

Verdict play(VirtualTestbed& device, const Script& script) {
    Environment environment = device.environment(network_of(script.compiled, script.seed));
    environment.seed = script.seed;
    return device.play(script.compiled.test_case, script.compiled.runs.front(), environment)
        .verdict;
}

bool speaks_against(Verdict verdict) {
    return verdict == Verdict::Fail || verdict == Verdict::Warn;
}

// The first dialogue that fails on the defect and passes on the right device.
std::optional<std::uint64_t> found_by(const mutants::Mutant& defect,
                                      const std::vector<Script>& scripts) {
    VirtualTestbed device(test::engine_of(defect));
    VirtualTestbed right(test::right_engine());
    for (const Script& one : scripts) {
        if (speaks_against(play(device, one)) && !speaks_against(play(right, one))) return one.seed;
    }
    return std::nullopt;
}

} // namespace

TEST_CASE("survey: what dialogues find of the defects written blind", "[.][survey]") {
    const std::vector<Script> scripts = dialogues();
    std::size_t number = 0;
    for (const auto& sample : mutants::blind_samples()) {
        std::size_t found = 0;
        std::size_t played = 0;
        for (const mutants::Mutant& defect : sample) {
            if (number++ % kStep != 0) continue;
            const auto seed = found_by(defect, scripts);
            found += seed ? 1 : 0;
            ++played;
            fmt::print("{:6} {} ({}, {}): {}\n", seed ? fmt::format("{}", *seed) : "never",
                       defect.name, defect.rule, defect.level, defect.description);
            std::fflush(stdout);
        }
        fmt::print("found {} of {}\n", found, played);
    }
}

} // namespace veriroce::explorer
