// What a run does to the network beyond the two hosts. Pure.
#pragma once

#include "conformance/script/ast.hpp"

namespace veriroce::interpreter {

// Whether it sends PAUSE frames: by a line, or as a fault.
bool sends_pause(const script::Run& run);

// Whether it sends a RAW frame that every host of the network receives.
bool sends_to_everybody(const script::Run& run);

} // namespace veriroce::interpreter
