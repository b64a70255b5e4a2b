// A transport packet as the tracker takes it: decoded headers, who sent it to whom, when, and how
// far it can be trusted. Made from a dissected frame or from a datagram in memory.
//
// Errors: what has no whole transport headers is no Packet. Units: time in nanoseconds on any one
// time line; sizes in bytes.
#pragma once

#include <cstdint>
#include <optional>

#include "dissector/decode/dissection.hpp"
#include "dissector/wire/frame.hpp"
#include "dissector/wire/instant.hpp"
#include "dissector/wire/ip_address.hpp"
#include "dissector/wire/packet.hpp"

namespace veriroce::flow {

// What the ICRC says of a packet. A bad one is dropped by its receiver (CRC-07), so it changes
// nothing that the tracker keeps.
enum class Integrity : std::uint8_t { Good, Bad, Unchecked };

// Where a packet was recorded: at the port that it left, before the network; at the port that it
// came to; or nobody knows.
enum class Tap : std::uint8_t { Anywhere, Sender, Receiver };

struct Packet {
    std::uint64_t number = 0; // the caller's, for reports; rises from packet to packet
    std::optional<wire::Instant> time;
    wire::IpAddress source;
    wire::IpAddress destination;
    std::uint16_t source_port = 0;
    std::uint8_t ecn = 0;
    std::uint16_t identification = 0; // of IPv4; a sender gives each packet another one
    Tap tap = Tap::Anywhere;          // the caller's to say
    wire::Packet transport;       // its body points into the caller's bytes and may be cut short
    std::uint32_t body_bytes = 0; // payload and pad as they were on the wire
    Integrity integrity = Integrity::Unchecked;

    [[nodiscard]] const wire::OpcodeInfo& info() const { return transport.info(); }
    [[nodiscard]] wire::Psn psn() const { return transport.bth.psn; }
    [[nodiscard]] std::uint32_t payload_bytes() const {
        return transport.bth.pad > body_bytes ? 0 : body_bytes - transport.bth.pad;
    }
    // Whether the capture holds all of the body.
    [[nodiscard]] bool whole() const { return transport.body.size() == body_bytes; }
};

// Nothing if the frame holds no RoCEv2 packet, or not all of its headers.
std::optional<Packet> packet_of(const decode::Dissection& dissection);
// The same into one that was just made; false for nothing.
bool read_packet(const decode::Dissection& dissection, Packet& fresh);
// The datagram's ICRC was checked where it was taken from the link. Nothing as above.
std::optional<Packet> packet_of(const wire::Datagram& datagram, std::uint64_t number,
                                wire::Instant time);

} // namespace veriroce::flow
