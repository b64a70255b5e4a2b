// What every play needs, of cases and of explored dialogues: QPNs of its own, times that fit a slow
// host, and a small exchange that shows whether the device still answers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "conformance/interpreter/environment.hpp"
#include "conformance/script/script.hpp"

namespace veriroce::plan {

// The tester's QPNs of one play after another. Late packets of a play do not meet the next ones.
class TesterQpns {
  public:
    static constexpr std::uint32_t kPerPlay = 1024;
    static_assert(script::kMaxQps < kPerPlay);
    // Calibration has those before it.
    static constexpr std::uint32_t kFirst = interpreter::kLowestTesterQpn.value + kPerPlay;

    explicit TesterQpns(std::uint32_t next = kFirst) : next_(next) {}

    // Those of a play that `plays` others come before, the first of them with QPN `first`.
    static TesterQpns after(std::uint32_t first, std::size_t plays);

    // The first QPN of the next play. After the last ones it begins again with kFirst.
    wire::Qpn next();

  private:
    std::uint32_t next_;
};

// Multiplies the times that a play waits.
void scale_times(interpreter::Environment& environment, double scale);

// One SEND to a new QP, and its answer.
script::Script sanity_script();
// How often the exchange is played, where packets may be lost, before the device counts as silent.
inline constexpr std::size_t kSanityTriesOnWire = 6;

} // namespace veriroce::plan
