// Actions that change the bytes of one frame.
#pragma once

#include <cstdint>
#include <vector>

#include "transport/fault/rule.hpp"

namespace veriroce::fault {

// A frame and its original layers: a corrupted length field does not move them.
struct TargetFrame {
    std::vector<std::byte> frame;
    wire::LayerMap layers;
    std::int64_t psn = 0; // relative to the requester's first PSN
};

// Changes the frame's bytes. Returns false if the packet does not have what the action changes (no
// such field, too few bytes): the rule has then not fired. Only for actions that change bytes.
bool change(TargetFrame& target, const Corrupt& corrupt);
bool change(TargetFrame& target, const Rewrite& rewrite);
bool change(TargetFrame& target, const Truncate& truncate);
bool change(TargetFrame& target, const MarkCe& mark);

} // namespace veriroce::fault
