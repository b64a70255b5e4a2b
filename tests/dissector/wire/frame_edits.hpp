// Small changes to captured frames, and what the receiving side says of the result.
#pragma once

#include <optional>
#include <vector>

#include "dissector/wire/frame.hpp"

namespace veriroce::wire::frames {

// Writes `value` over the big-endian 16 bits at `at`.
inline void poke16(std::vector<std::byte>& frame, std::size_t at, unsigned value) {
    store_be<2>(frame, at, value);
}

// Makes the IPv4 header checksum right again (no VLAN, no options).
inline void fix_ip(std::vector<std::byte>& frame) {
    poke16(frame, 24, ipv4_checksum(Bytes(frame).subspan(14, 20)));
}

// What unseal says of the frame, and nothing if it accepts it.
inline std::optional<FrameError> refusal(const std::vector<std::byte>& frame) {
    const auto datagram = unseal(frame);
    if (datagram) return std::nullopt;
    return datagram.error();
}

inline std::optional<FrameError> decoding(const std::vector<std::byte>& frame) {
    const auto decoded = decode_frame(frame);
    if (decoded) return std::nullopt;
    return decoded.error();
}

} // namespace veriroce::wire::frames
