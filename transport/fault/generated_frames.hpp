// Frames that a fault rule adds: forged packets and PFC frames.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "transport/fault/rule.hpp"

namespace veriroce::fault {

// The selected packet, which the new frame is based on.
struct Model {
    const wire::Frame& frame;
    std::int64_t psn = 0;                   // relative to the requester's first PSN
    std::optional<std::uint32_t> other_qpn; // the QPN of the packet's sender, if known
};

// The forged packet. Empty if it cannot be built: its opcode lacks a field that was set, or the
// sender's QPN is not known.
std::optional<std::vector<std::byte>> forged(const Forge& forge, const Model& model);

// A PFC frame to the packet's sender (IEEE 802.1Qbb), apparently from its peer.
std::vector<std::byte> pause_frame(const Pause& pause, const wire::Frame& frame);

} // namespace veriroce::fault
