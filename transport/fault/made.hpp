// Frames of our own making beside the packet that a rule selected.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "transport/fault/rule.hpp"

namespace veriroce::fault {

// What the maker of a frame knows of the packet that was selected.
struct Model {
    const wire::Frame& frame;
    std::int64_t psn = 0;                   // from the asking side's first
    std::optional<std::uint32_t> other_qpn; // the QPN of the packet's sender, if it is known
};

// The forged packet. Nothing if it cannot be written so (a field that its opcode does not have), or
// if nobody has said to which QP of the sender it should go.
std::optional<std::vector<std::byte>> forged(const Forge& forge, const Model& model);

// A PFC frame to the packet's sender (IEEE 802.1Qbb), as if its peer had sent it.
std::vector<std::byte> pause_frame(const Pause& pause, const wire::Frame& frame);

} // namespace veriroce::fault
