// The timers of a QP: one optional instant for each.
//
// A heap with one entry per armed timer. Moving a deadline later only notes it; the entry is
// corrected when it comes to the top, so that a timer that is moved at every packet costs nothing.
// The top is always exact, which is what next() needs. Ties fall to the lower QP.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dissector/wire/instant.hpp"

namespace veriroce::engine {

enum class Timer : std::uint8_t {
    Ack,      // TMO-01: sent packets had no response
    Rnr,      // RNR-08: the wait that an RNR NAK asked for
    AckDelay, // ACK-03: an ACK waits for more to acknowledge
    Pace,     // CA17-45: the QP sends below the line's rate
};
inline constexpr std::uint32_t kTimers = 4;

class Deadlines {
  public:
    // QPs count from 0; more of them take memory.
    void make_room(std::uint32_t qps);
    void arm(std::uint32_t qp, Timer timer, wire::Instant when);
    void disarm(std::uint32_t qp, Timer timer);
    [[nodiscard]] bool armed(std::uint32_t qp, Timer timer) const {
        return timers_[index(qp, timer)].armed;
    }

    [[nodiscard]] std::optional<wire::Instant> next() const;

    struct Due {
        std::uint32_t qp = 0;
        Timer timer = Timer::Ack;
    };
    // Takes the earliest that is not later than now, and disarms it.
    std::optional<Due> take_due(wire::Instant now);

  private:
    struct State {
        wire::Instant when;
        wire::Instant entry; // the instant of its entry in the heap, if it is queued
        bool armed = false;
        bool queued = false;
    };
    struct Entry {
        wire::Instant when;
        std::uint32_t timer = 0;
    };
    static bool later(const Entry& a, const Entry& b);
    static std::uint32_t index(std::uint32_t qp, Timer timer) {
        return qp * kTimers + static_cast<std::uint32_t>(timer);
    }
    void push(wire::Instant when, std::uint32_t timer);
    // Makes the top exact.
    void settle();

    std::vector<State> timers_;
    std::vector<Entry> heap_;
};

} // namespace veriroce::engine
