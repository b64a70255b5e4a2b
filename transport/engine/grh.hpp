// The 40 bytes that stand in front of a datagram in its receive buffer, where InfiniBand has its
// global route header: of IPv6 the IP header itself, of IPv4 twenty zeros and the IP header.
//
// The identification of an IPv4 header is not known to the engine (the envelope does not carry it)
// and stands as 0; flags say "don't fragment", and the checksum is right for what stands there.
//
// Source: rule EXT-05, CA17-6..CA17-19.
#pragma once

#include <array>

#include "dissector/wire/frame.hpp"

namespace veriroce::engine {

inline constexpr std::size_t kGrhBytes = 40;

// `transport_bytes` count from the BTH to the last pad byte.
std::array<std::byte, kGrhBytes> grh_of(const wire::Envelope& envelope,
                                        std::size_t transport_bytes);

} // namespace veriroce::engine
