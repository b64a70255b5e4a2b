// A sweep over loss: goodput without loss, then at each of some loss rates, in one run.
//
//   const auto range = parse_sweep("loss=0.01%..5%");
//   Sweep sweep({.range = *range, .steps = 8, .step_time = 3s});
//   Bump bump(seed, sweep.rules());           // a rule for each step, by time
//   ... sweep.observe(bump, now) at sweep.next(), until sweep.ended()
//
// A step is cut into kSlots. The first kSettling of them belong to what the step before left
// behind, and are not counted; each of the others is one sample.
//
// Units: loss is a share of 1, of the packets of both directions. Time begins with the first RoCEv2
// packet. Errors: parse_sweep returns what it expected.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "transport/inject/bump.hpp"

namespace veriroce::inject {

struct SweepRange {
    double low = 0;
    double high = 0;
};
std::expected<SweepRange, std::string> parse_sweep(std::string_view text);

struct SweepOptions {
    SweepRange range;
    std::uint32_t steps = 8; // besides the one without loss; spaced by a constant factor
    wire::Duration step_time = std::chrono::seconds(3);
};

// What a step came to.
struct SweepStep {
    double loss = 0;
    wire::Duration measured{0};
    std::uint64_t bytes = 0; // delivered payload (Counters::delivered)
    std::uint64_t messages = 0;
    std::uint64_t packets = 0;
    std::uint64_t dropped = 0;
    std::uint64_t retransmissions = 0;
    std::vector<double> samples; // bit/s

    [[nodiscard]] double goodput() const; // bit/s
    [[nodiscard]] double messages_per_second() const;
};

class Sweep {
  public:
    static constexpr std::uint32_t kSlots = 10;
    static constexpr std::uint32_t kSettling = 2;

    explicit Sweep(SweepOptions options);

    [[nodiscard]] std::vector<fault::Rule> rules() const;
    // Counts the slots that have ended.
    void observe(const Bump& bump, wire::Instant now);
    // When the slot ends that runs now; unknown before the first packet.
    [[nodiscard]] std::optional<wire::Instant> next() const;
    [[nodiscard]] bool ended() const { return slot_ == kSlots * steps_.size(); }
    // Those that have ended, and the one that runs.
    [[nodiscard]] const std::vector<SweepStep>& steps() const { return steps_; }
    [[nodiscard]] std::size_t begun() const;

  private:
    struct Totals {
        wire::Instant at;
        Counters counters;
        std::uint64_t dropped = 0;
    };

    SweepOptions options_;
    std::vector<SweepStep> steps_;
    std::optional<wire::Instant> began_;
    std::size_t slot_ = 0; // that runs now, of all steps
    Totals before_;        // when it began
};

// "0.01 %"; "none" for 0.
std::string loss_text(double loss);

} // namespace veriroce::inject
