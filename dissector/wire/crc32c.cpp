#include "dissector/wire/crc32c.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace veriroce::wire {

namespace {

static_assert(std::endian::native == std::endian::little);

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

// Table k has the effect of a byte with k more bytes after it ("slicing by 8").
constexpr Tables make_tables() {
    Tables tables{};
    for (std::uint32_t i = 0; i < 256; ++i) {
        std::uint32_t crc = i;
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc & 1U) != 0 ? crc >> 1U ^ 0x82F63B78U : crc >> 1U;
        }
        tables[0][i] = crc;
    }
    for (std::size_t k = 1; k < tables.size(); ++k) {
        for (std::size_t i = 0; i < 256; ++i) {
            const std::uint32_t before = tables[k - 1][i];
            tables[k][i] = before >> 8U ^ tables[0][before & 0xFFU];
        }
    }
    return tables;
}

constexpr Tables kTables = make_tables();

constexpr std::uint32_t next(std::uint32_t crc, std::byte byte) {
    return crc >> 8U ^ kTables[0][(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xFFU];
}

} // namespace

std::uint32_t crc32c(Bytes bytes, std::uint32_t previous) {
    std::uint32_t crc = ~previous;
    while (bytes.size() >= 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data(), sizeof word);
        word ^= crc;
        crc = 0;
        for (std::size_t k = 0; k < 8; ++k)
            crc ^= kTables[7 - k][(word >> (8 * k)) & 0xFFU];
        bytes = bytes.subspan(8);
    }
    for (const std::byte byte : bytes)
        crc = next(crc, byte);
    return ~crc;
}

} // namespace veriroce::wire
