// Whole engines under random work, lawful options and faults, judged at the port of each: what the
// network did is not a device's fault, and engines that keep the rules violate nothing.
#include <catch2/catch.hpp>

#include "tests/conformance/judge/simulated.hpp"

namespace veriroce::judge::test {
namespace {

constexpr std::uint64_t part_seeds = 100; // of each part

// A judge at this port finds no certain violation of either end.
void check_innocence(const Recording& recording, std::size_t port, Told told, Summary& sum) {
    Assumptions assumptions = assumptions_at(recording, port, told);
    // What the network forges bears the name of the far end.
    if (forges(recording.scenario)) assumptions.not_judged = all_but(port);
    const Judge judge = judged_at(recording, port, assumptions);
    for (const Violation& violation : judge.violations()) {
        if (violation.certainty != Certainty::Certain) continue;
        FAIL_CHECK("seed " << recording.scenario.seed << ", port " << port << ": "
                           << violation.device.text() << " " << violation.rule << ": "
                           << text_of(violation) << " (" << violation.ends << ", packet "
                           << violation.packets.numbers[0] << ")");
    }
    const Summary one = judge.summary();
    sum.packets += one.packets;
    sum.possible += one.possible;
    sum.undecidable += one.undecidable;
    sum.connections += one.connections;
    sum.unpaired += one.unpaired;
}

} // namespace

TEMPLATE_TEST_CASE_SIG("simulated: engines that keep the rules are blamed for nothing",
                       "[judge][sim]", ((std::uint64_t part), part), 0, 1, 2, 3) {
    const Told told = GENERATE(Told::Place, Told::Everything);
    Summary sum;
    for (std::uint64_t seed = 1 + part * part_seeds; seed <= (part + 1) * part_seeds; ++seed) {
        const Recording recording(sim::scenario_of(seed), {});
        REQUIRE_FALSE(recording.outcome.failure);
        for (const auto& [port, frames] : recording.ports)
            check_innocence(recording, port, told, sum);
    }
    CHECK(sum.packets > part_seeds * 100);
    CHECK(sum.connections > part_seeds);
    INFO(sum.possible << " possible, " << sum.undecidable << " undecidable, " << sum.unpaired
                      << " unpaired of " << sum.packets);
    CHECK(sum.unpaired < sum.packets / 4);
}

} // namespace veriroce::judge::test
