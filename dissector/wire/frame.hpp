// An Ethernet frame that carries RoCEv2, the envelope of a datagram, and the link's edge: seal puts
// the ICRC on, unseal checks it and hands the transport bytes in.
//
// The way through a frame is the outer walk (outer.hpp).
//
// Source: rules ENC-01..ENC-15, CRC-01..CRC-07, CA17-2..CA17-24.
#pragma once

#include <expected>
#include <optional>

#include "dissector/wire/ethernet.hpp"
#include "dissector/wire/ip.hpp"
#include "dissector/wire/layer.hpp"
#include "dissector/wire/outer.hpp"
#include "dissector/wire/udp.hpp"

namespace veriroce::wire {

struct VlanId {
    std::uint16_t id = 0;
    std::uint8_t priority = 0;

    friend constexpr bool operator==(VlanId, VlanId) = default;
};

// Who sends a datagram to whom and how: what the IP and UDP headers say, without lengths and sums.
struct Envelope {
    IpAddress source;
    IpAddress destination;
    std::uint16_t source_port = kRocePort;
    std::uint16_t destination_port = kRocePort;
    std::uint8_t dscp = 0;
    std::uint8_t ecn = 0;
    std::uint8_t hop_limit = 64;
    std::uint32_t flow_label = 0; // IPv6 only
    std::optional<VlanId> vlan;

    friend constexpr bool operator==(const Envelope&, const Envelope&) = default;
};

// Congestion experienced: the value of the ECN bits that a congested switch writes (CNP-01).
inline constexpr std::uint8_t kCongestionExperienced = 3;

// What the engine works on: the bytes run from the BTH to the last pad byte.
struct Datagram {
    Envelope envelope;
    Bytes bytes;
};

// A frame taken apart. All spans point into the bytes that were decoded.
struct Frame {
    Bytes bytes; // the whole frame, Ethernet padding included
    Outer outer;
    LayerMap layers; // down to the BTH and the ICRC; extended headers by map_transport
    Ethernet ethernet;
    std::optional<VlanTag> vlan;
    std::optional<Ipv4> ipv4; // exactly one of the two is there
    std::optional<Ipv6> ipv6;
    Udp udp;
    Bytes transport;        // BTH to the last pad byte
    std::uint32_t icrc = 0; // as received, in the form that icrc() and load_icrc() return

    [[nodiscard]] Envelope envelope() const;
    // What an engine is given of a frame that check_frame() does not refuse.
    [[nodiscard]] Datagram datagram() const;
    // From the first byte of the IP header to the last pad byte: what the ICRC covers.
    [[nodiscard]] Bytes covered() const { return outer.covered(); }
};

// Takes a frame apart by its own length fields; judges only what find_layers() does.
std::expected<Frame, FrameError> decode_frame(Bytes bytes);

// Adds the offsets of the extended headers that the opcode names, and of the body.
void map_transport(Frame& frame);

// Checks what CA17-24 makes a receiver check (check_frame). Whoever gets an error drops the frame
// and counts it. A UDP checksum that a network card was to finish (unfinished_udp_checksum) is
// taken for none.
std::expected<Datagram, FrameError> unseal(Bytes bytes);
std::expected<Datagram, FrameError> unseal(const Frame& decoded);

// Computes the ICRC of a complete frame and writes it after the pad.
// The frame's lengths must be right (decode_frame succeeds).
void seal(MutableBytes bytes);

struct LinkAddress {
    MacAddress source;
    MacAddress destination;
};

// Bytes that Ethernet, VLAN tag, IP and UDP take before the BTH.
std::size_t outer_bytes(const Envelope& envelope);
// An outer header of every kind, an Ethernet tag and the largest transport headers.
inline constexpr std::size_t kMaxFrameOverhead = 14 + 4 + 40 + 8 + 64 + 3 + kIcrcBytes;

// Writes Ethernet, VLAN tag, IP and UDP in front of `transport_bytes` bytes that the caller puts
// after them (BTH to ICRC), with lengths and IPv4 checksum right and the UDP checksum zero.
// Returns how many bytes that were: outer_bytes() and the options. `ip_options` is a multiple of 4
// bytes, at most 40, and empty for IPv6. The whole must fit IP's 16-bit length.
std::size_t write_outer(const LinkAddress& link, const Envelope& envelope, std::uint16_t ip_id,
                        Bytes ip_options, std::size_t transport_bytes, MutableBytes out);

// Writes a whole sealed frame: outer headers, `headers`, `payload`, ICRC (the caller's payload
// includes the pad). `ip_id` is the IPv4 identification. UDP checksum 0. Returns its length; `out`
// must have room for it. Frames are not padded to Ethernet's minimum: the link does that.
std::size_t write_frame(const LinkAddress& link, const Envelope& envelope, std::uint16_t ip_id,
                        Bytes headers, Bytes payload, MutableBytes out);

} // namespace veriroce::wire
