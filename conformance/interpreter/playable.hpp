// What the language has and the interpreter cannot play: each at its place, never skipped.
#pragma once

#include <vector>

#include "conformance/script/script.hpp"

namespace veriroce::interpreter {

// A script with any must be refused, not played in part.
std::vector<script::Diagnostic> unplayable_lines(const script::Script& script);

} // namespace veriroce::interpreter
