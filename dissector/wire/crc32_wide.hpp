// CRC-32 by carry-less multiplication of 64 bytes at once (AVX-512), for the two sums that ISA-L
// does not have. Internal to crc32.cpp, which takes the portable ones where this processor cannot.
#pragma once

#include "dissector/wire/crc32.hpp"

namespace veriroce::wire {

// ISA-L is at its best with multiples of this, as payloads mostly are: what is more goes with the
// head.
inline constexpr std::size_t kIsalBlock = 256;

namespace wide {

extern const bool kAvailable;

// How many of the first bytes copy_crc32() can take; 0 if it is not worth beginning.
constexpr std::size_t foldable(std::size_t bytes) {
    constexpr std::size_t kBlock = 256;
    return bytes < 2 * kBlock ? 0 : bytes / kBlock * kBlock;
}

// The CRC of bytes while they are copied to `to`; their number is what foldable() returns.
std::uint32_t copy_crc32(std::uint32_t seed, Bytes bytes, MutableBytes to);

// The CRC of a message that begins so; of at most MaskedHead::kMost + kIsalBlock bytes.
std::uint32_t crc32(const MaskedHead& head, Bytes message);

} // namespace wide
} // namespace veriroce::wire
