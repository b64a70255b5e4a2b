#include "conformance/dut/pattern.hpp"

#include <algorithm>

#include "dissector/wire/splitmix64.hpp"

namespace veriroce::dut {

namespace {

// The 8-byte word at offset 8 * index, as a number whose most significant byte comes first.
constexpr std::uint64_t word(Pattern pattern, std::uint64_t index, std::uint64_t key) {
    switch (pattern) {
    case Pattern::Zero: return 0;
    case Pattern::Ones: return ~std::uint64_t{0};
    case Pattern::Offsets: return index * 8 + key;
    case Pattern::Random: return wire::splitmix64_mix(index + (key << 32U) + wire::kSplitmix64Step);
    }
    return 0;
}

constexpr std::byte byte_of(std::uint64_t value, std::uint64_t offset) {
    return static_cast<std::byte>(value >> (8 * (7 - offset % 8)));
}

// One loop for each pattern: regions are filled for each case, twice.
template <Pattern pattern>
void write_words(wire::MutableBytes bytes, std::uint64_t offset, std::uint64_t key) {
    std::size_t at = 0;
    for (; at < bytes.size() && (offset + at) % 8 != 0; ++at)
        bytes[at] = pattern_byte(pattern, offset + at, key);
    for (std::uint64_t index = (offset + at) / 8; at + 8 <= bytes.size(); at += 8, ++index)
        wire::store_be<8>(bytes, at, word(pattern, index, key));
    for (; at < bytes.size(); ++at)
        bytes[at] = pattern_byte(pattern, offset + at, key);
}

} // namespace

std::byte pattern_byte(Pattern pattern, std::uint64_t offset, std::uint64_t key) {
    return byte_of(word(pattern, offset / 8, key), offset);
}

void write_pattern(wire::MutableBytes bytes, Pattern pattern, std::uint64_t offset,
                   std::uint64_t key) {
    switch (pattern) {
    case Pattern::Zero: std::ranges::fill(bytes, std::byte{0}); return;
    case Pattern::Ones: std::ranges::fill(bytes, std::byte{0xFF}); return;
    case Pattern::Offsets: return write_words<Pattern::Offsets>(bytes, offset, key);
    case Pattern::Random: return write_words<Pattern::Random>(bytes, offset, key);
    }
}

std::optional<std::size_t> pattern_mismatch(wire::Bytes bytes, Pattern pattern,
                                            std::uint64_t offset, std::uint64_t key) {
    std::uint64_t value = word(pattern, offset / 8, key);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        const std::uint64_t here = offset + at;
        if (here % 8 == 0) value = word(pattern, here / 8, key);
        if (bytes[at] != byte_of(value, here)) return at;
    }
    return std::nullopt;
}

} // namespace veriroce::dut
