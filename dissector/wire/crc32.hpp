// CRC-32 of Ethernet and the ICRC, and CRC-32C, by ISA-L; and what ISA-L does not have: a copy that
// takes the CRC on its way, and a message of which some bits count as ones.
//
// Source: IEEE 802.3; V. Gopal et al., "Fast CRC Computation for Generic Polynomials Using
// PCLMULQDQ Instruction", Intel 2009.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <span>

#include "dissector/wire/bytes.hpp"

namespace veriroce::wire {

// The CRC of bytes that follow those whose CRC is `seed`; of the first ones, 0.
std::uint32_t crc32(std::uint32_t seed, Bytes bytes);

// The same, while the bytes are copied to `to`, which has room for them and does not overlap them.
// Each byte is read once: the copy has this CRC even if somebody writes to the bytes meanwhile.
std::uint32_t copy_crc32(std::uint32_t seed, Bytes bytes, MutableBytes to);

// The same without the instructions that not every processor has.
std::uint32_t copy_crc32_portably(std::uint32_t seed, Bytes bytes, MutableBytes to);

// How a message begins of which some bits count as ones, whatever they are, and which follows bytes
// whose CRC is `seed`. Made once for many messages.
class MaskedHead {
  public:
    static constexpr std::size_t kMost = 64; // bytes, of which at least four

    constexpr MaskedHead(std::uint32_t seed, std::span<const std::byte> ones)
        : seed_(seed), size_(ones.size()) {
        assert(size_ >= 4 && size_ <= kMost);
        std::ranges::copy(ones, ones_.begin() + kMost);
        for (unsigned i = 0; i < 4; ++i)
            begun_[kMost + i] = static_cast<std::byte>(~seed >> 8 * i & 0xFF);
    }

    [[nodiscard]] constexpr std::uint32_t seed() const { return seed_; }
    [[nodiscard]] constexpr std::size_t size() const { return size_; }
    // The bits that count as ones, and those that the seed turns over, from `at` on, which may also
    // be before the message or after the head: kMost bytes can be read there.
    [[nodiscard]] constexpr const std::byte* ones(std::ptrdiff_t at) const {
        return &ones_[place(at)];
    }
    [[nodiscard]] constexpr const std::byte* begun(std::ptrdiff_t at) const {
        return &begun_[place(at)];
    }

  private:
    using Bits = std::array<std::byte, 3 * kMost>; // zeros before the message and after it
    static constexpr std::size_t place(std::ptrdiff_t at) {
        constexpr auto most = static_cast<std::ptrdiff_t>(kMost);
        assert(at >= -most && at <= most);
        return static_cast<std::size_t>(at + most);
    }

    std::uint32_t seed_;
    std::size_t size_;
    Bits ones_{};
    Bits begun_{};
};

// The CRC of a message that begins so; it has at least as many bytes.
std::uint32_t crc32(const MaskedHead& head, Bytes message);
// The same without the instructions that not every processor has.
std::uint32_t crc32_portably(const MaskedHead& head, Bytes message);

} // namespace veriroce::wire
