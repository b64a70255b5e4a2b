#include "transport/engine/rate_limiter.hpp"

#include <algorithm>

namespace veriroce::engine {

RateLimiter::RateLimiter(const Dcqcn& parameters) : parameters_(parameters) {
    constexpr std::uint64_t least_rate = 1'000'000;
    constexpr std::uint64_t most_rate = std::uint64_t{1} << 42; // room for alpha's bits
    constexpr wire::Duration least_period{1};
    Dcqcn& p = parameters_;
    p.line_rate = std::clamp(p.line_rate, least_rate, most_rate);
    p.min_rate = std::clamp(p.min_rate, least_rate, p.line_rate);
    p.additive_rate = std::clamp(p.additive_rate, least_rate, p.line_rate);
    p.hyper_rate = std::clamp(p.hyper_rate, least_rate, p.line_rate);
    p.alpha_period = std::max(p.alpha_period, least_period);
    p.increase_period = std::max(p.increase_period, least_period);
    p.increase_bytes = std::max<std::uint64_t>(p.increase_bytes, 1);
    p.gain_shift = std::min<std::uint8_t>(p.gain_shift, kAlphaBits);
}

void RateLimiter::congested(wire::Instant now) {
    advance(now);
    if (ever_cut_ && now - last_cut_ < parameters_.cut_interval) return;
    if (!limited_) rate_ = target_ = parameters_.line_rate;
    if (parameters_.clamp_target || !limited_) target_ = rate_;
    // R_C falls by alpha/2 of itself.
    rate_ -= rate_ * alpha_ >> (kAlphaBits + 1);
    rate_ = std::max(rate_, parameters_.min_rate);
    alpha_ += (kAlphaOne - alpha_) >> parameters_.gain_shift;
    limited_ = ever_cut_ = true;
    last_cut_ = now;
    timer_steps_ = byte_steps_ = 0;
    bytes_ = 0;
    alpha_due_ = now + parameters_.alpha_period;
    increase_due_ = now + parameters_.increase_period;
}

void RateLimiter::sent(std::size_t bytes, wire::Instant now) {
    advance(now);
    if (!limited_) return;
    constexpr std::uint64_t bit_nanoseconds = 8'000'000'000;
    const auto takes = static_cast<std::int64_t>(bytes * bit_nanoseconds / rate_);
    next_send_ = std::max(next_send_, now) + wire::Duration(takes);
    bytes_ += bytes;
    if (bytes_ < parameters_.increase_bytes) return;
    bytes_ -= parameters_.increase_bytes;
    ++byte_steps_;
    increase();
}

wire::Instant RateLimiter::next_send(wire::Instant now) {
    advance(now);
    return limited_ ? next_send_ : now;
}

void RateLimiter::advance(wire::Instant now) {
    if (!ever_cut_) return;
    decay_alpha(now);
    // Each step brings the rate nearer to the line's, so that there is an end.
    while (limited_ && increase_due_ <= now) {
        increase_due_ += parameters_.increase_period;
        ++timer_steps_;
        increase();
    }
}

void RateLimiter::decay_alpha(wire::Instant now) {
    while (alpha_due_ <= now) {
        const std::uint32_t less = alpha_ >> parameters_.gain_shift;
        alpha_ -= less;
        alpha_due_ += parameters_.alpha_period;
        if (less != 0) continue;
        // It does not fall any more: the remaining periods change nothing.
        alpha_due_ += (now - alpha_due_) / parameters_.alpha_period * parameters_.alpha_period;
        if (alpha_due_ <= now) alpha_due_ += parameters_.alpha_period;
    }
}

// Fast recovery while neither timer nor byte counter has run out F times; then the target rises as
// well: additively while one has, by more once both have.
void RateLimiter::increase() {
    const std::uint32_t most = std::max(timer_steps_, byte_steps_);
    const std::uint32_t least = std::min(timer_steps_, byte_steps_);
    if (least > parameters_.fast_recovery_steps) {
        target_ += parameters_.hyper_rate;
    } else if (most > parameters_.fast_recovery_steps) {
        target_ += parameters_.additive_rate;
    }
    target_ = std::min(target_, parameters_.line_rate);
    rate_ = (rate_ + target_ + 1) / 2;
    if (rate_ >= parameters_.line_rate) limited_ = false;
}

} // namespace veriroce::engine
