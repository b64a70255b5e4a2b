// The program's own cases: the right engine passes them all, and each finds a planted defect.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "conformance/cases/embedded.hpp"
#include "conformance/interpreter/judging.hpp"
#include "conformance/mutants/mutants.hpp"
#include "conformance/rules/rules.hpp"
#include "dissector/wire/frame.hpp"
#include "dissector/wire/packet.hpp"
#include "tests/conformance/plan/playing.hpp"
#include "tests/part_of.hpp"
#include "tests/text.hpp"

namespace veriroce::test {
namespace {

using namespace std::chrono_literals;

// Cases that no planted defect names: they are about verbs, events, and memory that the engine has
// no pointer to, and defects are planted on the packets' surface.
constexpr std::string_view unproven[] = {
    "cm/other-addresses-in-the-request", // level INFO: it never fails
    "enc/fragments",                     // the same
    "enc/ip-options",                    // the same
    "key/bind-for-changes-needs-local-write",
    "n/armed-for-solicited-after-any", // no filter reaches an arming
    "n/shared-queue-limit",
    "rdr/region-replaced-inside",           // no defect reads on through a region that is gone
    "rdr/window-lost-inside",               // no defect reads on through a window that is gone
    "req/part-of-a-message-without-credit", // no check is asked about the rest of a message
    "req/response-too-long",
    "rnr/waits-that-end-together", // no filter reaches a timer
    "sta/refused-transitions",
    "tmo/timers-that-expire-together", // the same
};

// Cases that look at verbs, completions and states alone.
constexpr std::string_view without_packets[] = {
    "bth/solicited-error",
    "ext/datagram-longer-than-64k",
    "key/bind-beyond-an-odd-end",
    "key/bind-for-changes-needs-local-write",
    "req/into-read-only-memory",
    "sta/chain-posted-in-error",
    "sta/local-error",
    "sta/posted-in-error",
    "sta/posted-while-drained",
    "sta/receives-of-init-flushed",
    "sta/refused-transitions",
    "sta/unsignaled-posted-in-error",
};

// Cases in which the device sends again, without a line for it, what it has no answer to.
constexpr std::string_view with_timeouts[] = {
    "req/outstanding-after-a-timeout",     "req/part-acknowledged-after-a-resend",
    "req/reserved-syndrome-behind-others", "tmo/old-acks-hold-nothing-back",
    "tmo/send-acknowledged-inside",        "tmo/timers-on-three-qps",
    "tmo/write-acknowledged-inside",
};

bool is_of(std::span<const std::string_view> cases, std::string_view id) {
    return std::ranges::find(cases, id.substr(0, id.find('['))) != cases.end();
}

// By its level: a SHOULD that is broken is a WARN.
bool condemned(const CaseResult& result) {
    return result.verdict == Verdict::Fail ||
           (result.level == rules::Level::Should && result.verdict == Verdict::Warn);
}

// Whether any run of the case fails, by itself: without the sanity exchange after it.
bool finds(const mutants::Caught& pair, std::string& told, InexactLab lab = {}) {
    const auto mutant = mutants::find(pair.mutant);
    REQUIRE(mutant.has_value());
    VirtualTestbedOptions device = engine_of(*mutant);
    device.lab = lab;
    const Plan plan = plan_of(over_both({std::string(pair.case_id)}));
    VirtualTestbed testbed(std::move(device));
    bool failed = false;
    for (const PlannedRun& run : plan.runs) {
        const CaseResult result =
            testbed.play(plan.cases[run.case_index], *run.run, testbed.environment(run.network()));
        told += text_of(result) + "\n";
        failed = failed || condemned(result);
    }
    return failed;
}

// Whether a line of the run, in no block of alternatives, needs a packet of the device.
bool waits_for_packet(const script::Block& body) {
    return std::ranges::any_of(body, [](const script::Statement& line) {
        if (const auto* set = std::get_if<script::Unordered>(&line.node)) {
            return waits_for_packet(set->body);
        }
        return std::holds_alternative<script::ExpectPacket>(line.node);
    });
}

bool speaks(const CaseResult& result) {
    return std::ranges::any_of(result.packets, [](const RecordedPacket& packet) {
        return packet.from == Side::Dut && packet.on_wire;
    });
}

std::vector<wire::Psn> psns_of(const CaseResult& result) {
    std::vector<wire::Psn> psns;
    for (const RecordedPacket& packet : result.packets) {
        auto frame = wire::decode_frame(packet.frame);
        REQUIRE(frame.has_value());
        wire::map_transport(*frame);
        const auto decoded = wire::decode_packet(frame->transport);
        REQUIRE(decoded.has_value());
        psns.push_back(decoded->bth.psn);
    }
    return psns;
}

} // namespace

TEMPLATE_TEST_CASE_SIG("suite: the built-in engine passes every case over IPv4 and IPv6", "[suite]",
                       ((std::size_t part), part), 0, 1, 2, 3, 4, 5, 6, 7) {
    std::vector<std::string> names;
    for (const cases::EmbeddedFile& file : test::part_of(cases::embedded_files(), part, 8))
        names.emplace_back(file.id());
    const auto results = play_suite(over_both(names), right_engine());
    REQUIRE(results.size() >= 2 * names.size());
    for (const CaseResult& result : results) {
        INFO(text_of(result));
        CHECK(result.verdict == Verdict::Pass);
        CHECK(result.reason().empty());
        CHECK(result.packets.empty() == is_of(without_packets, result.id));
        CHECK((result.tolerated_retransmissions > 0) == is_of(with_timeouts, result.id));
    }
}

TEMPLATE_TEST_CASE_SIG("suite: the built-in engine passes every case over every path MTU",
                       "[suite]", ((std::uint16_t bytes), bytes), 256, 512, 2048, 4096) {
    Selection selection = swept(over_both(), bytes);
    selection.usual_mtu = wire::Mtu{bytes};
    selection.mig_reqs = {true}; // as on a real link
    for (const CaseResult& result : play_suite(selection, right_engine())) {
        INFO(text_of(result));
        CHECK(result.verdict == Verdict::Pass);
    }
}

// What a call does is then on the wire long before its answer is there, and packets come while the
// case waits for the answer to a question.
TEMPLATE_TEST_CASE_SIG("suite: the time that the agent takes to answer changes no verdict",
                       "[suite]", ((int microseconds), microseconds), 30, 300, 1000, 2000, 6000) {
    VirtualTestbedOptions device = right_engine();
    device.lab.call_delay = std::chrono::microseconds(microseconds);
    const auto runs = swept(over_both(), static_cast<std::size_t>(microseconds));
    for (const CaseResult& result : play_suite(runs, std::move(device))) {
        INFO("answers take " << 2 * microseconds << " us\n" << text_of(result));
        CHECK(result.verdict == Verdict::Pass);
    }
}

// Acknowledgements then come late, and what the DUT sends crosses what we send.
TEMPLATE_TEST_CASE_SIG("suite: long ways to the device change no verdict", "[suite]",
                       ((int microseconds), microseconds), 20, 300, 2000) {
    const wire::Duration delay = std::chrono::microseconds(microseconds);
    VirtualTestbedOptions device = right_engine();
    device.lab.path_delay = delay;
    device.lab.call_delay = 150us;
    device.lab.stamp_width = delay / 4;
    device.lab.jitter = delay;
    const auto runs = swept(over_both(), static_cast<std::size_t>(microseconds));
    for (const CaseResult& result : play_suite(runs, std::move(device))) {
        INFO("one way takes " << microseconds << " us\n" << text_of(result));
        CHECK(result.verdict == Verdict::Pass);
    }
}

TEMPLATE_TEST_CASE_SIG("suite: every case fails on a planted defect", "[suite][mutants]",
                       ((std::size_t part), part), 0, 1, 2, 3) {
    for (const mutants::Caught& pair : sweep_of(mutants::caught_by_cases(), part, 4)) {
        std::string told;
        const bool found = finds(pair, told);
        INFO("case " << pair.case_id << ", defect " << pair.mutant << "\n" << told);
        CHECK(found);
    }
}

// What only the judge sees may need to know what passed the device's port when.
TEMPLATE_TEST_CASE_SIG("suite: a slow lab hides no planted defect", "[suite][mutants]",
                       ((std::size_t part), part), 0, 1, 2, 3) {
    for (const mutants::Caught& pair : sweep_of(mutants::caught_by_cases(), part, 4)) {
        std::string told;
        const bool found = finds(pair, told, real_lab);
        INFO("case " << pair.case_id << ", defect " << pair.mutant << "\n" << told);
        CHECK(found != pair.judge_alone);
    }
}

// A receiver drops such packets, so no line may be met by one.
TEST_CASE("suite: no case passes a device whose ICRCs are all wrong", "[suite][mutants][CRC-01]") {
    const Plan plan = plan_of(swept(over_both(), 3));
    for (const InexactLab& lab : {InexactLab{}, real_lab}) {
        VirtualTestbedOptions wrong = engine_of(*mutants::find("every_icrc_wrong"));
        wrong.lab = lab;
        VirtualTestbed device(std::move(wrong));
        VirtualTestbed right(right_engine());
        std::size_t waiting = 0;
        for (const PlannedRun& run : plan.runs) {
            const script::Case& script = plan.cases[run.case_index];
            const auto play = [&](VirtualTestbed& testbed) {
                return testbed.play(script, *run.run, testbed.environment(run.network()));
            };
            // As a run of the plan: one packet may have been damaged by the wire.
            CaseResult result = play(device);
            if (lab.path_delay && Replay::needed_for(result)) {
                WireRecord good_wire;
                good_wire.add(10'000);
                Replay replay(good_wire);
                replay.add(std::move(result));
                while (!replay.settled())
                    replay.add(play(device));
                result = replay.take_result();
            }
            INFO(text_of(result) << (lab.path_delay ? "\nslow lab" : ""));
            if (waits_for_packet(run.run->body)) {
                ++waiting;
                CHECK(condemned(result));
            } else if (speaks(play(right))) {
                CHECK(result.verdict != Verdict::Pass);
            }
            const bool told = std::ranges::find(result.rules, "CRC-01") != result.rules.end() ||
                              std::ranges::find(result.rules, "CRC-10") != result.rules.end();
            CHECK((result.verdict == Verdict::Pass || told));
        }
        CHECK(waiting > plan.runs.size() / 3);
    }
}

TEST_CASE("suite: silence on a reserved opcode is lawful", "[suite][BTH-06]") {
    VirtualTestbedOptions silent = right_engine();
    silent.engine.behaviour.reserved_opcode = engine::ReservedOpcode::Silent;
    const auto results = play_suite(over_both({"bth/reserved-opcode"}), std::move(silent));
    CHECK(results.size() == 14);
    for (const CaseResult& result : results) {
        INFO(text_of(result));
        CHECK(result.verdict == Verdict::Pass);
    }
}

// Hidden: verdicts in labs as slow as they come. Nothing but PASS, or ERROR where time is judged.
TEST_CASE("survey: slow labs", "[.survey]") {
    std::mt19937_64 random(1);
    const auto up_to = [&](double most_us) { // small ones as often as large ones
        const double power = std::uniform_real_distribution(0.0, std::log(most_us))(random);
        return wire::Duration(static_cast<std::int64_t>(1000 * std::exp(power)));
    };
    for (int round = 0; round < 400; ++round) {
        VirtualTestbedOptions device = right_engine();
        device.lab.path_delay = up_to(5'000);
        device.lab.call_delay = up_to(20'000);
        device.lab.stamp_width = std::min(up_to(1'000), *device.lab.path_delay);
        device.lab.jitter = up_to(5'000);
        device.lab.lateness = up_to(5'000);
        device.seed = static_cast<std::uint64_t>(round);
        INFO("path " << device.lab.path_delay->count() << " ns, calls "
                     << device.lab.call_delay.count() << " ns, stamps "
                     << device.lab.stamp_width.count() << " ns, jitter "
                     << device.lab.jitter.count() << " ns, late " << device.lab.lateness.count()
                     << " ns");
        for (const CaseResult& result : play_suite(over_both(), std::move(device))) {
            if (result.verdict == Verdict::Pass || result.verdict == Verdict::Error) continue;
            FAIL_CHECK(text_of(result));
        }
    }
}

// Hidden: which defects each case finds, for the `cases` of its row in conformance/mutants.
TEST_CASE("survey: what each case finds", "[.survey]") {
    Selection selection;
    selection.slow = true;
    const Plan plan = plan_of(selection);
    std::map<std::string, std::set<std::string>> found;
    for (const mutants::Mutant& mutant : mutants::all()) {
        const std::string name(mutant.name);
        VirtualTestbed testbed(engine_of(mutant));
        for (const PlannedRun& run : plan.runs) {
            const script::Case& one = plan.cases[run.case_index];
            if (found[one.id()].contains(name)) continue;
            const CaseResult result =
                testbed.play(one, *run.run, testbed.environment(run.network()));
            if (condemned(result)) found[one.id()].insert(name);
        }
    }
    for (const auto& [id, defects] : found) {
        std::cout << id << ":";
        for (const std::string& name : defects)
            std::cout << ' ' << name << ';';
        std::cout << '\n';
    }
    CHECK(found.size() == plan.cases.size());
}

TEST_CASE("suite: no case lacks a defect that it must find", "[suite][mutants]") {
    const auto pairs = mutants::caught_by_cases();
    CHECK(pairs.size() >= 220);
    std::set<std::string, std::less<>> known;
    for (const cases::EmbeddedFile& file : cases::embedded_files()) {
        const std::string id(file.id());
        known.insert(id);
        INFO("no row of conformance/mutants names the case " << id);
        CHECK(is_of(unproven, id) !=
              std::ranges::any_of(pairs, [&](const auto& pair) { return pair.case_id == id; }));
    }
    for (const mutants::Caught& pair : pairs) {
        INFO("case " << pair.case_id << ", defect " << pair.mutant);
        CHECK(known.contains(pair.case_id));
    }
}

// The rules that no case names stand in the README of the cases, each under its reason.
TEST_CASE("suite: the README lists the rules without a case", "[suite]") {
    std::set<std::string, std::less<>> covered;
    for (const script::Case& one : plan_of(over_both()).cases) {
        for (const script::Word& rule : one.rules)
            covered.insert(rule.text);
    }
    std::ifstream file(std::string(VERIROCE_SOURCE_DIR) + "/conformance/cases/README.md");
    REQUIRE(file.good());
    std::set<std::string, std::less<>> listed;
    bool inside = false;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("## ")) inside = line == "## Rules without a case";
        std::istringstream words(line);
        for (std::string word; inside && words >> word;) {
            if (rules::catalogue().contains(word)) listed.insert(word);
        }
    }
    for (const rules::Rule& rule : rules::catalogue().rules()) {
        // Statements of the annex are covered by the rules that are made of them.
        if (rule.id.starts_with("CA17-")) continue;
        INFO(rule.id);
        CHECK(covered.contains(rule.id) != listed.contains(rule.id));
    }
}

TEST_CASE("suite: the product's README counts the cases", "[suite]") {
    const std::string readme = house::read_text(std::string(VERIROCE_SOURCE_DIR) + "/README.md");
    Selection everything = over_both();
    everything.load = true;
    const std::size_t cases = plan_of(everything).cases.size();
    INFO("the plan has " << cases << " cases");
    CHECK(readme.find("| all " + std::to_string(cases) + " cases,") != std::string::npos);
}

TEST_CASE("suite: a seed gives the same packets and times again", "[suite]") {
    const auto first = play_suite(swept(over_both(), 7), right_engine(7), 7);
    const auto second = play_suite(swept(over_both(), 7), right_engine(7), 7);
    REQUIRE(first.size() == second.size());
    for (std::size_t i = 0; i < first.size(); ++i) {
        INFO(first[i].id);
        CHECK(first[i].id == second[i].id);
        REQUIRE(first[i].packets.size() == second[i].packets.size());
        for (std::size_t j = 0; j < first[i].packets.size(); ++j) {
            const RecordedPacket& one = first[i].packets[j];
            const RecordedPacket& other = second[i].packets[j];
            INFO(j << ": " << one.script);
            CHECK(one.from == other.from);
            CHECK(one.frame == other.frame);
            CHECK(one.script == other.script);
            CHECK(one.at.earliest == other.at.earliest);
            CHECK(one.at.latest == other.at.latest);
        }
    }
}

TEST_CASE("suite: another seed gives other PSNs and the same dialogue", "[suite]") {
    const auto first = play_suite(over_both({"rsp/gap-nak"}), right_engine(1), 1);
    const auto second = play_suite(over_both({"rsp/gap-nak"}), right_engine(2), 2);
    REQUIRE(first.size() == second.size());
    for (std::size_t i = 0; i < first.size(); ++i) {
        REQUIRE(first[i].packets.size() == second[i].packets.size());
        CHECK(psns_of(first[i]) != psns_of(second[i]));
        for (std::size_t j = 0; j < first[i].packets.size(); ++j)
            CHECK(first[i].packets[j].script == second[i].packets[j].script);
    }
}

TEST_CASE("suite: results name case, rules, file and the command that runs them again", "[suite]") {
    const Selection selection = over_both({"tmo/retry-exceeded"});
    const Plan plan = plan_of(selection);
    VirtualTestbed testbed(right_engine(5));
    PlanRun run(testbed, plan, selection, {.seed = 5, .command = " -i eth1"});
    const auto result = run.next();
    REQUIRE(result.has_value());
    CHECK(result->id == "tmo/retry-exceeded[ip=4,n=0]");
    CHECK(result->rules == std::vector<std::string>{"TMO-03"});
    CHECK(result->file == "tmo/retry-exceeded.roce");
    CHECK(result->command ==
          "veriroce test 'tmo/retry-exceeded[ip=4,n=0]' -i eth1 --over ip=4 --seed 5");
    CHECK(run.done() == 1);
}

TEST_CASE("suite: fail-fast ends behind the first FAIL", "[suite]") {
    const Selection selection = over_both({"bth/transport-version"});
    const Plan plan = plan_of(selection);
    VirtualTestbed testbed(engine_of(mutants::find("tver_not_checked")->get()));
    PlanRun run(testbed, plan, selection, {.fail_fast = true});
    const auto result = run.next();
    REQUIRE(result.has_value());
    CHECK(result->verdict == Verdict::Fail);
    CHECK_FALSE(run.next().has_value());
    CHECK(run.done() == 1);
}

} // namespace veriroce::test
