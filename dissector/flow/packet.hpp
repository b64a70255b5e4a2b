// A transport packet as the tracker needs it: decoded headers, addresses, time, and whether the
// bytes can be trusted. Made from a dissected frame or from a datagram in memory.
//
// Errors: a frame without complete transport headers gives no Packet. Units: time in nanoseconds on
// any one time line; sizes in bytes.
#pragma once

#include <cstdint>
#include <optional>

#include "dissector/decode/dissection.hpp"
#include "dissector/wire/frame.hpp"
#include "dissector/wire/instant.hpp"
#include "dissector/wire/ip_address.hpp"
#include "dissector/wire/packet.hpp"

namespace veriroce::flow {

// What the ICRC says about a packet. A receiver drops a packet with a bad ICRC (CRC-07), so it
// changes no state of the tracker.
enum class Integrity : std::uint8_t {
    Good,
    Intact, // the ICRC is right, but not the IP or UDP checksum: sent like this, perhaps not taken
    Bad,    // wrong ICRC, or lengths or an IP version for which every receiver drops it
    Unchecked,
};

// Where a packet was captured: at its sender's port (before the network), at its receiver's port,
// or somewhere unknown.
enum class Tap : std::uint8_t { Anywhere, Sender, Receiver };

struct Packet {
    std::uint64_t number = 0; // set by the caller for reports; increases from packet to packet
    std::optional<wire::Instant> time;
    wire::IpAddress source;
    wire::IpAddress destination;
    std::uint16_t source_port = 0;
    std::uint8_t ecn = 0;
    std::uint16_t identification = 0; // of IPv4; a sender gives each packet a different one
    Tap tap = Tap::Anywhere;          // set by the caller
    wire::Packet transport;       // its body points into the caller's bytes and may be truncated
    std::uint32_t body_bytes = 0; // payload and pad, as on the wire
    Integrity integrity = Integrity::Unchecked;
    std::uint64_t digest = 0; // digest_of() it, if that was computed ahead (frame_packet.hpp)

    // Whether its bytes are those that were sent.
    [[nodiscard]] bool undamaged() const {
        return integrity == Integrity::Good || integrity == Integrity::Intact;
    }
    [[nodiscard]] const wire::OpcodeInfo& info() const { return transport.info(); }
    [[nodiscard]] wire::Psn psn() const { return transport.bth.psn; }
    [[nodiscard]] std::uint32_t payload_bytes() const {
        return transport.bth.pad > body_bytes ? 0 : body_bytes - transport.bth.pad;
    }
    // Whether the capture holds the complete body.
    [[nodiscard]] bool whole() const { return transport.body.size() == body_bytes; }
};

// Empty if the frame holds no RoCEv2 packet, or not all of its headers.
std::optional<Packet> packet_of(const decode::Dissection& dissection);
// Fills a newly constructed packet; returns false where packet_of would be empty.
bool read_packet(const decode::Dissection& dissection, Packet& fresh);
// The link has already checked the datagram's ICRC. Empty as above.
std::optional<Packet> packet_of(const wire::Datagram& datagram, std::uint64_t number,
                                wire::Instant time);

} // namespace veriroce::flow
