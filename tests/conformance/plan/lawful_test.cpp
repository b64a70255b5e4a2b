// No case blames a device that keeps every rule and behaves unusually.
#include <catch2/catch.hpp>

#include <cstdlib>
#include <random>
#include <vector>

#include <fmt/format.h>

#include "tests/conformance/plan/combined.hpp"
#include "tests/part_of.hpp"

namespace veriroce::test {
namespace {

// The runs that fail or end as an error, told.
std::string blame(const Selection& selection, VirtualTestbedOptions device) {
    std::string told;
    for (const CaseResult& result : play_suite(selection, std::move(device))) {
        if (result.verdict != Verdict::Fail && result.verdict != Verdict::Error) continue;
        told += text_of(result) + "\n";
    }
    return told;
}

// Three oddities that do not make the same choice.
std::vector<mutants::Mutant> three_of(std::mt19937_64& random) {
    std::vector<mutants::Mutant> some;
    do {
        some.clear();
        std::ranges::sample(mutants::lawful(), std::back_inserter(some), 3, random);
    } while (!combination_of(some));
    return some;
}

void blames_no_three(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto oddities = three_of(random);
    auto device = combination_of(oddities);
    REQUIRE(device.has_value());
    if (seed % 2 == 0) device->lab = real_lab;
    Selection selection = over_both();
    selection.ip_versions = {seed % 4 < 2 ? 4 : 6};
    const std::string told = blame(selection, std::move(*device));
    INFO("seed " << seed << ": " << oddities[0].name << ", " << oddities[1].name << ", "
                 << oddities[2].name << "\n"
                 << told);
    CHECK(told.empty());
}

// The exact lab and a slow one; with sanitizers, which take minutes for both, one of them by turns.
std::vector<InexactLab> labs_of(std::size_t part) {
    const std::vector<InexactLab> labs{InexactLab{}, real_lab};
#ifdef __has_feature
#if __has_feature(address_sanitizer)
    return {labs[part % 2]};
#endif
#endif
    static_cast<void>(part);
    return labs;
}

} // namespace

TEMPLATE_TEST_CASE_SIG("suite: no case fails on a lawful oddity", "[suite][mutants]",
                       ((std::size_t part), part), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
                       15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33,
                       34, 35, 36, 37, 38, 39) {
    const auto oddities = part_of(mutants::lawful(), part, 40);
    REQUIRE_FALSE(oddities.empty());
    for (const mutants::Mutant& oddity : oddities) {
        for (const InexactLab& lab : labs_of(part)) {
            VirtualTestbedOptions device = engine_of(oddity);
            device.lab = lab;
            const std::string told = blame(over_both(), std::move(device));
            INFO("device " << oddity.name << ": " << oddity.description
                           << (lab.path_delay ? ", slow lab\n" : "\n") << told);
            CHECK(told.empty());
        }
    }
}

TEMPLATE_TEST_CASE_SIG("suite: no case fails on three lawful oddities at once", "[suite][mutants]",
                       ((std::uint64_t seed), seed), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12) {
    blames_no_three(seed);
}

// Hidden: of ODDITIES="credits_reported acks_sent_twice" what each run says that does not pass.
TEST_CASE("survey: what runs say of a lawful oddity", "[.survey]") {
    const char* names = std::getenv("ODDITIES");
    std::istringstream list(names == nullptr ? "" : names);
    for (std::string name; list >> name;) {
        const auto oddity = mutants::find(name);
        REQUIRE(oddity.has_value());
        for (const InexactLab& lab : {InexactLab{}, real_lab}) {
            VirtualTestbedOptions device = engine_of(*oddity);
            device.lab = lab;
            std::size_t skipped = 0;
            for (const CaseResult& result : play_suite(over_both(), std::move(device))) {
                skipped += result.verdict == Verdict::Skip ? 1 : 0;
                if (result.verdict == Verdict::Skip || result.verdict == Verdict::Pass) continue;
                fmt::print("{}{}: {}\n", name, lab.path_delay ? ", slow lab" : "", text_of(result));
            }
            fmt::print("{}{}: {} skipped\n", name, lab.path_delay ? ", slow lab" : "", skipped);
        }
    }
}

// Hidden: more combinations. Of SEEDS="13 40", those with these seeds.
TEST_CASE("survey: three lawful oddities at once", "[.survey]") {
    const char* seeds = std::getenv("SEEDS");
    std::istringstream range(seeds == nullptr ? "13 212" : seeds);
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    REQUIRE((range >> first >> last));
    for (std::uint64_t seed = first; seed <= last; ++seed)
        blames_no_three(seed);
}

TEST_CASE("suite: there are lawful oddities of many kinds", "[suite][mutants]") {
    CHECK(mutants::lawful().size() >= 116);
}

} // namespace veriroce::test
