// No case blames a device that keeps every rule and behaves unusually.
#include <catch2/catch.hpp>

#include <array>
#include <cstdlib>
#include <random>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "tests/conformance/plan/combined.hpp"
#include "tests/part_of.hpp"

namespace veriroce::test {
namespace {

// Of host and device, before an answer is there.
constexpr wire::Duration kProcessing = std::chrono::milliseconds(1);

// The runs that fail or end as an error, told.
std::string blame(const Plan& plan, const Selection& selection, VirtualTestbedOptions device) {
    std::string told;
    for (const CaseResult& result : play_suite(plan, selection, std::move(device))) {
        if (result.verdict != Verdict::Fail && result.verdict != Verdict::Error) continue;
        told += text_of(result) + "\n";
    }
    return told;
}

// A filter that keeps requests for later does not know which of them another one refuses.
bool at_odds(const std::vector<mutants::Mutant>& some) {
    const auto has = [&](auto is) { return std::ranges::any_of(some, is); };
    return has([](const mutants::Mutant& one) {
               return one.make_filter != nullptr && one.traits.contains("out_of_order");
           }) &&
           has([](const mutants::Mutant& one) { return one.rule == "RNR-03"; });
}

// Whether its timer is shorter than a round trip there, so that it sends each request again: a
// timer that adapts is not.
bool too_hasty_for(const InexactLab& lab, const mutants::Mutant& oddity) {
    const wire::Duration timeout = oddity.behaviour.adaptive_timeout;
    return lab.path_delay && timeout > wire::Duration(0) &&
           timeout < 2 * (*lab.path_delay + lab.jitter) + kProcessing;
}

// Three oddities that do not make the same choice.
std::vector<mutants::Mutant> three_of(std::mt19937_64& random) {
    std::vector<mutants::Mutant> some;
    do {
        some.clear();
        std::ranges::sample(mutants::lawful(), std::back_inserter(some), 3, random);
    } while (!combination_of(some) || at_odds(some));
    return some;
}

// With sanitizers on a sample of `selection`.
void blames_no_three(std::uint64_t seed, Selection selection) {
    std::mt19937_64 random(seed);
    const auto oddities = three_of(random);
    auto device = combination_of(oddities);
    REQUIRE(device.has_value());
    const bool hasty =
        std::ranges::any_of(oddities, [](const auto& one) { return too_hasty_for(real_lab, one); });
    if (seed % 2 == 0 && !hasty) device->lab = real_lab;
    selection = swept(std::move(selection), seed);
    selection.ip_versions = {seed % 4 < 2 ? 4 : 6};
    const std::string told = blame(plan_of(selection), selection, std::move(*device));
    INFO("seed " << seed << ": " << oddities[0].name << ", " << oddities[1].name << ", "
                 << oddities[2].name << "\n"
                 << told);
    CHECK(told.empty());
}

// Every other run of the suite over one IP version, or that part of them that SWEEP_SHARE tells.
struct Suite {
    static constexpr std::size_t kRarer = 8; // with sanitizers: there are many oddities

    Selection selection;
    Plan plan;

    Suite(int ip_version, std::size_t part) : selection(over_both()) {
        const Shard share = sweep_share();
        const std::size_t half = ip_version == 4 ? 1 : 2;
        selection.shard = {.index = 2 * (share.index - 1) + half, .of = 2 * share.of};
        selection.ip_versions = {ip_version};
        selection = swept(std::move(selection), part * 5, kRarer);
        plan = plan_of(selection);
    }

