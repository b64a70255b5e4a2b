// Big-endian loads and stores on byte spans. The caller has checked the length; these assert it.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

namespace veriroce::wire {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

template <std::size_t N>
constexpr std::uint64_t load_be(Bytes bytes, std::size_t offset) {
    static_assert(N >= 1 && N <= 8);
    assert(offset + N <= bytes.size());
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < N; ++i) {
        value = value << 8 | std::to_integer<std::uint64_t>(bytes[offset + i]);
    }
    return value;
}

template <std::size_t N>
constexpr void store_be(MutableBytes bytes, std::size_t offset, std::uint64_t value) {
    static_assert(N >= 1 && N <= 8);
    assert(offset + N <= bytes.size());
    for (std::size_t i = 0; i < N; ++i) {
        bytes[offset + i] = static_cast<std::byte>(value >> (8 * (N - 1 - i)));
    }
}

constexpr std::uint8_t load_u8(Bytes b, std::size_t at) {
    return static_cast<std::uint8_t>(load_be<1>(b, at));
}
constexpr std::uint16_t load_u16(Bytes b, std::size_t at) {
    return static_cast<std::uint16_t>(load_be<2>(b, at));
}
constexpr std::uint32_t load_u24(Bytes b, std::size_t at) {
    return static_cast<std::uint32_t>(load_be<3>(b, at));
}
constexpr std::uint32_t load_u32(Bytes b, std::size_t at) {
    return static_cast<std::uint32_t>(load_be<4>(b, at));
}
constexpr std::uint64_t load_u64(Bytes b, std::size_t at) {
    return load_be<8>(b, at);
}

} // namespace veriroce::wire
