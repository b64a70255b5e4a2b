// An Ethernet frame that carries RoCEv2, the envelope of a datagram, and the link's edge: seal puts
// the ICRC on, unseal checks it and hands the transport bytes in.
//
// This is the fast path of a device and a tester: one optional VLAN tag, IPv4 or IPv6, UDP 4791.
// All else that can come in a capture is taken apart by dissector/decode.
//
// Source: rules ENC-01..ENC-15, CRC-01..CRC-07, CA17-2..CA17-24.
#pragma once

#include <array>
#include <expected>
#include <optional>
#include <string_view>

#include "dissector/wire/ethernet.hpp"
#include "dissector/wire/ip.hpp"
#include "dissector/wire/opcode.hpp"
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

// Where each layer of a frame begins, in bytes from the frame's first.
enum class Layer : std::uint8_t {
    Ethernet,
    Vlan,
    Ipv4,
    Ipv6,
    Udp,
    Bth,
    Rdeth,
    Deth,
    Xrceth,
    Feth,
    Reth,
    AtomicEth,
    Aeth,
    AtomicAckEth,
    ImmDt,
    Ieth,
    Body, // payload and pad
    Icrc,
};
inline constexpr std::size_t kLayers = 18;

// The layer that an extended header is.
constexpr Layer layer_of(Header header) {
    static_assert(static_cast<std::size_t>(Layer::Ieth) - static_cast<std::size_t>(Layer::Rdeth) ==
                  kHeaderKinds - 1);
    return static_cast<Layer>(static_cast<std::size_t>(Layer::Rdeth) +
                              static_cast<std::size_t>(header));
}

class LayerMap {
  public:
    constexpr LayerMap() { offsets_.fill(kAbsent); }
    constexpr void set(Layer layer, std::size_t offset) {
        offsets_[static_cast<std::size_t>(layer)] = static_cast<std::uint32_t>(offset);
    }
    [[nodiscard]] constexpr bool has(Layer layer) const {
        return offsets_[static_cast<std::size_t>(layer)] != kAbsent;
    }
    [[nodiscard]] constexpr std::size_t at(Layer layer) const {
        assert(has(layer));
        return offsets_[static_cast<std::size_t>(layer)];
    }

  private:
    // 32 bits: the ICRC of the longest IP datagram lies beyond 65,535 with Ethernet in front of it.
    static constexpr std::uint32_t kAbsent = 0xFFFFFFFF;
    std::array<std::uint32_t, kLayers> offsets_{};
};

enum class FrameError : std::uint8_t {
    NotIp, // no IPv4 or IPv6 behind Ethernet and at most one VLAN tag
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

// A frame taken apart. All spans point into the bytes that were decoded.
struct Frame {
    Bytes bytes;     // the whole frame, Ethernet padding included
    LayerMap layers; // down to the BTH and the ICRC; extended headers by map_transport
    Ethernet ethernet;
    std::optional<VlanTag> vlan;
    std::optional<Ipv4> ipv4; // exactly one of the two is there
    std::optional<Ipv6> ipv6;
    Udp udp;
    Bytes transport;        // BTH to the last pad byte
    std::uint32_t icrc = 0; // as received, in the form that icrc() and load_icrc() return

    [[nodiscard]] Envelope envelope() const;
    void write_envelope(Envelope& fresh) const; // into one as it is made
    // From the first byte of the IP header to the last pad byte: what the ICRC covers.
    [[nodiscard]] Bytes covered() const;
};

// Takes a frame apart by its own length fields (the ICRC is found by the UDP length, ENC-07), and
// judges only what it needs to find the layers: neither the IP version nor checksums nor ICRC, and
// a UDP datagram shorter than its IP payload is taken as it says. IPv4 options are skipped.
std::expected<Frame, FrameError> decode_frame(Bytes bytes);

// Adds the offsets of the extended headers that the opcode names, and of the body.
void map_transport(Frame& frame);

// Checks what CA17-24 makes a receiver check, in this order: IP version, IPv4 header checksum,
// lengths of IP, fragment, lengths of UDP, port, UDP checksum where there is one, ICRC. Whoever
// gets an error drops the frame and counts it. A UDP checksum that a network card was to finish
// (unfinished_udp_checksum) is taken for none.
std::expected<Datagram, FrameError> unseal(Bytes bytes);
std::expected<Datagram, FrameError> unseal(const Frame& decoded);

// Computes the ICRC of a complete frame and writes it behind the pad.
// The frame's lengths must be right (decode_frame succeeds).
void seal(MutableBytes bytes);

struct LinkAddress {
    MacAddress source;
    MacAddress destination;
};

// Bytes that Ethernet, VLAN tag, IP and UDP take before the BTH.
std::size_t outer_bytes(const Envelope& envelope);
inline constexpr std::size_t kIcrcBytes = 4;
// An outer header of every kind, an Ethernet tag and the largest transport headers.
inline constexpr std::size_t kMaxFrameOverhead = 14 + 4 + 40 + 8 + 64 + 3 + kIcrcBytes;

// Writes Ethernet, VLAN tag, IP and UDP in front of `transport_bytes` bytes that the caller puts
// behind them (BTH to ICRC), with lengths and IPv4 checksum right and the UDP checksum zero.
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
