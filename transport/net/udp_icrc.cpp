#include "transport/net/udp_icrc.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

#include "dissector/wire/bth.hpp"
#include "dissector/wire/icrc.hpp"
#include "transport/net/udp_link.hpp"

namespace veriroce::net {

namespace {

// CRC-32 as polynomials over GF(2), where bit 31 is x^0: a zero bit multiplies the register by x.
constexpr std::uint32_t kPolynomial = 0xEDB88320;
constexpr std::uint32_t kOne = 0x80000000;

constexpr std::uint32_t times_x(std::uint32_t a) {
    return (a & 1U) != 0 ? a >> 1U ^ kPolynomial : a >> 1U;
}

constexpr std::uint32_t divided_by_x(std::uint32_t a) {
    return (a & kOne) != 0 ? (a ^ kPolynomial) << 1U | 1U : a << 1U;
}

constexpr std::uint32_t product(std::uint32_t a, std::uint32_t b) {
    std::uint32_t sum = 0;
    for (std::uint32_t bit = kOne; bit != 0; bit >>= 1U) {
        if ((a & bit) != 0) sum ^= b;
        b = times_x(b);
    }
    return sum;
}

constexpr std::size_t kLengthBits = 17; // of the length of a datagram with headers

// x to the power of -8, -16, -32, ...: moves the register back by 1, 2, 4, ... bytes.
constexpr auto kBack = [] {
    std::array<std::uint32_t, kLengthBits> powers{};
    std::uint32_t power = kOne;
    for (int bit = 0; bit < 8; ++bit)
        power = divided_by_x(power);
    for (auto& entry : powers) {
        entry = power;
        power = product(power, power);
    }
    return powers;
}();

std::uint32_t back(std::size_t bytes) {
    std::uint32_t factor = kOne;
    for (std::size_t bit = 0; bit < kLengthBits; ++bit) {
        if ((bytes >> bit & 1U) != 0) factor = product(factor, kBack[bit]);
    }
    return factor;
}

constexpr std::size_t kEthernetBytes = wire::Ethernet::kSize;
constexpr std::size_t kIdAt = 4; // in the IPv4 header

} // namespace

void IcrcHeaders::describe(const wire::Envelope& envelope, std::size_t transport_bytes) {
    if (outer_bytes_ != 0 && transport_bytes == transport_bytes_ && envelope == envelope_) return;
    envelope_ = envelope;
    transport_bytes_ = transport_bytes;
    auto untagged = envelope;
    untagged.vlan.reset();
    outer_bytes_ =
        wire::write_outer({}, untagged, 0, {}, transport_bytes + wire::kIcrcBytes, bytes_) -
        kEthernetBytes;
}

std::uint32_t IcrcHeaders::icrc(std::uint16_t id, wire::Bytes head, wire::Bytes rest) {
    assert(outer_bytes_ != 0 && head.size() <= kMostHeadBytes);
    const auto ip = wire::MutableBytes(bytes_).subspan(kEthernetBytes);
    if (envelope_.destination.v4()) wire::store_be<2>(ip, kIdAt, id);
    std::copy_n(head.data(), head.size(), ip.data() + outer_bytes_);
    return wire::icrc(ip.first(outer_bytes_ + head.size()), rest);
}

std::optional<std::uint16_t> IcrcHeaders::id_between(std::uint32_t difference) {
    if (!envelope_.destination.v4()) return std::nullopt;
    const std::size_t bytes = outer_bytes_ - kIdAt + transport_bytes_;
    if (bytes != back_to_id_bytes_) {
        back_to_id_ = back(bytes);
        back_to_id_bytes_ = bytes;
    }
    // The register's difference before the identification was added: it must be limited to two
    // bytes.
    const std::uint32_t before = product(difference, back_to_id_);
    if (before > 0xFFFF) return std::nullopt;
    return static_cast<std::uint16_t>(before << 8U | before >> 8U);
}

void IcrcCheck::begin_message() {
    other_ = next_; // the rest of a run that was split over two messages
    next_ = 0;
    counts_up_ = true;
    first_ = true;
}

IcrcVerdict IcrcCheck::judge(const wire::Envelope& envelope, wire::Bytes transport,
                             std::uint32_t icrc) {
    headers_.describe(envelope, transport.size());
    const auto expected = headers_.icrc(next_, transport.first(wire::Bth::kSize),
                                        transport.subspan(wire::Bth::kSize));
    std::uint16_t id = next_;
    auto verdict = IcrcVerdict::ExpectedId;
    if (icrc != expected) {
        verdict = IcrcVerdict::Wrong;
        if (const auto between = headers_.id_between(icrc ^ expected)) {
            const auto found = static_cast<std::uint16_t>(next_ ^ *between);
            if (found == other_) verdict = IcrcVerdict::ExpectedId;
            if (found != other_ && !expected_only_) verdict = IcrcVerdict::SomeId;
            if (verdict != IcrcVerdict::Wrong) id = found;
        }
        // All identifications equal: the kernel's other rule for joining datagrams.
        if (verdict == IcrcVerdict::ExpectedId && !first_) counts_up_ = false;
    }
    first_ = false;
    other_ = id;
    next_ = static_cast<std::uint16_t>(id + (counts_up_ ? 1 : 0));
    return verdict;
}

std::uint32_t icrc_with_zeros(std::uint32_t icrc, std::size_t count) {
    std::uint32_t crc = ~icrc;
    for (std::size_t bit = 0; bit < 8 * count; ++bit)
        crc = times_x(crc);
    return ~crc;
}

std::optional<std::uint16_t> icrc_matches_some_id(const wire::Envelope& envelope,
                                                  wire::Bytes transport, std::uint32_t icrc) {
    IcrcHeaders headers;
    headers.describe(envelope, transport.size());
    const auto head = transport.first(std::min(transport.size(), wire::Bth::kSize));
    const auto with_zero = headers.icrc(0, head, transport.subspan(head.size()));
    if (icrc == with_zero) return 0;
    return headers.id_between(icrc ^ with_zero);
}

} // namespace veriroce::net
