#include "conformance/interpreter/clock.hpp"

#include <fmt/format.h>

#include "conformance/interpreter/events.hpp"
#include "conformance/interpreter/record.hpp"

namespace veriroce::interpreter {

wire::Instant Clock::now() const {
    return events_.now();
}

void Clock::line_ended() {
    line_end_ = {.at = now(), .packet = {}};
}

void Clock::line_ended_with(std::size_t packet) {
    if (record_[packet].at.latest < interval_of(line_end_).latest) return;
    line_end_ = {.at = record_[packet].at.latest, .packet = packet};
}

void Clock::line_sent(std::optional<std::size_t> packet) {
    line_end_ = {.at = now(), .packet = packet};
}

Interval Clock::interval_of(const Moment& moment) const {
    return moment.packet ? record_[*moment.packet].at : Interval{moment.at, moment.at};
}

std::optional<Finding> Clock::own_lateness() const {
    for (const TimedPacket& one : timed_) {
        if (one.packet >= record_.size()) continue; // the packet never left
        const wire::Duration waited = record_[one.packet].at.latest - record_[one.before].at.latest;
        if (waited <= one.after + one.after / 10) continue;
        return Finding{
            .kind = FindingKind::Noisy,
            .line = one.span.line,
            .detail = fmt::format("too late to judge: our packet of line {} left {} after the one "
                                  "before it, not {}",
                                  one.span.line, short_time(waited), short_time(one.after))};
    }
    return std::nullopt;
}

} // namespace veriroce::interpreter
