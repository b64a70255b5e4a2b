// PacketSpec: a packet as a tester writes it. Every field is either what a correct sender would put
// or a value that is kept however wrong. One encoder turns it into the bytes of a frame.
//
// Order of work: the correct packet is made from the opcode and the Sender; written fields replace
// their bits, then bits are inverted; lengths, IP checksum, UDP checksum and ICRC are made right
// unless they were written or damaged; damage is done last, in the order of the members of Damage.
//
// Source: conformance/script/README.md "Packets".
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dissector/wire/field.hpp"
#include "dissector/wire/packet.hpp"

namespace veriroce::wire {

// What an honest peer would put at this moment; the defaults of all that a spec does not write.
struct Sender {
    LinkAddress link;
    Envelope envelope;
    std::uint16_t ip_id = 0; // IPv4; the tester counts it, never zero
    Packet packet;           // BTH and every header that the opcode may need; body is not used
    std::vector<std::byte> payload; // without pad
};

// What becomes of the ICRC.
enum class IcrcKind : std::uint8_t { Good, Bad, Swapped, Zero, Unmasked };
std::string_view name_of(IcrcKind kind); // "good", "bad", "swapped", "zero", "unmasked"
std::optional<IcrcKind> icrc_kind_by_name(std::string_view name);

// The number, as icrc() returns it, that this kind is over these bytes: what a frame's covered()
// is. There are many bad ones; this is one that no other kind has.
std::uint32_t icrc_of(IcrcKind kind, Bytes covered);

enum class UdpChecksumKind : std::uint8_t { Zero, Good, Bad };
// What a received frame has. One that a network card was to finish counts as good (ENC-06).
UdpChecksumKind udp_checksum_kind(const Frame& frame);

// One bit to flip: of a field (bit 0 is its least significant) or of a byte counted from the IP
// header's first (bit 0 is the byte's least significant).
struct Flip {
    std::variant<Field, std::size_t> where;
    std::uint8_t bit = 0;
};

struct Damage {
    std::optional<std::size_t> truncate; // bytes kept from the BTH on; lengths repaired, ICRC not
    std::optional<std::size_t> cut;      // bytes kept of the frame, nothing repaired
    std::size_t trailer = 0;             // bytes added after the UDP datagram
    bool untagged = false;               // the VLAN tag is taken away, if there is one
    std::vector<Flip> flips; // the IP header checksum is made right again unless it is the target
};

using FieldValue = std::variant<std::uint64_t, IpAddress, MacAddress>;

struct PacketSpec {
    struct Written {
        Field field;
        FieldValue value;
    };

    std::uint8_t opcode = 0;
    std::vector<Written> fields;                     // in the order in which they were written
    std::optional<std::vector<std::byte>> payload;   // instead of the sender's
    std::optional<std::vector<std::byte>> pad_bytes; // instead of zeros, and as many
    std::variant<IcrcKind, std::uint32_t> icrc = IcrcKind::Good; // a number: as Field::Icrc has it
    std::variant<UdpChecksumKind, std::uint16_t> udp_checksum = UdpChecksumKind::Zero;
    std::vector<std::byte> ip_options; // IPv4, a multiple of 4 bytes
    std::vector<Flip> inverted;        // after the writes; not of checksums, which cover them
    Damage damage;

    // The last value written for this field.
    [[nodiscard]] const FieldValue* written(Field field) const;
};

enum class SpecError : std::uint8_t {
    FieldNotInPacket, // the opcode's headers, or the IP family, do not have it
    ValueTooLarge,    // it does not fit the field's bits
    WrongKind,        // an address where a number belongs, or the other way round
    FrameTooLong,     // more than 65,535 bytes of IP
    FlipOutside,      // a bit beyond the frame
};
std::string_view text_of(SpecError error);

struct SpecFailure {
    SpecError error;
    std::optional<Field> field;
};

// The bytes of the frame, Ethernet header first.
std::expected<std::vector<std::byte>, SpecFailure> encode(const PacketSpec& spec,
                                                          const Sender& sender);

} // namespace veriroce::wire
