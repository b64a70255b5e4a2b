// CRC-32C against published check values.
#include "dissector/wire/crc32c.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <vector>

using veriroce::wire::crc32c;

TEST_CASE("crc32c: the check values of RFC 3720 and of the catalogue of CRCs", "[wire]") {
    std::vector<std::byte> bytes(32);
    CHECK(crc32c(bytes) == 0x8A9136AA);
    std::ranges::fill(bytes, std::byte{0xFF});
    CHECK(crc32c(bytes) == 0x62A8AB43);
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::byte>(i);
    CHECK(crc32c(bytes) == 0x46DD794E);
    CHECK(crc32c(std::as_bytes(std::span("123456789", 9))) == 0xE3069283);
    CHECK(crc32c({}) == 0);
    CHECK(crc32c(std::span(bytes).subspan(13), crc32c(std::span(bytes).first(13))) == 0x46DD794E);
}
