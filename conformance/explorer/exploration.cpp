#include "conformance/explorer/exploration.hpp"

#include <algorithm>
#include <limits>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "conformance/explorer/signature.hpp"
#include "conformance/plan/needs.hpp"
#include "conformance/plan/run.hpp"
#include "conformance/plan/script_lines.hpp"
#include "dissector/command_line/stop_on_signal.hpp"
#include "dissector/wire/splitmix64.hpp"
#include "transport/fault/delta_debugging.hpp"

namespace veriroce::explorer {

using interpreter::CaseResult;
using interpreter::Environment;
using interpreter::FindingKind;
using interpreter::Verdict;

namespace {

constexpr std::uint64_t kDialoguesPerSanity = 20;
constexpr std::uint32_t kTriesPerSignature = 3; // dialogues of which none is confirmed
constexpr std::size_t kMostPlays = 3'000;       // to make one dialogue small
constexpr std::size_t kMostLivePlays = 200;
constexpr std::size_t kMostAhead = 1'024; // dialogues, before one of them is examined
constexpr unsigned kMostThreads = kMostAhead / (2 * plan::kAheadPerThread);
constexpr std::size_t kMostWitnesses = 4;  // right devices that pass each smaller script
constexpr std::ptrdiff_t kHeaderLines = 5; // of a dialogue: rule, title, role, level, tags

std::string path_of(std::uint64_t seed) {
    return fmt::format("explored/{}.roce", seed);
}

bool has(const CaseResult& result, const std::string& signature) {
    const std::vector<std::string> all = signatures_of(result);
    return std::ranges::find(all, signature) != all.end();
}

// A text as comments of a script.
std::string comment(const std::string& text) {
    constexpr std::size_t columns = 98; // of a line, which may have 100
    std::istringstream stream(text);
    std::string lines;
    std::string line = "#";
    for (std::string word; stream >> word;) {
        if (line.size() + 1 + word.size() > columns) lines += std::exchange(line, "#  ") + "\n";
        line += " " + word;
    }
    return lines + line + "\n";
}

// The script in its layout, with what it shows behind it: what a fault line draws depends on the
// number of the line.
std::string with_comments(const std::string& text, const CaseResult& result, std::uint64_t seed) {
    const auto layout = script::format(path_of(seed), text);
    std::string tail = comment(fmt::format("veriroce test --explore, dialogue of seed {}: {}", seed,
                                           name_of(result.verdict)));
    for (const interpreter::Finding& one : result.findings) {
        if (one.kind != FindingKind::Violation) tail += comment(sentence(one));
    }
    for (const interpreter::Violation& one : result.violations) {
        if (one.certain && one.level != rules::Level::Info)
            tail += comment(fmt::format("{}: {}; {}", one.rule, one.measured, one.allowed));
    }
    return (layout ? *layout : text) + tail;
}

} // namespace

Exploration::Exploration(testbed::Testbed& testbed, std::vector<RightDevice> right, Options options)
    : testbed_(testbed), right_(std::move(right)), options_(std::move(options)),
      reach_(reach_of(known_device(testbed.environment({})))), sanity_(plan::sanity_script()),
      corpus_(testbed.plays_stand_alone() ? kMostAhead : 1),
      began_(std::chrono::steady_clock::now()) {
    if (options_.profile) {
        const dut::Welcome dut = testbed.environment({}).dut;
        known_failures_ = known_failures(
            *options_.profile,
            {.firmware = dut.firmware, .kernel = dut.kernel, .today = options_.today});
    }
    if (!testbed.plays_stand_alone()) return;
    const std::uint64_t runs = options_.runs.value_or(std::numeric_limits<std::uint64_t>::max());
    const unsigned threads = std::min(options_.threads, kMostThreads);
    ahead_.emplace(threads, runs, [this](std::size_t number) {
        Held held = prepared(number);
        if (held.script) held.result = play_alone(testbed_, *held.script, held.dialogue.seed);
        return held;
    });
}

Environment Exploration::known_device(Environment environment) const {
    if (!options_.profile) return environment;
    return options_.profile->applied(std::move(environment));
}

bool Exploration::over() const {
    if (command_line::StopOnSignal::requested() || testbed_.broken() || dead_since_) return true;
    if (options_.runs && counts_.dialogues >= *options_.runs) return true;
    return out_of_time();
}

bool Exploration::out_of_time() const {
    return options_.time && std::chrono::steady_clock::now() - began_ >= *options_.time;
}

interpreter::Network network_of(const script::Script& script, std::uint64_t seed) {
    return plan::network_of(script.runs.front(), ip_version_of(seed));
}

Environment Exploration::environment_on(testbed::Testbed& testbed, const script::Script& script,
                                        std::uint64_t seed) const {
    const interpreter::Network network = network_of(script, seed);
    const bool usable = !testbed.lacks(network);
    Environment environment = testbed.environment(usable ? network : interpreter::Network{});
    environment.seed = seed;
    plan::scale_times(environment, options_.timeout_scale);
    if (&testbed == &testbed_) environment = known_device(std::move(environment));
    environment.first_tester_qpn = wire::Qpn{plan::first_qpn_of(seed)};
    environment.notes_states = &testbed == &testbed_;
    return environment;
}

// Its result does not depend on what was played before: `veriroce test FILE --seed N` gives the
// same.
CaseResult Exploration::play_alone(testbed::Testbed& testbed, const script::Script& script,
                                   std::uint64_t seed) const {
    return testbed.play(script.test_case, script.runs.front(),
                        environment_on(testbed, script, seed));
}

CaseResult Exploration::play(testbed::Testbed& testbed, const script::Script& script,
                             std::uint64_t seed) {
    if (testbed.plays_stand_alone()) return play_alone(testbed, script, seed);
    return testbed.play(script.test_case, script.runs.front(),
                        next_environment_on(testbed, script, seed));
}

Environment Exploration::next_environment_on(testbed::Testbed& testbed,
                                             const script::Script& script, std::uint64_t seed) {
    Environment environment = environment_on(testbed, script, seed);
    // A noisy wire does something else in each play.
    environment.wire_seed = wire::splitmix64_mix(seed + wire::kSplitmix64Step * ++plays_);
    environment.first_tester_qpn = qpns_.next();
    return environment;
}

CaseResult Exploration::play_until_settled(testbed::Testbed& testbed, plan::WireRecord& wire,
                                           const script::Script& script, std::uint64_t seed) {
    testbed.keep_calibrated();
    CaseResult first = play(testbed, script, seed);
    if (!testbed.may_lose_packets() || !plan::Replay::needed_for(first)) {
        wire.add(first.packets.size());
        return first;
    }
    probe_.probe(testbed, wire, [&] { return next_environment_on(testbed, script, seed); });
    plan::Replay replay(wire);
    replay.add(std::move(first));
    while (!replay.settled() && !testbed.broken() && !command_line::StopOnSignal::requested()) {
        replay.add(play(testbed, script, seed));
    }
    CaseResult result = replay.take_result();
    replay.tell(wire);
    return result;
}

void Exploration::count(const CaseResult& result, std::uint64_t seed) {
    counts_.packets += result.packets.size();
    switch (result.verdict) {
    case Verdict::Pass:
    case Verdict::Info:
    case Verdict::Xfail:
    case Verdict::Xpass: ++counts_.passed; return;
    case Verdict::Fail:
    case Verdict::Warn: ++counts_.failed; return;
    case Verdict::Skip: ++counts_.skipped; break;
    case Verdict::Error: ++counts_.errors; break;
    }
    const bool unsettled =
        !result.findings.empty() && result.findings.front().kind == FindingKind::NotRepeatable;
    if (unsettled) ++counts_.not_repeatable;
    troubles_.emplace(fmt::format("{}: {}", name_of(result.verdict), result.reason()), seed);
}

Exploration::Held Exploration::prepared(std::uint64_t number) const {
    const std::uint64_t seed = options_.seed + number;
    Dialogue dialogue = dialogue_of(corpus_.origin_of(number, seed), seed, reach_);
    auto script = script::compile(path_of(seed), dialogue.text);
    return {.dialogue = std::move(dialogue), .script = std::move(script), .result = {}};
}

Exploration::Held Exploration::next_held() {
    if (ahead_) return ahead_->take();
    Held held = prepared(counts_.dialogues);
    if (held.script)
        held.result = play_until_settled(testbed_, wire_, *held.script, held.dialogue.seed);
    return held;
}

std::optional<Found> Exploration::next() {
    while (!over()) {
        const auto& [dialogue, script, result] = next_held();
        const std::uint64_t seed = dialogue.seed;
        if (command_line::StopOnSignal::requested()) break; // it was cut short
        ++counts_.dialogues;
        const bool passed = result.verdict == Verdict::Pass; // others may fail as it did
        corpus_.add(dialogue, passed ? result.states : std::span<const std::uint32_t>());
        if (!script) {
            ++counts_.errors;
            troubles_.emplace(script.error().front().text(path_of(seed)), seed);
            continue;
        }
        count(result, seed);
        const bool asks =
            counts_.dialogues % kDialoguesPerSanity == 0 || result.verdict != Verdict::Pass;
        if (testbed_.may_lose_packets() && asks && !still_answers(seed))
            return death_after(dialogue);
        if (auto found = examine(dialogue, result)) return found;
    }
    return std::nullopt;
}

bool Exploration::still_answers(std::uint64_t seed) {
    for (std::size_t i = 0; i < plan::kSanityTriesOnWire; ++i) {
        if (testbed_.broken()) break;
        if (play(testbed_, sanity_, seed).verdict == Verdict::Pass) return true;
    }
    dead_since_ = seed;
    return false;
}

// The device may have died of any dialogue since the last exchange; the last
// one is named.
Found Exploration::death_after(const Dialogue& dialogue) {
    Found found{.text = dialogue.text, .signature = "unanswering", .seed = dialogue.seed};
    found.result.id = fmt::format("explored/{}", dialogue.seed);
    found.result.rules = {"ROB-09"};
    found.result.title = fmt::format("A dialogue of seed {}", dialogue.seed);
    found.result.become(Verdict::Fail, FindingKind::Unanswering,
                        fmt::format("the device has not answered a SEND since this dialogue, or "
                                    "one of the {} before it",
                                    kDialoguesPerSanity - 1));
    return found;
}

std::optional<Found> Exploration::examine(const Dialogue& dialogue, const CaseResult& result) {
    std::vector<std::string> fresh = new_signatures_of(result, known_failures_);
    const bool failed = result.verdict == Verdict::Fail || result.verdict == Verdict::Warn;
    if (failed && fresh.empty()) ++counts_.excused;
    std::erase_if(fresh, [&](const std::string& one) { return known_.contains(one); });
    if (fresh.empty()) return std::nullopt;
    const std::uint64_t seed = dialogue.seed;
    const std::optional<Refutation> refutation = refuted(dialogue.text, seed);
    for (const std::string& signature : fresh) {
        // Who was cut short speaks against nothing.
        if (command_line::StopOnSignal::requested()) return std::nullopt;
        if (refutation) {
            if (tries_[signature]++ == 0)
                unconfirmed_.push_back({seed, signature, refutation->why, dialogue.text});
            if (tries_[signature] >= kTriesPerSignature) known_.insert(signature);
            continue;
        }
        const std::string small = made_small(dialogue, signature);
        if (command_line::StopOnSignal::requested()) return std::nullopt;
        known_.insert(signature);
        const auto script = script::compile(path_of(seed), small);
        CaseResult shown = play(testbed_, *script, seed);
        // The small script often shows the same cause in other ways.
        for (const std::string& other : signatures_of(shown))
            known_.insert(other);
        std::string text = with_comments(small, shown, seed);
        return Found{std::move(shown), std::move(text), signature, seed};
    }
    return std::nullopt;
}

// Whether the right device has the services that the dialogue asks for, and the traits without
// which the dialogue asks more of it than of the device under test.
bool Exploration::is_for(const std::string& text, const script::Script& script,
                         const RightDevice& device) const {
    const Environment environment = device.testbed->environment({});
    const Reach right = reach_of(environment);
    const bool gaps = reach_.in_order && text.find("code=PSN_SEQUENCE") != std::string::npos;
    const bool retries = reach_.times_retries && text.find("RETRY_EXC_ERR") != std::string::npos;
    const auto needs = plan::needs_of(script.test_case, script.runs.front());
    const bool serves = std::ranges::none_of(needs, [&](const script::Need& need) {
        return plan::lacking(need, *device.testbed, environment).has_value();
    });
    return serves && (right.in_order || !gaps) && (right.times_retries || !retries);
}

std::optional<Exploration::Refutation> Exploration::refuted(const std::string& text,
                                                            std::uint64_t seed) {
    const auto script = script::compile(path_of(seed), text);
    if (!script) return Refutation{.why = "the script does not compile", .by = nullptr};
    std::vector<RightDevice*> alone;
    std::vector<RightDevice*> others;
    for (RightDevice& one : right_) {
        if (!is_for(text, *script, one)) continue;
        (one.testbed->plays_stand_alone() ? alone : others).push_back(&one);
    }
    plan::Ahead<CaseResult> plays(options_.threads, alone.size(), [&](std::size_t number) {
        return play_alone(*alone[number]->testbed, *script, seed);
    });
    for (RightDevice* one : alone) {
        if (auto why = objection(*one, plays.take())) return Refutation{*std::move(why), one};
    }
    for (RightDevice* one : others) {
        const CaseResult result = play_until_settled(*one->testbed, one->wire, *script, seed);
        if (auto why = objection(*one, result)) return Refutation{*std::move(why), one};
    }
    return std::nullopt;
}

std::optional<std::string> Exploration::objection(const RightDevice& device,
                                                  const CaseResult& result) {
    // Losses may keep a play from a verdict.
    const bool unsettled = result.verdict == Verdict::Error && device.testbed->may_lose_packets();
    const bool passes = result.verdict == Verdict::Pass || result.verdict == Verdict::Info ||
                        result.verdict == Verdict::Skip || unsettled;
    if (passes) return std::nullopt;
    return fmt::format("{} on {}: {}", name_of(result.verdict), device.name, result.reason());
}

bool Exploration::fails_alike(const std::string& text, std::uint64_t seed,
                              const std::string& signature,
                              std::span<RightDevice* const> witnesses) {
    const auto script = script::compile(path_of(seed), text);
    if (!script || script->runs.size() != 1) return false;
    const int plays = testbed_.may_lose_packets() ? 2 : 1;
    for (int i = 0; i < plays; ++i) {
        if (!has(play(testbed_, *script, seed), signature)) return false;
    }
    return std::ranges::all_of(witnesses, [&](RightDevice* one) {
        const CaseResult result = play_until_settled(*one->testbed, one->wire, *script, seed);
        return result.verdict != Verdict::Skip && !objection(*one, result);
    });
}

std::string Exploration::made_smaller(const Dialogue& dialogue, const std::string& signature,
                                      std::span<RightDevice* const> witnesses) {
    const std::size_t most = testbed_.may_lose_packets() ? kMostLivePlays : kMostPlays;
    const bool live = !testbed_.plays_stand_alone();
    std::size_t plays = 0;
    plan::Lines lines = plan::lines_of(dialogue.text);
    // What says that nothing needs a line, and what a failure means, stays.
    const auto header_end = lines.begin() + kHeaderLines;
    const std::string header = plan::joined({lines.begin(), header_end});
    lines.erase(lines.begin(), header_end);
    const auto still_fails = [&](const plan::Lines& some) {
        if (plays >= most || command_line::StopOnSignal::requested()) return false;
        if (live && out_of_time()) return false; // it stays as long as it is now
        ++plays;
        return fails_alike(header + plan::joined(some), dialogue.seed, signature, witnesses);
    };
    for (bool smaller = true; smaller && plays < most;) {
        const std::size_t before = lines.size();
        lines = fault::reduce_to_failure(std::move(lines), still_fails);
        smaller = lines.size() < before;
    }
    return header + plan::joined(lines);
}

std::string Exploration::made_small(const Dialogue& dialogue, const std::string& signature) {
    std::vector<RightDevice*> witnesses;
    if (!right_.empty()) witnesses.push_back(&right_.front());
    for (std::size_t i = 0; i < kMostWitnesses; ++i) {
        std::string small = made_smaller(dialogue, signature, witnesses);
        const auto refutation = refuted(small, dialogue.seed);
        if (!refutation) return small;
        if (refutation->by == nullptr || command_line::StopOnSignal::requested()) break;
        witnesses.push_back(refutation->by);
    }
    return dialogue.text;
}

} // namespace veriroce::explorer