    void blames_no(const mutants::Mutant& oddity, const InexactLab& lab) const {
        if (too_hasty_for(lab, oddity)) return;
        VirtualTestbedOptions device = engine_of(oddity);
        device.lab = lab;
        const std::string told = blame(plan, selection, std::move(device));
        INFO("device " << oddity.name << ": " << oddity.description
                       << (lab.path_delay ? ", slow lab\n" : "\n") << told);
        CHECK(told.empty());
    }
};

} // namespace

TEMPLATE_TEST_CASE_SIG("suite: no case fails on a lawful oddity", "[suite][mutants]",
                       ((std::size_t part), part), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
                       15, 16, 17, 18, 19, 20, 21, 22, 23) {
    constexpr std::size_t kParts = 24;
    const std::span<const mutants::Mutant> oddities = mutants::lawful();
    REQUIRE(oddities.size() > kParts);
    // An oddity meets each run once: half of them over IPv4, the others over IPv6.
    const std::array suites{Suite(4, part), Suite(6, part)};
    for (std::size_t i = part; i < oddities.size(); i += kParts) {
        const std::size_t turn = i / kParts % 2; // each lab over one of them
        suites[turn].blames_no(oddities[i], {});
        suites[1 - turn].blames_no(oddities[i], real_lab);
    }
}

TEMPLATE_TEST_CASE_SIG("suite: no case fails on three lawful oddities at once", "[suite][mutants]",
                       ((std::uint64_t seed), seed), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12) {
    blames_no_three(seed, over_both());
}

// TMO-05: the case cannot hold such a device to what comes later, unless it is about giving up.
TEST_CASE("suite: a device whose own timer gives up is not held to an answer that comes later",
          "[suite][mutants][TMO-05]") {
    const auto oddity = mutants::find("own_timer_and_whole_reads");
    REQUIRE(oddity.has_value());
    const auto verdict = [&](const std::string& end) {
        return play_script("rule REQ-03\ntitle \"t\"\nrole requester\nqp retry_cnt=7\n\n"
                           "dut post SEND id=1\n< SEND_ONLY psn=0\nwait 300ms\n" +
                               end,
                           engine_of(*oddity))
            .verdict;
    };
    CHECK(verdict("> ACK psn=0\ndut done send id=1\n") == Verdict::Skip);
    CHECK(verdict("dut done send id=1 status=RETRY_EXC_ERR\n") == Verdict::Pass);
    CHECK(verdict("dut done send id=1 status=RETRY_EXC_ERR\ndut state RTS\n") == Verdict::Fail);
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

// Hidden: more combinations. Of SEEDS="13 40", those with these seeds; of SEEDS="13 40 25", with a
// 25th part of the suite each.
TEST_CASE("survey: three lawful oddities at once", "[.survey]") {
    const char* seeds = std::getenv("SEEDS");
    std::istringstream range(seeds == nullptr ? "13 212" : seeds);
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    REQUIRE((range >> first >> last));
    std::size_t of = 1;
    range >> of;
    REQUIRE(of > 0);
    for (std::uint64_t seed = first; seed <= last; ++seed) {
        Selection selection = over_both();
        selection.shard = {.index = seed % of + 1, .of = of};
        blames_no_three(seed, std::move(selection));
    }
}

// Of a device whose profile does not say that its timer adapts, or has its own time. What counts is
// what a case is about, not what its packets violate.
TEST_CASE("suite: early resends that nobody declared fail cases about their times alone",
          "[suite][mutants][TMO-08]") {
    constexpr std::array kAboutTimes{"N-27",   "REQ-13", "RNR-08", "RNR-10", "RNR-13",
                                     "TMO-01", "TMO-02", "TMO-03", "TMO-04", "TMO-05"};
    const Selection selection = kSanitized ? over_both({"tmo"}) : over_both();
    const Plan plan = plan_of(selection);
    for (const char* name : {"adaptive_timeout", "ack_timer_ignored"}) {
        const auto oddity = mutants::find(name);
        REQUIRE(oddity.has_value());
        VirtualTestbedOptions device = engine_of(*oddity);
        device.traits.clear();
        const auto results = play_suite(plan, selection, std::move(device));
        std::size_t failed = 0;
        for (std::size_t i = 0; i < results.size(); ++i) {
            if (results[i].verdict == Verdict::Pass || results[i].verdict == Verdict::Skip)
                continue;
            ++failed;
            INFO(name << "\n" << text_of(results[i]));
            CHECK(std::ranges::any_of(
                plan.cases[plan.runs[i].case_index].rules, [&](const script::Word& rule) {
                    return std::ranges::find(kAboutTimes, rule.text) != kAboutTimes.end();
                }));
        }
        CHECK(failed > 0);
    }
}

TEST_CASE("suite: there are lawful oddities of many kinds", "[suite][mutants]") {
    CHECK(mutants::lawful().size() >= 201);
}

} // namespace veriroce::test
