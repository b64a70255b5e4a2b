// The outer walk: from a frame's first byte to its transport packet and ICRC. One walk for a
// device, a tester and the dissector: Ethernet, at most one VLAN tag, IPv4 or IPv6, UDP to port
// 4791. All else that can come in a capture is taken apart by dissector/decode.
//
// The walk is a list of checks (outer.cpp): some find the next layer, some judge what was found,
// some sum up all bytes. Whoever asks says how far to go.
//
// Source: rules ENC-01..ENC-15, CRC-07, CA17-2..CA17-24.
#pragma once

#include <optional>
#include <string_view>

#include "dissector/wire/bytes.hpp"

namespace veriroce::wire {

enum class FrameError : std::uint8_t {
    NotIp, // no IPv4 or IPv6 after Ethernet and at most one VLAN tag
    NotUdp,
    NotRoce,        // UDP, but to another port than 4791
    Fragment,       // ENC-09: fragments are not processed
    Truncated,      // shorter than its own length fields say, or than BTH and ICRC need
    BadIpVersion,   // CA17-27
    BadIpChecksum,  // N-03
    LengthMismatch, // ENC-08: UDP length and IP length contradict each other
    BadUdpChecksum, // ENC-06
    BadIcrc,        // CRC-07
};
std::string_view text_of(FrameError error);

inline constexpr std::size_t kIcrcBytes = 4;

// A frame on the walk, and where its layers begin, in bytes from its first; an offset is good as
// far as the walk came.
struct Outer {
    Bytes frame;
    std::uint32_t ip_at = 0;
    std::uint32_t ip_end = 0; // by the IP header's own length
    std::uint32_t udp_at = 0;
    std::uint32_t bth_at = 0;
    std::uint32_t icrc_at = 0; // by the UDP length (ENC-07)
    bool tagged = false;       // a VLAN tag comes before the IP header
    bool v6 = false;

    // From the BTH to the last pad byte.
    [[nodiscard]] Bytes transport() const { return frame.subspan(bth_at, icrc_at - bth_at); }
    // From the first byte of the IP header to the last pad byte: what the ICRC covers.
    [[nodiscard]] Bytes covered() const { return frame.subspan(ip_at, icrc_at - ip_at); }
};

// Each runs the checks in the order of CA17-24 and returns the first that the frame fails.
// Only those that find the layers: neither the IP version nor a checksum nor the ICRC is judged,
// and a UDP datagram shorter than its IP payload is taken as it says. IPv4 options are skipped.
std::optional<FrameError> find_layers(Outer& outer);
// Also those that judge the headers by themselves: IP version, IPv4 checksum, UDP against IP
// length.
std::optional<FrameError> check_headers(Outer& outer);
// All of them, with UDP checksum and ICRC: whoever gets an error drops the frame and counts it.
std::optional<FrameError> check_frame(Outer& outer);

// Zero, right, or left for a network card to finish: one that check_frame() lets pass.
bool udp_checksum_acceptable(const Outer& outer);

} // namespace veriroce::wire
