// What happened between two capture points, as text and as JSON (schema veriroce/two-points/1):
// {"schema", "packets": [first, second], "clocks": {...}, "flows": [...], "missing": [...]}.
// Numbers and fixed words alone. Times are seconds since 1970 on the first point's clock, members
// in _ns nanoseconds. Later versions may add members but do not rename any.
#pragma once

#include <string>

#include "dissector/two_points/passages.hpp"

namespace veriroce::two_points {

// `top` flows, those that lost the most first, and as many missing packets.
void append_text(std::string& out, const Clocks& clocks, const Passages& passages, std::size_t top);
void append_json(std::string& out, const Clocks& clocks, const Passages& passages);

} // namespace veriroce::two_points
