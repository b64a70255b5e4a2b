// The suite on a wire that loses, repeats, delays and damages packets: it blames no device for it,
// and still finds planted defects. What decides it is in conformance/plan/replay.*.
#include <catch2/catch.hpp>

#include <iostream>
#include <map>
#include <set>

#include "tests/conformance/plan/playing.hpp"
#include "tests/part_of.hpp"

namespace veriroce::test {
namespace {

WireNoise noise_of(std::string_view text) {
    const auto noise = parse_noise(text);
    REQUIRE(noise.has_value());
    return *noise;
}

VirtualTestbedOptions behind(VirtualTestbedOptions device, const WireNoise& noise) {
    device.noise = noise;
    return device;
}

constexpr std::array<std::string_view, 6> all_noises{"loss=0.2%",    "loss=1%",    "loss=3%",
                                                     "duplicate=1%", "reorder=1%", "corrupt=1%"};

bool blamed(const CaseResult& result) {
    return result.verdict == Verdict::Fail || result.verdict == Verdict::Warn;
}

// The share of the runs that end with an ERROR. A wire is no reason for a FAIL or WARN.
double errors_of(const Selection& selection, std::string_view noise, std::uint64_t seed) {
    std::size_t errors = 0;
    const auto results = play_suite(selection, behind(right_engine(seed), noise_of(noise)), seed);
    for (const CaseResult& result : results) {
        INFO(noise << " seed " << seed << "\n" << text_of(result));
        CHECK_FALSE(blamed(result));
        if (result.verdict == Verdict::Error) ++errors;
    }
    return static_cast<double>(errors) / static_cast<double>(results.size());
}

// Whether one of the cases that the defect names finds it, played as `veriroce test` does.
bool found_on(const mutants::Mutant& mutant, const WireNoise& noise, std::uint64_t seed) {
    for (const mutants::Caught& pair : mutants::caught_by_cases(mutant)) {
        const auto results = play_suite(over_both({std::string(pair.case_id)}),
                                        behind(engine_of(mutant), noise), seed);
        if (std::ranges::any_of(results, blamed)) return true;
    }
    return false;
}

std::vector<std::reference_wrapper<const mutants::Mutant>> catchable() {
    std::vector<std::reference_wrapper<const mutants::Mutant>> some;
    for (const mutants::Mutant& mutant : mutants::all()) {
        const auto pairs = mutants::caught_by_cases(mutant);
        const bool lines_find_it = std::ranges::any_of(
            pairs, [](const mutants::Caught& pair) { return !pair.judge_alone; });
        if (lines_find_it) some.emplace_back(mutant);
    }
    return some;
}

} // namespace

TEMPLATE_TEST_CASE_SIG("noise: a bad wire fails no case", "[suite][noise]",
                       ((std::size_t part), part), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11) {
    Selection selection = swept(over_both(), part);
    selection.shard = {.index = part / 6 + 1, .of = 4};
    errors_of(selection, all_noises[part % 6], part + 1);
}

// A wire that mends a packet with a wrong ICRC, and one whose copy comes when a receive is there.
TEST_CASE("noise: a packet that is mended, or copied, is no proof",
          "[plan][noise][CRC-06][KEY-14]") {
    const auto blames_none = [](std::string_view id, std::string_view noise, std::uint64_t seed) {
        const auto results = play_suite(over_both({std::string(id)}),
                                        behind(right_engine(seed), noise_of(noise)), seed);
        return std::ranges::none_of(results, blamed);
    };
    CHECK(blames_none("crc/covered-upper-bits", "corrupt=1%", 146));
    CHECK(blames_none("key/invalidate-in-each-recovery", "duplicate=1%", 162));
}

TEST_CASE("noise: few cases have no verdict on a wire that loses 0.2 %", "[suite][noise]") {
    Selection selection = swept(over_both(), 7);
    selection.shard = {.index = 3, .of = 4};
    CHECK(errors_of(selection, "loss=0.2%", 7) < (kSanitized ? 0.05 : 0.015));
}

TEMPLATE_TEST_CASE_SIG("noise: a wire that loses 0.2 % hides no planted defect",
                       "[suite][noise][mutants]", ((std::size_t part), part), 0, 1, 2, 3, 4, 5, 6,
                       7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17) {
    for (const mutants::Mutant& mutant : shared_sweep_of(catchable(), part, 18)) {
        INFO(mutant.name);
        CHECK(found_on(mutant, noise_of("loss=0.2%"), 1));
    }
}

TEST_CASE("noise: the same seed gives the same verdicts", "[suite][noise]") {
    const auto verdicts = [] {
        std::vector<std::pair<Verdict, std::string>> all;
        for (const CaseResult& result :
             play_suite(kSanitized ? swept(over_both(), 3) : over_both({"rsp"}),
                        behind(right_engine(3), noise_of("loss=3%")), 3)) {
            all.emplace_back(result.verdict, result.reason());
        }
        return all;
    };
    CHECK(verdicts() == verdicts());
}

// Hidden: every kind of noise with VERIROCE_SEEDS seeds (100 if it is not set) of the whole suite;
// prints the share of ERRORs, and each verdict that blames the device.
TEST_CASE("survey: noise", "[.survey]") {
    const char* wanted = std::getenv("VERIROCE_SEEDS");
    const std::uint64_t seeds = wanted == nullptr ? 100 : std::stoul(wanted);
    for (const std::string_view noise : all_noises) {
        double errors = 0;
        for (std::uint64_t seed = 1; seed <= seeds; ++seed)
            errors += errors_of(over_both(), noise, seed);
        std::cout << noise << ": " << seeds << " seeds, "
                  << 100 * errors / static_cast<double>(seeds) << " % ERROR" << std::endl;
    }
}

// Hidden: the share of pairs of a case and a defect that are found under each noise.
TEST_CASE("survey: defects behind noise", "[.survey]") {
    for (const std::string_view text : all_noises) {
        std::size_t found = 0;
        std::set<std::string> hidden;
        for (const mutants::Mutant& mutant : catchable()) {
            if (found_on(mutant, noise_of(text), 1))
                ++found;
            else
                hidden.emplace(mutant.name);
        }
        std::cout << text << ": " << found << " found; not:";
        for (const std::string& name : hidden)
            std::cout << ' ' << name;
        std::cout << std::endl;
    }
    CHECK(catchable().size() > 100);
}

} // namespace veriroce::test
