// Big-endian loads and stores on byte spans. The caller has checked the length; these assert it.
#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace veriroce::wire {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

namespace detail {

// The unsigned integer of exactly N bytes; void where the machine has none.
template <std::size_t N>
using Word = std::conditional_t<
    N == 1, std::uint8_t,
    std::conditional_t<N == 2, std::uint16_t,
                       std::conditional_t<N == 4, std::uint32_t,
                                          std::conditional_t<N == 8, std::uint64_t, void>>>>;

template <typename T>
T from_or_to_be(T value) {
    return std::endian::native == std::endian::big ? value : std::byteswap(value);
}

} // namespace detail

// One machine word where N has one: g++ 12 makes loops of shifts neither into one at -O2.
template <std::size_t N>
constexpr std::uint64_t load_be(Bytes bytes, std::size_t offset) {
    static_assert(N >= 1 && N <= 8);
    assert(offset + N <= bytes.size());
    if constexpr (!std::is_void_v<detail::Word<N>>) {
        if !consteval {
            detail::Word<N> value = 0;
            std::memcpy(&value, bytes.data() + offset, N);
            return detail::from_or_to_be(value);
        }
    }
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
    if constexpr (!std::is_void_v<detail::Word<N>>) {
        if !consteval {
            const auto word = detail::from_or_to_be(static_cast<detail::Word<N>>(value));
            std::memcpy(bytes.data() + offset, &word, N);
            return;
        }
    }
    for (std::size_t i = 0; i < N; ++i) {
        bytes[offset + i] = static_cast<std::byte>(value >> (8 * (N - 1 - i)));
    }
}

// Both have N bytes.
template <std::size_t N>
constexpr void copy(Bytes from, MutableBytes to) {
    assert(N <= from.size() && N <= to.size());
    if !consteval {
        std::memcpy(to.data(), from.data(), N);
        return;
    }
    for (std::size_t i = 0; i < N; ++i)
        to[i] = from[i];
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
