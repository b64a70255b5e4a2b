// Identifiers of the InfiniBand transport as types of their own, so that a PSN cannot be passed
// where a QPN is meant.
//
// Source: rules RSP-08, RSP-09 (PSN arithmetic); style: every identifier is a strong type.
#pragma once

#include <compare>
#include <cstdint>

namespace veriroce::wire {

// A value of its own type: comparable with its kind, and with nothing else.
template <typename Tag, typename T>
struct Identifier {
    T value{};

    friend constexpr bool operator==(Identifier, Identifier) = default;
    friend constexpr auto operator<=>(Identifier, Identifier) = default;
};

using Qpn = Identifier<struct QpnTag, std::uint32_t>;   // 24 bits
using Msn = Identifier<struct MsnTag, std::uint32_t>;   // 24 bits
using Rkey = Identifier<struct RkeyTag, std::uint32_t>; // 32 bits
using Lkey = Identifier<struct LkeyTag, std::uint32_t>; // 32 bits
using Pkey = Identifier<struct PkeyTag, std::uint16_t>; // 16 bits; bit 15 is full membership
using Qkey = Identifier<struct QkeyTag, std::uint32_t>; // 32 bits

inline constexpr std::uint32_t kMask24 = 0xFFFFFF;
inline constexpr Pkey kDefaultPkey{0xFFFF};

// A packet sequence number: 24 bits, circular. There is no `<`, because on a circle nothing is
// less; `distance` says how far one PSN is ahead of another.
class Psn {
  public:
    constexpr Psn() = default;
    constexpr explicit Psn(std::uint32_t value) : value_(value & kMask24) {}

    [[nodiscard]] constexpr std::uint32_t value() const { return value_; }

    friend constexpr bool operator==(Psn, Psn) = default;
    friend constexpr Psn operator+(Psn psn, std::int64_t n) {
        return Psn(static_cast<std::uint32_t>(static_cast<std::int64_t>(psn.value_) + n));
    }
    friend constexpr Psn operator-(Psn psn, std::int64_t n) { return psn + (-n); }
    constexpr Psn& operator+=(std::int64_t n) { return *this = *this + n; }

  private:
    std::uint32_t value_ = 0;
};

// How far `to` is ahead of `from`, in -2^23 .. 2^23-1. Exactly half the circle away counts as
// behind (RSP-08: within 2 of that edge devices differ, and no rule applies there).
constexpr std::int32_t distance(Psn from, Psn to) {
    const std::uint32_t forward = (to.value() - from.value()) & kMask24;
    return forward < 0x800000 ? static_cast<std::int32_t>(forward)
                              : static_cast<std::int32_t>(forward) - 0x1000000;
}

constexpr Msn operator+(Msn msn, std::int64_t n) {
    return {static_cast<std::uint32_t>(static_cast<std::int64_t>(msn.value) + n) & kMask24};
}

// The path MTU: payload bytes of a full packet.
enum class Mtu : std::uint16_t { B256 = 256, B512 = 512, B1024 = 1024, B2048 = 2048, B4096 = 4096 };

constexpr std::uint32_t bytes_of(Mtu mtu) {
    return static_cast<std::uint32_t>(mtu);
}

// How many packets a message of this many bytes takes: at least one (RSP-01, N-36).
constexpr std::uint32_t packets_of(std::uint64_t bytes, Mtu mtu) {
    const std::uint64_t size = bytes_of(mtu);
    return bytes == 0 ? 1U : static_cast<std::uint32_t>((bytes + size - 1) / size);
}

// Pad bytes after a payload of this many bytes (BTH-09).
constexpr std::uint8_t pad_of(std::uint64_t bytes) {
    return static_cast<std::uint8_t>((4 - bytes % 4) % 4);
}

} // namespace veriroce::wire
