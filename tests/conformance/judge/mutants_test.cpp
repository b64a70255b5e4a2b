// Whole devices with a planted defect against right ones, under random work and faults: what the
// packets can prove the judge must find, and it must never blame the right one.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>

#include "conformance/mutants/mutants.hpp"
#include "conformance/rules/rules.hpp"
#include "tests/conformance/judge/simulated.hpp"
#include "tests/part_of.hpp"
#include "tests/text.hpp"
#include "transport/sim/random.hpp"

namespace veriroce::judge::test {
namespace {

using veriroce::test::kSanitized;
using veriroce::test::sweep_of;

// Every device is played so often; one whose defect is not found by then plays on.
constexpr std::uint64_t seeds = kSanitized ? 12 : 60;
constexpr std::uint64_t most_seeds = kSanitized ? 200 : 4000;
constexpr std::uint64_t kSeedsOfAnOddity = 12;
// Some answer late; none later than this.
constexpr wire::Duration kPatienceWithAnOddity = std::chrono::milliseconds(25);

// Which rules count as the defect's, where its own is not the one that the packets show best.
struct Counts {
    std::string_view mutant;
    std::vector<std::string_view> rules;
    std::string_view why;
};

const std::vector<Counts>& also_counted() {
    static const std::vector<Counts> table{
        {"error_state_still_answers",
         {"N-07"},
         "that a QP in ERR is silent is STA-07 at the host and N-07 on the wire: after a fatal NAK "
         "it says nothing more"},
        {"fatal_nak_leaves_the_qp_alive",
         {"N-07"},
         "the state is seen by what the QP still says, which N-07 forbids"},
        {"duplicate_send_executed_again",
         {"ACK-07"},
         "the answer to a duplicate counts it: the MSN is that of one message more"},
    };
    return table;
}

std::set<std::string_view> rules_of(const mutants::Mutant& mutant) {
    std::set<std::string_view> rules{mutant.rule};
    for (const Counts& row : also_counted()) {
        if (row.mutant == mutant.name) rules.insert(row.rules.begin(), row.rules.end());
    }
    return rules;
}

// Ordinary work, and in some seeds an application that names memory which it does not know.
sim::Scenario scenario_with_mistakes(std::uint64_t seed) {
    sim::Scenario scenario = sim::scenario_of(seed);
    sim::Random random = sim::Random(seed).part(50);
    if (!random.one_in(4)) return scenario;
    for (sim::ConnectionPlan& connection : scenario.connections) {
        for (sim::DirectionPlan& direction : connection.directions) {
            for (sim::WorkPlan& work : direction.works)
                work.wrong_key = work.length > 0 && random.one_in(12);
        }
    }
    return scenario;
}

struct Findings {
    std::set<std::string> rules; // that the mutant broke for certain, as its own port shows
    std::uint64_t seeds = 0;     // that were played

