// A packet as one line.
#pragma once

#include <string>

#include "dissector/decode/dissection.hpp"

namespace veriroce::print {

// tshark's columns: number, seconds since the first frame, source, destination, protocol, length,
// summary. Ends with a newline.
void append_line(std::string& out, const decode::Dissection& dissection);

} // namespace veriroce::print
