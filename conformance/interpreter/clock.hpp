// The times of a case: when the previous line ended, until when a line waits, and whether the
// tester's own packets left at the times of the script.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "conformance/interpreter/case_result.hpp"
#include "conformance/interpreter/met.hpp"
#include "dissector/wire/instant.hpp"

namespace veriroce::interpreter {

class Events;
class Record;

// The end of a line: an instant, or a packet, whose time may become more exact later.
struct Moment {
    wire::Instant at{};
    std::optional<std::size_t> packet; // in the record
};

// `> … after T`: a packet of ours, and the packet after which it must leave.
struct TimedPacket {
    std::size_t packet = 0; // in the record
    std::size_t before = 0;
    wire::Duration after{0};
    Span span;
};

class Clock {
  public:
    Clock(const Events& events, const Record& record) : events_(events), record_(record) {}

    [[nodiscard]] wire::Instant now() const;

    void line_ended();                        // now
    void line_ended_with(std::size_t packet); // unless the line before ended later
    void line_sent(std::optional<std::size_t> packet);
    [[nodiscard]] const Moment& line_end() const { return line_end_; }
    [[nodiscard]] Interval interval_of(const Moment& moment) const;

    void note(TimedPacket packet) { timed_.push_back(packet); }
    // Whether a packet of ours left too late, by more than a tenth of the time that the line
    // writes: then the DUT's answer to it says nothing about the DUT.
    [[nodiscard]] std::optional<Finding> own_lateness() const;

  private:
    const Events& events_;
    const Record& record_;
    Moment line_end_;
    std::vector<TimedPacket> timed_;
};

} // namespace veriroce::interpreter
