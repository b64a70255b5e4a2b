// How violations are written: for people, and as a JSON document of the schema
// veriroce/violations/1. Internal to this room.
#pragma once

#include <string>
#include <string_view>

#include "conformance/judge/judge.hpp"

namespace veriroce::commands {

void append_text(std::string& out, const judge::Violation& violation);
void append_summary(std::string& out, const judge::Summary& summary);

void append_json_begin(std::string& out);
// `file` is named in the violation if it is not empty.
void append_json(std::string& out, const judge::Violation& violation, std::string_view file,
                 bool first);
void append_json_end(std::string& out);

} // namespace veriroce::commands
