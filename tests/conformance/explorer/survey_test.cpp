// How many of the defects that were written blind the dialogues find, every fourth of them; and
// which dialogues blame a lawful device. Hidden, as each takes minutes.
//
//   test_explorer 'survey: what dialogues find of the defects written blind'
//   SEED=100000 DIALOGUES=300 test_explorer 'survey: what dialogues say of lawful devices'
//
// ODDITY=timeout_grows plays that device alone, PACKETS=1 shows the dialogues that blame one, and
// their packets.
#include <chrono>
#include <cstdio>
#include <cstdlib>

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
using testbed::VirtualTestbedOptions;

constexpr std::uint64_t kDialogues = 2'000; // about two seconds
constexpr std::size_t kStep = 4;

struct Script {
    std::uint64_t seed = 0;
    std::string text;
    script::Script compiled;
};

std::vector<Script> dialogues(const VirtualTestbedOptions& device, std::uint64_t first,
                              std::uint64_t number) {
    const Reach reach = reach_of(VirtualTestbed(device).environment({}));
    std::vector<Script> all;
    for (std::uint64_t seed = first; seed < first + number; ++seed) {
        std::string text = dialogue_of(seed, reach).text;
        auto script = script::compile("explored/x.roce", text);
        if (!script) FAIL(script.error().front().text("explored/x.roce"));
        all.push_back({seed, std::move(text), *std::move(script)});
    }
    return all;
}

CaseResult play(VirtualTestbed& device, const Script& script) {
    Environment environment = device.environment(network_of(script.compiled, script.seed));
    environment.seed = script.seed;
    return device.play(script.compiled.test_case, script.compiled.runs.front(), environment);
}

bool speaks_against(const CaseResult& result) {
    return result.verdict == Verdict::Fail || result.verdict == Verdict::Warn;
}

std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

void show(const CaseResult& result) {
    for (const interpreter::RecordedPacket& one : result.packets) {
        const auto at =
            std::chrono::duration_cast<std::chrono::microseconds>(one.at.latest.time_since_epoch());
        fmt::print("{:>9} {}{}", at.count(), one.script, one.on_wire ? "" : " (not on the wire)");
        for (const std::string& remark : one.remarks)
            fmt::print(" ({})", remark);
        fmt::print("\n");
    }
}

// What dialogues say against a device that keeps the rules, a line each; how many do.
std::size_t blame(std::string_view name, VirtualTestbedOptions options, std::uint64_t first,
                  std::uint64_t number) {
    const std::vector<Script> scripts = dialogues(options, first, number);
    VirtualTestbed device(std::move(options));
    std::size_t blamed = 0;
    for (const Script& one : scripts) {
        const CaseResult result = play(device, one);
        if (!speaks_against(result)) continue;
        ++blamed;
        for (const std::string& signature : signatures_of(result))
            fmt::print("{} {}: {}\n{}\n", name, one.seed, signature, test::text_of(result));
        if (std::getenv("PACKETS") != nullptr) {
            fmt::print("{}", one.text);
            show(result);
        }
        std::fflush(stdout);
    }
    return blamed;
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
    const std::vector<Script> scripts = dialogues(test::right_engine(), 1, kDialogues);
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

// Each oddity meets dialogues of its own, every fourth in a slow lab.
TEST_CASE("survey: what dialogues say of lawful devices", "[.][survey]") {
    std::uint64_t seed = number_from("SEED", 100'000);
    const std::uint64_t each = number_from("DIALOGUES", 300);
    const char* only = std::getenv("ODDITY");
    std::size_t blamed = 0;
    if (only == nullptr) {
        VirtualTestbedOptions slow = test::right_engine();
        slow.lab = test::real_lab;
        blamed += blame("right", test::right_engine(), seed, 4 * each);
        blamed += blame("right, slow lab", std::move(slow), seed, each);
    }
    seed += 4 * each;
    for (const mutants::Mutant& oddity : mutants::lawful()) {
        if (only != nullptr && oddity.name != only) continue;
        blamed += blame(oddity.name, test::engine_of(oddity), seed, each);
        VirtualTestbedOptions slow = test::engine_of(oddity);
        slow.lab = test::real_lab;
        blamed += blame(fmt::format("{}, slow lab", oddity.name), std::move(slow), seed, each / 4);
        seed += each;
    }
    fmt::print("{} dialogues speak against a lawful device\n", blamed);
}

} // namespace veriroce::explorer
