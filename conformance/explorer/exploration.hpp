// Plays one dialogue after another, and keeps those that fail: made small,
// confirmed on devices that are right, and each only once.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "conformance/explorer/corpus.hpp"
#include "conformance/explorer/dialogue.hpp"
#include "conformance/plan/ahead.hpp"
#include "conformance/plan/known_failures.hpp"
#include "conformance/plan/play.hpp"
#include "conformance/plan/replay.hpp"
#include "conformance/plan/wire_probe.hpp"
#include "conformance/script/script.hpp"
#include "conformance/testbed/testbed.hpp"

namespace veriroce::explorer {

// Where a dialogue of this seed is played.
[[nodiscard]] interpreter::Network network_of(const script::Script& script, std::uint64_t seed);

struct Options {
    std::uint64_t seed = 1;
    std::optional<std::uint64_t> runs; // dialogues
    std::optional<std::chrono::nanoseconds> time;
    double timeout_scale = 1.0;
    unsigned threads = 1; // that play at once, where each play stands alone
    // What is known of the device under test; `today` as in plan::ProfileScope.
    std::optional<plan::Profile> profile = {};
    std::string today = {};
};

// A failure that stands by itself.
struct Found {
    interpreter::CaseResult result; // of the small script
    std::string text;               // the small script, with what differs in comments
    std::string signature;
    std::uint64_t seed = 0; // of the dialogue
};

// A dialogue whose failure does not count, and why.
struct Unconfirmed {
    std::uint64_t seed = 0;
    std::string signature;
    std::string why;  // "fails on the right device"
    std::string text; // of the dialogue
};

struct Counts {
    std::uint64_t dialogues = 0;
    std::uint64_t packets = 0;
    std::uint64_t passed = 0;
    std::uint64_t failed = 0; // or WARN
    std::uint64_t skipped = 0;
    std::uint64_t errors = 0;
    std::uint64_t not_repeatable = 0;
    std::uint64_t excused = 0; // of those that failed: the profile knows all that was wrong
};

// A device that must pass every script that counts.
struct RightDevice {
    std::string name;
    std::unique_ptr<testbed::Testbed> testbed;
    plan::WireRecord wire{}; // what is known of the way to it
};

class Exploration {
  public:
    Exploration(testbed::Testbed& testbed, std::vector<RightDevice> right, Options options);

    // Plays up to the next failure that counts; nothing once the budget is spent,
    // a signal came, or the device no longer answers.
    std::optional<Found> next();
    [[nodiscard]] const Counts& counts() const { return counts_; }
    [[nodiscard]] const Corpus& corpus() const { return corpus_; }
    // One for each signature.
    [[nodiscard]] const std::vector<Unconfirmed>& unconfirmed() const { return unconfirmed_; }
    // What kept a dialogue from a verdict: the first of each kind, with its seed.
    [[nodiscard]] const std::map<std::string, std::uint64_t>& troubles() const { return troubles_; }
    // The dialogue after which the device was silent.
    [[nodiscard]] const std::optional<std::uint64_t>& dead_since() const { return dead_since_; }

  private:
    struct Held {
        Dialogue dialogue;
        std::expected<script::Script, std::vector<script::Diagnostic>> script;
        interpreter::CaseResult result; // if the script compiles
    };

    [[nodiscard]] bool over() const;
    [[nodiscard]] bool out_of_time() const;
    [[nodiscard]] Held prepared(std::uint64_t number) const;
    // The next dialogue, played.
    Held next_held();
    // The device under test, with what its profile says.
    [[nodiscard]] interpreter::Environment known_device(interpreter::Environment environment) const;
    [[nodiscard]] interpreter::Environment environment_on(testbed::Testbed& testbed,
                                                          const script::Script& script,
                                                          std::uint64_t seed) const;
    // On a testbed whose plays stand alone: by several threads at once.
    interpreter::CaseResult play_alone(testbed::Testbed& testbed, const script::Script& script,
                                       std::uint64_t seed) const;
    interpreter::CaseResult play(testbed::Testbed& testbed, const script::Script& script,
                                 std::uint64_t seed);
    // One play after others, with QPs of its own.
    [[nodiscard]] interpreter::Environment next_environment_on(testbed::Testbed& testbed,
                                                               const script::Script& script,
                                                               std::uint64_t seed);
    // On a wire that may lose packets, until it is settled.
    interpreter::CaseResult play_until_settled(testbed::Testbed& testbed, plan::WireRecord& wire,
                                               const script::Script& script, std::uint64_t seed);
    std::optional<Found> examine(const Dialogue& dialogue, const interpreter::CaseResult& result);
    struct Refutation {
        std::string why;
        RightDevice* by = nullptr; // no device: the text is no script
    };
    // Why the text does not count; nothing if every right device passes it.
    std::optional<Refutation> refuted(const std::string& text, std::uint64_t seed);
    // Why the result of a right device speaks against the script that it played.
    static std::optional<std::string> objection(const RightDevice& device,
                                                const interpreter::CaseResult& result);
    [[nodiscard]] bool is_for(const std::string& text, const script::Script& script,
                              const RightDevice& device) const;
    // Whether the text shows it on the device under test, and the witnesses pass.
    bool fails_alike(const std::string& text, std::uint64_t seed, const std::string& signature,
                     std::span<RightDevice* const> witnesses);
    std::string made_smaller(const Dialogue& dialogue, const std::string& signature,
                             std::span<RightDevice* const> witnesses);
    // A small script that shows it and that every right device passes. One that fails a script made
    // smaller becomes a witness for the next one; of a dialogue that has too many, the whole.
    std::string made_small(const Dialogue& dialogue, const std::string& signature);
    void count(const interpreter::CaseResult& result, std::uint64_t seed);
    bool still_answers(std::uint64_t seed);
    Found death_after(const Dialogue& dialogue);

    testbed::Testbed& testbed_;
    std::vector<RightDevice> right_;
    Options options_;
    Reach reach_;
    plan::WireRecord wire_;
    plan::WireProbe probe_;
    script::Script sanity_;
    Counts counts_;
    std::vector<plan::KnownFailure> known_failures_;
    std::set<std::string> known_; // signatures that were reported, or given up
    std::map<std::string, std::uint32_t> tries_;
    std::vector<Unconfirmed> unconfirmed_;
    std::map<std::string, std::uint64_t> troubles_;
    std::optional<std::uint64_t> dead_since_;
    plan::TesterQpns qpns_;
    Corpus corpus_;
    std::uint64_t plays_ = 0;
    std::chrono::steady_clock::time_point began_;
    std::optional<plan::Ahead<Held>> ahead_; // where each play stands alone
};

} // namespace veriroce::explorer
