// Inside this room: the ICRC of a datagram whose IP and UDP headers the kernel writes, or has taken
// off: they are made here once more, for the ICRC alone.
//
// The ICRC covers the IPv4 identification, which a UDP socket neither chooses nor sees. CRC is
// linear, so that two ICRCs of one datagram under two identifications differ by the image of 16
// bits: id_between() turns the difference back into them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "dissector/wire/frame.hpp"

namespace veriroce::net {

// The IP and UDP headers of datagrams from one sender to one receiver. Datagrams of one length and
// envelope, one after the other, cost no more than their CRC.
class IcrcHeaders {
  public:
    // `transport_bytes` run from the BTH to the last pad byte.
    void describe(const wire::Envelope& envelope, std::size_t transport_bytes);

    // Of `head` and `rest`, together as long as was described. `head` must hold the BTH, if there
    // is one, and at most kMostHeadBytes bytes.
    std::uint32_t icrc(std::uint16_t id, wire::Bytes head, wire::Bytes rest);

    // Which identification has this difference to identification 0; nothing if none has, as always
    // for IPv6, where there is none.
    std::optional<std::uint16_t> id_between(std::uint32_t difference);

    static constexpr std::size_t kMostHeadBytes = 64;

  private:
    wire::Envelope envelope_;
    std::size_t transport_bytes_ = 0;
    std::size_t outer_bytes_ = 0;      // IP and UDP; 0: nothing described yet
    std::uint32_t back_to_id_ = 0;     // x to the minus bits between identification and end
    std::size_t back_to_id_bytes_ = 0; // for which that was computed; 0: for none
    std::array<std::byte, 14 + 40 + 8 + kMostHeadBytes> bytes_{}; // Ethernet is written, not used
};

enum class IcrcVerdict : std::uint8_t {
    Wrong,
    SomeId,     // right for an identification that was not expected: 16 bits were checked
    ExpectedId, // right for one that was expected, or IPv6: (nearly) all 32 were
};

// Judges the ICRCs of received datagrams. The kernel joins datagrams into one message only if their
// identifications count up by one or are all the same. Expected is of the first one 0, as all of
// ours have, or what follows the message before; of the others what follows the one before them, or
// the same. With two values that are right, 31 of the 32 bits are checked.
class IcrcCheck {
  public:
    // With `expected_only` no other identification is looked for.
    explicit IcrcCheck(bool expected_only) : expected_only_(expected_only) {}

    // The next datagram is the first of a message.
    void begin_message();
    // `transport` runs from the BTH to the last pad byte and has at least a BTH.
    IcrcVerdict judge(const wire::Envelope& envelope, wire::Bytes transport, std::uint32_t icrc);

  private:
    bool expected_only_ = false;
    IcrcHeaders headers_;
    std::uint16_t next_ = 0;  // expected
    std::uint16_t other_ = 0; // expected as well
    bool counts_up_ = true;
    bool first_ = true;
};

// The ICRC of what `icrc` is of and `count` more zero bytes.
std::uint32_t icrc_with_zeros(std::uint32_t icrc, std::size_t count);

} // namespace veriroce::net
