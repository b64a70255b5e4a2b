// An amount over time in bounded memory: kParts equal parts of time, which double in length when
// the time does not fit. Times are counted from the first.
#pragma once

#include <array>
#include <cstdint>

#include "dissector/wire/instant.hpp"

namespace veriroce::analyze {

class TimeSeries {
  public:
    static constexpr std::size_t kParts = 32;

    // Times before the first count as the first.
    void add(wire::Instant time, std::uint64_t amount) {
        if (!begun_) begin_ = time;
        begun_ = true;
        auto at = static_cast<std::uint64_t>(time < begin_ ? 0 : (time - begin_).count());
        while (at >= part_ns_ * kParts)
            fold();
        at /= part_ns_;
        amounts_[at] += amount;
        if (at >= used_) used_ = at + 1;
    }

    [[nodiscard]] bool empty() const { return !begun_; }
    [[nodiscard]] wire::Instant begin() const { return begin_; }
    [[nodiscard]] wire::Duration part() const {
        return wire::Duration(static_cast<std::int64_t>(part_ns_));
    }
    [[nodiscard]] std::size_t size() const { return used_; } // parts up to the last used one
    [[nodiscard]] std::uint64_t operator[](std::size_t part) const { return amounts_[part]; }

  private:
    void fold() {
        for (std::size_t i = 0; i < kParts / 2; ++i)
            amounts_[i] = amounts_[2 * i] + amounts_[2 * i + 1];
        for (std::size_t i = kParts / 2; i < kParts; ++i)
            amounts_[i] = 0;
        part_ns_ *= 2;
        used_ = (used_ + 1) / 2;
    }

    bool begun_ = false;
    wire::Instant begin_;
    std::uint64_t part_ns_ = 1024;
    std::size_t used_ = 0;
    std::array<std::uint64_t, kParts> amounts_{};
};

} // namespace veriroce::analyze
