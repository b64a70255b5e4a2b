// Lines of the language that the interpreter cannot play, each with its place.
#pragma once

#include <vector>

#include "conformance/script/script.hpp"

namespace veriroce::interpreter {

// A script with such a line must be rejected, not played in part.
std::vector<script::Diagnostic> unplayable_lines(const script::Script& script);

} // namespace veriroce::interpreter
