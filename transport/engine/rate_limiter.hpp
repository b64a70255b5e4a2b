// The reaction point of one QP: DCQCN, sans-IO. It is told of CNPs and of what was sent, and says
// when the next packet may go. Its two timers need no deadlines: what they would have done is made
// up for when the limiter is next asked.
//
// Source: CA17-45, CA17-46, rule CNP-09; the paper named in congestion.hpp.
#pragma once

#include "transport/engine/congestion.hpp"

namespace veriroce::engine {

class RateLimiter {
  public:
    // What would never come to an end is brought into bounds: periods of at least 1 ns, rates of at
    // least 1 Mbit/s, a gain of at most 2^-20.
    explicit RateLimiter(const Dcqcn& parameters);

    // A CNP came: the rate falls by alpha/2, alpha rises.
    void congested(wire::Instant now);
    // A packet of this many bytes left.
    void sent(std::size_t bytes, wire::Instant now);
    // When the next packet may go: not later than now if it may go at once.
    wire::Instant next_send(wire::Instant now);
    // Whether the rate is below the line's, and the rate.
    [[nodiscard]] bool limited() const { return limited_; }
    [[nodiscard]] std::uint64_t rate() const { return limited_ ? rate_ : parameters_.line_rate; }

  private:
    // Alpha counts in 2^-20; 1 is the state before the first CNP.
    static constexpr std::uint32_t kAlphaBits = 20;
    static constexpr std::uint32_t kAlphaOne = 1U << kAlphaBits;

    void advance(wire::Instant now);
    void decay_alpha(wire::Instant now);
    void increase();

    Dcqcn parameters_;
    std::uint64_t rate_ = 0;   // R_C
    std::uint64_t target_ = 0; // R_T
    std::uint32_t alpha_ = kAlphaOne;
    std::uint32_t timer_steps_ = 0; // expiries of the timer since the last cut
    std::uint32_t byte_steps_ = 0;  // and of the byte counter
    std::uint64_t bytes_ = 0;       // since the byte counter last ran out
    wire::Instant alpha_due_{};
    wire::Instant increase_due_{};
    wire::Instant next_send_{};
    wire::Instant last_cut_{};
    bool limited_ = false;
    bool ever_cut_ = false;
};

} // namespace veriroce::engine
