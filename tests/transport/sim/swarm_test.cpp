// Deterministic simulation by itself: it finds nothing wrong with the right engine, it finds what
// is planted, and it makes what it finds small.
#include <catch2/catch.hpp>

#include <map>

#include "conformance/mutants/mutants.hpp"
#include "tests/part_of.hpp"
#include "transport/sim/shrink.hpp"

using namespace veriroce;
using namespace veriroce::sim;
using engine::WrOpcode;

namespace {

constexpr std::uint64_t seeds = 300;
constexpr std::uint8_t kTimerForSlowDevices = 12; // 17 ms

Defect mutant(std::string_view name) {
    const auto found = mutants::find(name);
    REQUIRE(found);
    return {.checks = found->get().checks, .make_filter = found->get().make_filter};
}

struct Found {
    std::uint64_t seed = 0;
    Outcome outcome;
};
std::optional<Found> find(const Defect& defect, Wrong wrong, std::uint64_t most) {
    for (std::uint64_t seed = 1; seed <= most; ++seed) {
        Outcome outcome = run_swarm(seed, defect);
        if (outcome.failure && outcome.failure->wrong == wrong) return Found{seed, outcome};
    }
    return std::nullopt;
}

// The failure is found, is made small, and what is left fails again.
Shrunk found_and_shrunk(const Defect& defect, Wrong wrong, std::size_t works, std::size_t faults) {
    const auto found = find(defect, wrong, seeds);
    REQUIRE(found);
    const Scenario scenario = scenario_of(found->seed);
    Shrunk small = shrink(scenario, found->outcome, defect);
    INFO("seed " << found->seed << ": " << small.failure.text << "\n" << text_of(small));
    CHECK(small.failure.wrong == wrong);
    CHECK(small.scenario.works() <= works);
    CHECK(small.faults.size() <= faults);
    CHECK(small.runs <= kShrinkRuns);
    const Outcome again = play(small.scenario, defect, small.faults);
    REQUIRE(again.failure);
    CHECK(again.failure->text == small.failure.text);
    // It is the defect, and not the run.
    CHECK_FALSE(play(small.scenario, {}, small.faults).failure);
    return small;
}

} // namespace

TEST_CASE("swarm: random work under random faults completes when the faults stop",
          "[sim][REQ-08][REQ-09][REQ-11][REQ-14][RSP-10][N-10][N-20][N-21]") {
    Tally sum;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const Outcome outcome = run_swarm(seed);
        sum.works += outcome.tally.works;
        sum.completions += outcome.tally.completions;
        for (std::size_t i = 0; i < kFaultKinds; ++i)
            sum.faults[i] += outcome.tally.faults[i];
        if (outcome.failure) {
            FAIL_CHECK("seed " << seed << ": " << name_of(outcome.failure->wrong) << ": "
                               << outcome.failure->text
                               << "\nrerun: veriroce fuzz --seeds 1 --seed " << seed
                               << " --shrink");
        }
    }
    CHECK(sum.works > seeds * 10);
    CHECK(sum.completions > seeds * 10);
    for (std::size_t i = 0; i < kFaultKinds; ++i) { // and every kind of fault occurred
        INFO(name_of(static_cast<FaultKind>(i)));
        CHECK(sum.faults[i] > seeds / 10);
    }
}

TEST_CASE("swarm: the seeds meet every operation, option and MTU", "[sim]") {
    std::map<WrOpcode, int> opcodes;
    std::map<wire::Mtu, int> mtus;
    int v4 = 0;
    int v6 = 0;
    int inlined = 0;
    int fenced = 0;
    int unsignaled = 0;
    int chained = 0;
    int wraps = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const Scenario scenario = scenario_of(seed);
        for (const ConnectionPlan& connection : scenario.connections) {
            ++mtus[connection.mtu];
            ++(connection.ipv6 ? v6 : v4);
            for (const DirectionPlan& direction : connection.directions) {
                std::uint32_t packets = 0;
                for (const WorkPlan& work : direction.works) {
                    ++opcodes[work.opcode];
                    inlined += work.flags.inline_data ? 1 : 0;
                    fenced += work.flags.fence ? 1 : 0;
                    unsignaled += work.flags.signaled ? 0 : 1;
                    chained += work.chained ? 1 : 0;
                    packets += packets_of(work, connection.mtu);
                }
                wraps += direction.first_psn.value() + packets > wire::kMask24 ? 1 : 0;
            }
        }
    }
    CHECK(opcodes.size() == 7);
    CHECK(mtus.size() == 5);
    for (const int count : {v4, v6, inlined, fenced, unsignaled, chained, wraps})
        CHECK(count > 20);
}

