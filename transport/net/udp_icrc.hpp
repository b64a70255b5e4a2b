// Internal: the ICRC of a datagram whose IP and UDP headers the kernel writes, or has removed. The
// headers are rebuilt here for the ICRC.
//
// The ICRC covers the IPv4 identification, which a UDP socket can neither set nor read. CRC is
// linear, so two ICRCs of one datagram with two identifications differ by a linear image of 16
// bits. id_between() inverts that image.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "dissector/wire/frame.hpp"

namespace veriroce::net {

// The IP and UDP headers of datagrams from one sender to one receiver. Consecutive datagrams with
// the same length and envelope cost only their CRC.
class IcrcHeaders {
  public:
    // `transport_bytes` counts from the BTH to the last pad byte.
    void describe(const wire::Envelope& envelope, std::size_t transport_bytes);

    // The ICRC over `head` and `rest`, which together have the described length. `head` must
    // contain the BTH, if there is one, and have at most kMostHeadBytes bytes.
    std::uint32_t icrc(std::uint16_t id, wire::Bytes head, wire::Bytes rest);

    // The identification that causes this difference from identification 0. Empty if there is none,
    // as always for IPv6.
    std::optional<std::uint16_t> id_between(std::uint32_t difference);

    static constexpr std::size_t kMostHeadBytes = 64;

  private:
    wire::Envelope envelope_;
    std::size_t transport_bytes_ = 0;
    std::size_t outer_bytes_ = 0; // IP and UDP; 0: describe() was not called yet
    // x to the negative number of bits from the identification to the end.
    std::uint32_t back_to_id_ = 0;
    std::size_t back_to_id_bytes_ = 0; // the length that back_to_id_ was computed for; 0: none
    // Space for Ethernet is reserved but unused.
    std::array<std::byte, 14 + 40 + 8 + kMostHeadBytes> bytes_{};
};

enum class IcrcVerdict : std::uint8_t {
    Wrong,
    SomeId,     // correct for an unexpected identification: a 16-bit check
    ExpectedId, // correct for an expected identification, or IPv6: a check of (nearly) all 32 bits
};

// Checks the ICRCs of received datagrams. The kernel joins datagrams into one message only if their
// identifications increase by one or are all equal. Expected for the first datagram of a message:
// 0, which our senders use, or the identification after the previous message. Expected for the
// others: the previous identification plus one, or the same. With two accepted values the check has
// 31 bits.
class IcrcCheck {
  public:
    // With `expected_only`, unexpected identifications are not tried.
    explicit IcrcCheck(bool expected_only) : expected_only_(expected_only) {}

    // The next datagram is the first of a message.
    void begin_message();
    // `transport` is from the BTH to the last pad byte and has at least a BTH.
    IcrcVerdict judge(const wire::Envelope& envelope, wire::Bytes transport, std::uint32_t icrc);

  private:
    bool expected_only_ = false;
    IcrcHeaders headers_;
    std::uint16_t next_ = 0;  // expected
    std::uint16_t other_ = 0; // also expected
    bool counts_up_ = true;
    bool first_ = true;
};

// Extends `icrc` by `count` zero bytes.
std::uint32_t icrc_with_zeros(std::uint32_t icrc, std::size_t count);

} // namespace veriroce::net
