// What a story went through: each packet, call and completion together with what was open on its QP
// at that moment. A story that went through something new is a good start for others. Nothing is
// judged here.
#pragma once

#include <cstdint>
#include <vector>

#include "conformance/model/story.hpp"

namespace veriroce::model {

// Numbers that stand for a state each, in ascending order and each once; the same on every machine.
std::vector<std::uint32_t> visited_states(const Story& story);

} // namespace veriroce::model