TEST_CASE("swarm: one seed is one run", "[sim]") {
    for (const std::uint64_t seed : {3U, 5U, 8U, 13U}) {
        const Outcome one = run_swarm(seed);
        const Outcome two = run_swarm(seed);
        CHECK(one.tally.frames == two.tally.frames);
        CHECK(one.tally.steps == two.tally.steps);
        CHECK(one.tally.time == two.tally.time);
        REQUIRE(one.injected.size() == two.injected.size());
        for (std::size_t i = 0; i < one.injected.size(); ++i)
            CHECK(text_of(one.injected[i]) == text_of(two.injected[i]));
        // What a run has noted makes the same run again.
        const Outcome exactly = play(scenario_of(seed), {}, one.injected);
        CHECK(exactly.tally.frames == one.tally.frames);
        CHECK(exactly.tally.time == one.tally.time);
        CHECK(exactly.injected.size() == one.injected.size());
        // Without faults it is another one.
        const Outcome quiet = play(scenario_of(seed), {}, std::span<const Injected>{});
        CHECK_FALSE(quiet.failure);
        CHECK(quiet.injected.empty());
        CHECK(quiet.tally.completions == one.tally.completions);
    }
}

TEST_CASE("swarm: a lost last byte is found without any fault", "[sim][planted]") {
    const Shrunk small =
        found_and_shrunk(mutant("received_last_byte_changed"), Wrong::Memory, 1, 0);
    CHECK(text_of(small).find("no fault is needed") != std::string::npos);
}

TEST_CASE("swarm: an acknowledge before the effect is found", "[sim][planted][ACK-04]") {
    found_and_shrunk(mutant("acknowledged_on_arrival"), Wrong::NoEffect, 1, 0);
}

TEST_CASE("swarm: an atomic that is executed again is found", "[sim][planted][ATM-04]") {
    const Shrunk small =
        found_and_shrunk(mutant("duplicate_atomic_executed_again"), Wrong::Memory, 2, 1);
    REQUIRE(small.faults.size() == 1);
    CHECK(text_of(small).find("ATOMIC_") != std::string::npos);
    CHECK(text_of(small).find(" fault ") != std::string::npos);
}

TEST_CASE("swarm: a SEND that is executed again is found", "[sim][planted][RSP-10]") {
    const Defect defect = mutant("duplicate_send_executed_again");
    // Shrinking is greedy: one of a few seeds gets small. Sanitizers have time for one whose runs
    // are short.
    constexpr std::uint64_t kFirst = veriroce::test::kSanitized ? 140 : 1;
    constexpr int kShrunk = veriroce::test::kSanitized ? 1 : 3;
    std::size_t fewest_works = SIZE_MAX;
    int shrunk = 0;
    for (std::uint64_t seed = kFirst; seed <= seeds && shrunk < kShrunk; ++seed) {
        const Outcome outcome = run_swarm(seed, defect);
        if (!outcome.failure || outcome.failure->wrong != Wrong::Content) continue;
        ++shrunk;
        const Shrunk small = shrink(scenario_of(seed), outcome, defect);
        CHECK(small.faults.size() <= 2);
        fewest_works = std::min(fewest_works, small.scenario.works());
    }
    CHECK(shrunk > 0);
    CHECK(fewest_works <= 3);
}

TEST_CASE("swarm: a gap in a READ that is overlooked is found", "[sim][planted][REQ-09]") {
    found_and_shrunk(mutant("read_gap_overlooked"), Wrong::NoEffect, 2, 2);
}

TEST_CASE("swarm: a fence that holds nothing back is found", "[sim][planted][REQ-28]") {
    const Defect defect = mutant("without_send_fence");
    const auto found = find(defect, Wrong::Memory, 4 * seeds);
    REQUIRE(found);
    const Shrunk small = shrink(scenario_of(found->seed), found->outcome, defect);
    CHECK(small.scenario.works() <= 4);
    CHECK(text_of(small).find("RDMA_READ") != std::string::npos);
    CHECK(text_of(small).find("fenced") != std::string::npos);
}

TEST_CASE("swarm: a retry count that nothing gives back is found", "[sim][planted][REQ-14]") {
    found_and_shrunk(mutant("duplicate_never_acknowledged"), Wrong::Status, 2, 2);
}

TEMPLATE_TEST_CASE_SIG("swarm: no lawful oddity is taken for a defect", "[sim]",
                       ((std::size_t part), part), 0, 1, 2) {
    for (const mutants::Mutant& odd : veriroce::test::sweep_of(mutants::lawful(), part, 3)) {
        if (odd.lacks.contains("atomics")) continue; // of which every scenario has some
        for (std::uint64_t seed = 1; seed <= seeds / 10; ++seed) {
            // Some answer later than the shortest ACK timers of the swarm.
            Scenario scenario = scenario_of(seed);
            for (ConnectionPlan& connection : scenario.connections) {
                for (DirectionPlan& direction : connection.directions)
                    direction.timeout = std::max(direction.timeout, kTimerForSlowDevices);
            }
            const Outcome outcome =
                play(scenario, {.checks = odd.checks, .make_filter = odd.make_filter});
            INFO(odd.name << ", seed " << seed
                          << (outcome.failure ? ": " + outcome.failure->text : ""));
            CHECK_FALSE(outcome.failure);
        }
    }
}
