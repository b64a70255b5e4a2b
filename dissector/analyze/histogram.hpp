// A distribution of whole numbers (bytes, nanoseconds) in bounded memory: counts in steps, 32 for
// each doubling, so that a quantile is at most 3.2 % off. Least, most, count and sum are exact.
//
//   Histogram latencies;
//   latencies.add(ns);
//   latencies.quantile(0.99)
//
// Memory: 128 bytes for each doubling between the least and the most. Numbers above kMost count as
// kMost in the steps.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace veriroce::analyze {

class Histogram {
  public:
    static constexpr std::uint64_t kMost = (std::uint64_t{1} << 46) - 1; // 19 hours in nanoseconds

    void add(std::uint64_t value) {
        ++count_;
        sum_ += value;
        if (value < least_) least_ = value;
        if (value > most_) most_ = value;
        const std::size_t step = step_of(value < kMost ? value : kMost);
        if (step - first_ >= steps_.size()) make_room(step); // also if it lies before the first
        ++steps_[step - first_];
    }
    void add(const Histogram& other);

    [[nodiscard]] std::uint64_t count() const { return count_; }
    [[nodiscard]] std::uint64_t sum() const { return sum_; }
    // Of an empty one: 0.
    [[nodiscard]] std::uint64_t least() const { return count_ == 0 ? 0 : least_; }
    [[nodiscard]] std::uint64_t most() const { return most_; }
    // The smallest number such that this part (0 to 1) of all is not above it, as exact as the
    // steps are. Of an empty one: 0.
    [[nodiscard]] std::uint64_t quantile(double part) const {
        return quantile(part, Within::Middle);
    }
    // The same, but the beginning of the step: exact for powers of two and their small multiples,
    // which most lengths are.
    [[nodiscard]] std::uint64_t low_quantile(double part) const {
        return quantile(part, Within::Begin);
    }

    // All that it is made of, for who writes it down.
    void parts(const auto& pass) { pass(count_, sum_, least_, most_, first_, steps_); }

  private:
    enum class Within : std::uint8_t { Begin, Middle };
    [[nodiscard]] std::uint64_t quantile(double part, Within within) const;

    static constexpr unsigned kStepBits = 5;
    static constexpr std::size_t kSteps = std::size_t{1} << kStepBits; // for each doubling

    static constexpr std::size_t step_of(std::uint64_t value) {
        if (value < kSteps) return static_cast<std::size_t>(value);
        const auto doubling = static_cast<unsigned>(std::bit_width(value)) - 1 - kStepBits;
        return (doubling + 1) * kSteps + ((value >> doubling) & (kSteps - 1));
    }
    // The numbers of a step begin here, and are this many.
    static constexpr std::uint64_t begin_of(std::size_t step) {
        if (step < kSteps) return step;
        return (kSteps + step % kSteps) << (step / kSteps - 1);
    }
    static constexpr std::uint64_t width_of(std::size_t step) {
        return step < kSteps ? 1 : std::uint64_t{1} << (step / kSteps - 1);
    }
    void make_room(std::size_t step);

    std::uint64_t count_ = 0;
    std::uint64_t sum_ = 0;
    std::uint64_t least_ = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t most_ = 0;
    std::size_t first_ = 0; // the step of steps_[0]; a multiple of kSteps
    std::vector<std::uint32_t> steps_;
};

} // namespace veriroce::analyze