    [[nodiscard]] bool any_of(const std::set<std::string_view>& wanted) const {
        return std::ranges::any_of(rules,
                                   [&](const std::string& rule) { return wanted.contains(rule); });
    }
    [[nodiscard]] std::string text() const {
        std::string all;
        for (const std::string& rule : rules)
            all += " " + rule;
        return all + ", " + std::to_string(seeds) + " seeds";
    }
};

bool is_at(const wire::IpAddress& address, std::size_t endpoint) {
    const auto own = addresses_of(endpoint);
    return std::ranges::find(own, address) != own.end();
}

// `patience`: within which the devices are known to answer; nothing: as the simulation knows it.
void look(const Recording& recording, std::size_t port, std::size_t mutant, Findings& findings,
          std::optional<wire::Duration> patience) {
    Assumptions assumptions = assumptions_at(recording, port, Told::Everything);
    if (patience) assumptions.patience = *patience;
    if (forges(recording.scenario)) assumptions.not_judged = all_but(port);
    const Judge judge = judged_at(recording, port, std::move(assumptions));
    for (const Violation& violation : judge.violations()) {
        if (violation.certainty != Certainty::Certain) continue;
        if (!is_at(violation.device, mutant)) {
            FAIL_CHECK("seed " << recording.scenario.seed << ", port " << port << ": the right "
                               << violation.device.text() << " is blamed: " << violation.rule
                               << ": " << text_of(violation) << " (" << violation.ends
                               << ", packet " << violation.packets.numbers[0] << ")");
        } else if (port == mutant) {
            findings.rules.insert(std::string(violation.rule));
        }
    }
}

// Those whose defect the packets alone can prove, or cannot.
std::vector<mutants::Mutant> judged(bool provable) {
    std::vector<mutants::Mutant> found;
    std::ranges::copy_if(mutants::all(), std::back_inserter(found),
                         [&](const mutants::Mutant& one) { return one.passive == provable; });
    return found;
}

bool is_must(const std::string& rule) {
    const auto row = rules::catalogue().find(rule);
    return row && row->get().level == rules::Level::Must;
}

// Plays the seeds, and more until one of these rules is found.
Findings play(const mutants::Mutant& mutant, const std::set<std::string_view>& wanted,
              std::uint64_t least = seeds, std::optional<wire::Duration> patience = {}) {
    Findings findings;
    const bool on = !wanted.empty();
    for (std::uint64_t seed = 1;
         seed <= least || (on && !findings.any_of(wanted) && seed <= most_seeds); ++seed) {
        const std::size_t place = seed % 2;
        const sim::Defect defect{.checks = mutant.checks,
                                 .make_filter = mutant.make_filter,
                                 .behaviour = mutant.behaviour,
                                 .endpoint = place,
                                 .watched_only = true};
        const Recording recording(scenario_with_mistakes(seed), defect);
        for (const auto& [port, frames] : recording.ports)
            look(recording, port, place, findings, patience);
        findings.seeds = seed;
    }
    return findings;
}

} // namespace

TEMPLATE_TEST_CASE_SIG(
    "mutants: what the packets can prove is found, and the right device is not blamed",
    "[judge][sim][mutants]", ((std::size_t part), part), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
    13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23) {
    for (const mutants::Mutant& mutant : sweep_of(judged(true), part, 24)) {
        const auto wanted = rules_of(mutant);
        const Findings findings = play(mutant, wanted);
        INFO(mutant.name << " (" << mutant.rule << "), found:" << findings.text());
        // One shows only after a thousand seeds, for which sanitizers have no time.
        CHECK((findings.any_of(wanted) || (kSanitized && findings.seeds == most_seeds)));
        if (std::getenv("VERIROCE_PRINT") != nullptr) { // how README.md's table was made
            WARN(mutant.name << " (" << mutant.rule << "), found:" << findings.text());
        }
    }
}

TEMPLATE_TEST_CASE_SIG("mutants: what the packets cannot prove is not claimed",
                       "[judge][sim][mutants]", ((std::size_t part), part), 0, 1, 2, 3) {
    for (const mutants::Mutant& mutant : sweep_of(judged(false), part, 4)) {
        const Findings findings = play(mutant, {});
        INFO(mutant.name << " (" << mutant.rule << "), found:" << findings.text());
        CHECK(findings.rules.empty());
    }
}

TEST_CASE("mutants: the numbers in the README of the judge are those of the lists",
          "[judge][mutants]") {
    const std::size_t all = judged(true).size();
    const std::size_t explained = also_counted().size();
    std::string readme =
        house::read_text(std::string(VERIROCE_SOURCE_DIR) + "/conformance/judge/README.md");
    std::ranges::replace(readme, '\n', ' ');
    const std::string sentence =
        std::to_string(all) + " of " + std::to_string(all) + " are found; " +
        std::to_string(all - explained) + " of them by the rule that they were planted against, " +
        "the other " + std::to_string(explained) + " by a rule that the table `also_counted`";
    INFO("the README should say: " << sentence);
    CHECK(readme.find(sentence) != std::string::npos);
}

// How a lawful device behaves violates no MUST, whoever looks. Of a device with a trait the judge
// must be told (Assumptions), which here nobody does.
TEMPLATE_TEST_CASE_SIG("mutants: no lawful oddity is blamed for certain", "[judge][sim][mutants]",
                       ((std::size_t part), part), 0, 1, 2, 3, 4, 5, 6, 7) {
    for (const mutants::Mutant& oddity : sweep_of(mutants::lawful(), part, 8)) {
        if (!oddity.traits.empty() || oddity.ack_timer_floor > 0) continue;
        const Findings findings = play(oddity, {}, kSeedsOfAnOddity, kPatienceWithAnOddity);
        INFO(oddity.name << " (" << oddity.rule << "), found:" << findings.text());
        CHECK(std::ranges::none_of(findings.rules, is_must));
    }
}

TEST_CASE("mutants: some show in the packets, and some do not", "[judge][mutants]") {
    CHECK(judged(true).size() >= 26);
    CHECK(judged(false).size() >= 4); // no part of the test above is empty
}

} // namespace veriroce::judge::test
