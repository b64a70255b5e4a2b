// A transport packet: BTH, extended headers by the opcode table, and what follows them, taken from
// the bytes between the UDP header and the ICRC.
//
// Decoding judges length only: a packet too short for the headers that its opcode names is an
// error; everything else, however wrong, is a Packet (meaning is judged by findings, checks and
// rules). Encoding a decoded packet gives the same bytes again.
#pragma once

#include <expected>
#include <string_view>

#include "dissector/wire/aeth.hpp"
#include "dissector/wire/atomic_ack_eth.hpp"
#include "dissector/wire/atomic_eth.hpp"
#include "dissector/wire/bth.hpp"
#include "dissector/wire/deth.hpp"
#include "dissector/wire/feth.hpp"
#include "dissector/wire/ieth.hpp"
#include "dissector/wire/immdt.hpp"
#include "dissector/wire/opcode.hpp"
#include "dissector/wire/rdeth.hpp"
#include "dissector/wire/reth.hpp"
#include "dissector/wire/xrceth.hpp"

namespace veriroce::wire {

// The longest run of headers: BTH, RDETH, DETH, AtomicETH, and spare for table rows to come.
inline constexpr std::size_t kMaxTransportHeaderBytes = 64;

struct Packet {
    Bth bth;
    HeaderSet headers; // which of the following are there; the others keep their zeros
#define VERIROCE_HEADER_MEMBER(type, member, ...) type member;
    VERIROCE_EXTENDED_HEADERS(VERIROCE_HEADER_MEMBER)
#undef VERIROCE_HEADER_MEMBER
    Bytes body; // all bytes after the headers: payload and pad

    [[nodiscard]] const OpcodeInfo& info() const { return opcode_info(bth.opcode); }
    // Bytes of BTH and of the extended headers in `headers`.
    [[nodiscard]] std::size_t header_bytes() const;
    // A pad count larger than the body leaves no payload and no pad (BTH-12).
    [[nodiscard]] bool pad_exceeds_body() const { return bth.pad > body.size(); }
    [[nodiscard]] Bytes payload() const {
        return pad_exceeds_body() ? Bytes{} : body.first(body.size() - bth.pad);
    }
};

enum class PacketError : std::uint8_t { TooShortForBth, TooShortForHeaders };
std::string_view text_of(PacketError error);

// `bytes` runs from the BTH to the last pad byte; the result points into it. Reserved opcodes have
// no extended headers: everything after the BTH is body.
std::expected<Packet, PacketError> decode_packet(Bytes bytes);
// The same into an existing packet. Headers that the new packet does not have keep old values.
// After an error `packet.headers` are those that could be read.
std::optional<PacketError> decode_packet(Bytes bytes, Packet& packet);

// Copies BTH, body, and the headers that are there, into a packet that was just made.
void copy_headers(const Packet& from, Packet& fresh);

// Writes BTH and the headers in `packet.headers` (not the body) to the head of `out`, which has
// room for kMaxTransportHeaderBytes, and returns how many bytes that were.
std::size_t encode_headers(const Packet& packet, MutableBytes out);

} // namespace veriroce::wire
