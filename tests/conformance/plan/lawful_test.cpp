// No case blames a device that keeps every rule and behaves unusually.
#include <catch2/catch.hpp>

#include "tests/conformance/plan/playing.hpp"
#include "tests/part_of.hpp"

namespace veriroce::test {

TEMPLATE_TEST_CASE_SIG("suite: no case fails on a lawful oddity", "[suite][mutants]",
                       ((std::size_t part), part), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
                       15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33,
                       34, 35, 36, 37, 38, 39) {
    const auto oddities = part_of(mutants::lawful(), part, 40);
    REQUIRE_FALSE(oddities.empty());
    for (const mutants::Mutant& oddity : oddities) {
        for (const InexactLab& lab : {InexactLab{}, real_lab}) {
            VirtualTestbedOptions device = engine_of(oddity);
            device.lab = lab;
            for (const CaseResult& result : play_suite(over_both(), std::move(device))) {
                INFO("device " << oddity.name << ": " << oddity.description
                               << (lab.path_delay ? ", slow lab\n" : "\n") << text_of(result));
                CHECK(result.verdict != Verdict::Fail);
                CHECK(result.verdict != Verdict::Error);
            }
        }
    }
}

TEST_CASE("suite: there are lawful oddities of many kinds", "[suite][mutants]") {
    CHECK(mutants::lawful().size() >= 60);
}

} // namespace veriroce::test
