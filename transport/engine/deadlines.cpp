#include "transport/engine/deadlines.hpp"

#include <algorithm>

namespace veriroce::engine {

void Deadlines::make_room(std::uint32_t qps) {
    timers_.resize(std::size_t{qps} * kTimers);
    // One entry per timer, and one more while a deadline is brought forward.
    heap_.reserve(2 * timers_.size());
}

bool Deadlines::later(const Entry& a, const Entry& b) {
    return a.when != b.when ? a.when > b.when : a.timer > b.timer;
}

void Deadlines::push(wire::Instant when, std::uint32_t timer) {
    heap_.push_back({when, timer});
    std::ranges::push_heap(heap_, later);
    timers_[timer].entry = when;
    timers_[timer].queued = true;
}

void Deadlines::arm(std::uint32_t qp, Timer timer, wire::Instant when) {
    const std::uint32_t at = index(qp, timer);
    State& state = timers_[at];
    if (state.queued && when < state.entry) {
        // Brought forward, which is rare: the old entry must not stay in front of the new one.
        std::erase_if(heap_, [at](const Entry& entry) { return entry.timer == at; });
        std::ranges::make_heap(heap_, later);
        state.queued = false;
    }
    state.when = when;
    state.armed = true;
    if (!state.queued) push(when, at);
    settle();
}

void Deadlines::disarm(std::uint32_t qp, Timer timer) {
    timers_[index(qp, timer)].armed = false;
    settle();
}

void Deadlines::settle() {
    while (!heap_.empty()) {
        const Entry top = heap_.front();
        State& state = timers_[top.timer];
        if (state.armed && state.when == top.when) return;
        std::ranges::pop_heap(heap_, later);
        heap_.pop_back();
        state.queued = false;
        if (state.armed) push(state.when, top.timer);
    }
}

std::optional<wire::Instant> Deadlines::next() const {
    if (heap_.empty()) return std::nullopt;
    return heap_.front().when;
}

std::optional<Deadlines::Due> Deadlines::take_due(wire::Instant now) {
    if (heap_.empty() || heap_.front().when > now) return std::nullopt;
    const std::uint32_t at = heap_.front().timer;
    timers_[at].armed = false;
    settle();
    return Due{.qp = at / kTimers, .timer = static_cast<Timer>(at % kTimers)};
}

} // namespace veriroce::engine
