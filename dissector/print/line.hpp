// A packet as one line.
#pragma once

#include <string>

#include "dissector/decode/dissection.hpp"
#include "dissector/print/time_column.hpp"

namespace veriroce::print {

// Columns in which a packet's number and time end at the right.
inline constexpr std::size_t kNumberWidth = 5;
inline constexpr std::size_t kTimeWidth = 10;

// tshark's columns: number, time, source, destination, protocol, length, summary. Ends with a
// newline.
void append_line(std::string& out, const decode::Dissection& dissection, TimeColumn& time);
// With the seconds since the first frame.
void append_line(std::string& out, const decode::Dissection& dissection);

// The innermost address: from the IP packet or GRH, otherwise from the LRH or Ethernet header,
// otherwise empty.
Cell address_text(const decode::Dissection& dissection, bool destination);

} // namespace veriroce::print
