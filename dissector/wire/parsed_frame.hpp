// A frame from the link, taken apart once and judged once: its layers, its packet, and why a
// receiver drops it, if it does. For those who keep a frame and look at it several times.
#pragma once

#include <expected>
#include <optional>

#include "dissector/wire/frame.hpp"
#include "dissector/wire/packet.hpp"

namespace veriroce::wire {

struct ParsedFrame {
    Frame frame;                       // with the layers of the transport packet (map_transport)
    std::optional<FrameError> refusal; // what check_frame() says, the ICRC included
    std::optional<Packet> packet;      // nothing if it is too short for its headers

    [[nodiscard]] bool accepted() const { return !refusal; }
};

// Errors: those of decode_frame(). The result points into `bytes`.
std::expected<ParsedFrame, FrameError> parse_frame(Bytes bytes);

} // namespace veriroce::wire
