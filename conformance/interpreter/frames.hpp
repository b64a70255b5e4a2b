// Frames that are not RoCEv2 packets, as bytes: the Ethernet header first, without Ethernet's
// checksum.
//
// Source: RFC 791 and RFC 8200 for fragments; IEEE 802.1Q for priority flow control; rule ENC-16
// for RoCEv1, whose packets have a GRH, laid out as an IPv6 header, in place of IP and UDP.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dissector/wire/frame.hpp"

namespace veriroce::interpreter {

// The IP fragment of a whole RoCEv2 frame that carries `length` bytes from `at` on, counted from
// the UDP header. `id` identifies the IPv6 fragments of one packet; IPv4 uses the packet's own.
// Nothing if the frame is not RoCEv2, or the piece does not begin at a multiple of 8 inside it.
std::optional<std::vector<std::byte>> fragment_of(wire::Bytes packet, std::size_t at,
                                                  std::size_t length, std::uint32_t id);

// Priority flow control: stop sending traffic of this class (0 to 7) for `quanta` times of 512
// bits.
std::vector<std::byte> pfc_frame(wire::MacAddress from, unsigned priority, std::uint16_t quanta);

// The packet of a RoCEv2 frame in the encapsulation of RoCEv1, with a correct ICRC. Nothing if the
// frame is not RoCEv2 or has no whole BTH.
std::optional<std::vector<std::byte>> rocev1_frame(wire::Bytes packet);

} // namespace veriroce::interpreter
