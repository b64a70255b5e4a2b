// What happened on a connection, in plain sentences with packet numbers.
#pragma once

#include <string>

#include "dissector/analyze/health.hpp"

namespace veriroce::analyze {

// One paragraph without line ends: why the connection died, or what held it back, and what cannot
// be told. `end` is the time of the last frame of the capture.
std::string explain(const Conversation& conversation, const Health& health,
                    std::optional<wire::Instant> end);

// "Remote Access Error", of a NAK or an RNR NAK.
std::string_view title_of(wire::Syndrome syndrome);
// "10.77.0.1 QP 0x000012"
std::string text_of(const Endpoint& end);
// "1.5 kB", "12.3 Mbit/s"
std::string bytes_text(double bytes);
std::string rate_text(double bytes_per_second);
// At most three digits that count: "1.23 ms".
std::string time_text(wire::Duration time);

} // namespace veriroce::analyze
