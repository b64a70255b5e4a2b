// Parses the header of a case: the lines above the first blank line. It only finds the `qp` and
// `tester qp` lines; body.hpp parses them once per run, when every name has its value.
#pragma once

#include <cstddef>
#include <span>

#include "conformance/script/cursor.hpp"

namespace veriroce::script {

struct Header {
    Case head;
    std::size_t lines = 0;   // index of the first line of the dialogue
    bool names_known = true; // every `let`, `for` and `... address` line is right
};

Header parse_header(std::string_view path, std::span<const Line> lines, Report& report);

inline constexpr std::size_t kMaxNames = 64; // `let` and `for` lines of a case
inline constexpr std::size_t kMaxValues = 4'096;

// Whether the line is `qp …`, or `tester qp …`.
bool is_qp_line(const Line& line);
bool is_tester_qp_line(const Line& line);

} // namespace veriroce::script
