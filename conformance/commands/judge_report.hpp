// How violations are written: for people, and as a JSON document of the schema
// veriroce/violations/1. Internal to this room.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "conformance/judge/judge.hpp"

namespace veriroce::commands {

// The lines of packets as `veriroce dissect` prints them, by number.
using PacketLines = std::map<std::uint64_t, std::string>;

// Below the violation stand the lines of its packets, as far as they are known.
void append_text(std::string& out, const judge::Violation& violation, const PacketLines& lines);
void append_summary(std::string& out, const judge::Summary& summary);
// Of a capture in which no packet was judged: what was in it instead.
std::string why_nothing(const judge::Summary& summary);

void append_json_begin(std::string& out);
// `file` is named in the violation if it is not empty.
void append_json(std::string& out, const judge::Violation& violation, const PacketLines& lines,
                 std::string_view file, bool first);
void append_json_end(std::string& out);

} // namespace veriroce::commands
