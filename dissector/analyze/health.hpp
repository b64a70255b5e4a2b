// Whether a connection is healthy: how it ended, and which limits it breaks.
#pragma once

#include <string>
#include <vector>

#include "dissector/analyze/facts.hpp"

namespace veriroce::analyze {

struct Thresholds {
    double resent_part = 0.001;            // of the request packets of a direction
    std::uint64_t timeouts = 0;            // of a direction
    std::uint64_t rnr_naks = 0;            // of a direction
    std::optional<wire::Duration> latency; // 99 % of the messages of a kind take at most this long
};

// How a direction ended, as far as the capture shows it.
enum class Ending : std::uint8_t {
    Quiet,       // everything was answered
    Outstanding, // the capture ends before the answer
    Retrying,    // the capture ends while the requester tries again
    Closed,      // by CM
    GaveUp,      // the requester tried again in vain, and then no more
    Refused,     // by a NAK that ends the connection
};
std::string_view name_of(Ending ending); // "quiet", ...

struct Health {
    std::array<Ending, 2> endings{Ending::Quiet, Ending::Quiet}; // of the two directions
    std::vector<std::string> problems; // a phrase for each limit that is broken

    [[nodiscard]] bool healthy() const { return problems.empty(); }
    [[nodiscard]] bool died() const;
};

// `end` is the time of the last frame of the capture.
Health health_of(const Conversation& conversation, const Thresholds& thresholds,
                 std::optional<wire::Instant> end);

// The codes that the ACK timeout may have if the requester waited this long at least: a device may
// wait up to four times as long (TMO-01). Empty for a time that no code has.
struct TimeoutCodes {
    std::uint8_t least = 0;
    std::uint8_t most = 0;
};
std::optional<TimeoutCodes> timeout_codes(wire::Duration waited);

} // namespace veriroce::analyze
