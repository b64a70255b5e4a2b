// What an action makes of one frame.
#pragma once

#include <cstdint>
#include <vector>

#include "transport/fault/rule.hpp"

namespace veriroce::fault {

// A frame with the layers of what it was when it came: a corrupted length does not move them.
struct Victim {
    std::vector<std::byte> frame;
    wire::LayerMap layers;
    std::int64_t psn = 0; // from the asking side's first
};

// Changes the frame's bytes. False if this packet has nothing that could be changed so (no such
// field, not so many bytes): the rule has then not fired. Only for actions that change bytes.
bool change(Victim& victim, const Corrupt& corrupt);
bool change(Victim& victim, const Rewrite& rewrite);
bool change(Victim& victim, const Truncate& truncate);
bool change(Victim& victim, const MarkCe& mark);

} // namespace veriroce::fault
