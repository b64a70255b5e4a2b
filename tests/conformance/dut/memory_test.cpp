// Patterns, and regions between their guards.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>

#include "conformance/dut/pattern.hpp"
#include "conformance/dut/region_memory.hpp"

namespace {

using namespace veriroce;
using namespace veriroce::dut;

std::vector<std::byte> bytes_of(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

constexpr std::array patterns{Pattern::Zero, Pattern::Ones, Pattern::Offsets, Pattern::Random};

} // namespace

TEST_CASE("pattern: offsets holds the byte's own offset plus the key", "[dut]") {
    std::array<std::byte, 24> bytes{};
    write_pattern(bytes, Pattern::Offsets, 0, 0x1000);
    CHECK(wire::load_u64(bytes, 0) == 0x1000);
    CHECK(wire::load_u64(bytes, 8) == 0x1008);
    CHECK(wire::load_u64(bytes, 16) == 0x1010);
    CHECK(pattern_byte(Pattern::Offsets, 23, 0x1000) == std::byte{0x10});
}

TEST_CASE("pattern: zero and ones are what they say", "[dut]") {
    CHECK(pattern_byte(Pattern::Zero, 77, 5) == std::byte{0});
    CHECK(pattern_byte(Pattern::Ones, 77, 5) == std::byte{0xFF});
}

TEST_CASE("pattern: random is the first outputs of splitmix64", "[dut]") {
    // With key 0 word k is the output of the generator seeded with k: known for seed 0.
    std::array<std::byte, 8> bytes{};
    write_pattern(bytes, Pattern::Random, 0, 0);
    CHECK(wire::load_u64(bytes, 0) == 0xE220A8397B1DCDAF);
    CHECK(pattern_byte(Pattern::Random, 0, 1) != std::byte{0xE2});
}

TEST_CASE("pattern: however a range is cut, its bytes are the region's", "[dut]") {
    std::array<std::byte, 64> whole{};
    for (const auto pattern : patterns) {
        write_pattern(whole, pattern, 40, 9);
        for (std::size_t from = 0; from < 20; ++from) {
            for (std::size_t length = 0; length <= 20; ++length) {
                std::vector<std::byte> piece(length);
                write_pattern(piece, pattern, 40 + from, 9);
                REQUIRE(std::ranges::equal(piece, std::span(whole).subspan(from, length)));
                REQUIRE_FALSE(pattern_mismatch(piece, pattern, 40 + from, 9));
            }
        }
    }
}

TEST_CASE("pattern: the first byte that differs is found", "[dut]") {
    std::array<std::byte, 40> bytes{};
    for (const auto pattern : patterns) {
        write_pattern(bytes, pattern, 3, 1);
        bytes[29] ^= std::byte{1};
        bytes[33] ^= std::byte{1};
        CHECK(pattern_mismatch(bytes, pattern, 3, 1) == 29U);
    }
}

TEST_CASE("pattern: names lead to patterns and back", "[dut]") {
    for (const auto pattern : patterns)
        CHECK(wire::enum_by_name<Pattern>(name_of(pattern)) == pattern);
    CHECK_FALSE(wire::enum_by_name<Pattern>("Zero"));
}

TEST_CASE("region: page aligned, zeroed, between guards that are whole", "[dut]") {
    auto region = RegionMemory::allocate(5000);
    REQUIRE(region);
    CHECK(reinterpret_cast<std::uintptr_t>(region->bytes().data()) % 4096 == 0);
    CHECK(region->bytes().size() == 5000);
    CHECK(std::ranges::all_of(region->bytes(), [](auto byte) { return byte == std::byte{0}; }));
    CHECK(region->guards_intact());
    std::ranges::fill(region->bytes(), std::byte{0x5A});
    CHECK(region->guards_intact());
}

TEST_CASE("region: one byte written before or behind it is seen", "[dut]") {
    for (const std::ptrdiff_t at : {-4096, -1, 5000, 8191, 8192, 12287}) {
        auto region = RegionMemory::allocate(5000);
        REQUIRE(region);
        region->bytes().data()[at] ^= std::byte{0x80};
        INFO(at);
        CHECK_FALSE(region->guards_intact());
        const auto digest = region->digest({.mr = {}, .offset = 0, .length = 0});
        REQUIRE(digest);
        CHECK(digest->guard_before.has_value() == (at < 0));
        CHECK(digest->guard_behind.has_value() == (at > 0));
        CHECK(digest->guard_before.value_or(0) == static_cast<std::uint64_t>(at < 0 ? -at : 0));
        CHECK(digest->guard_behind.value_or(0) == static_cast<std::uint64_t>(at < 0 ? 0 : at));
        CHECK_FALSE(region->digest({.mr = {}, .offset = 0, .length = 1})->guards_intact);
    }
}

TEST_CASE("region: read, write, fill and digest stay inside", "[dut]") {
    auto region = RegionMemory::allocate(16);
    REQUIRE(region);
    REQUIRE(region->write({.mr = {}, .offset = 7, .data = bytes_of("123456789")}));
    CHECK(region->read({.mr = {}, .offset = 14, .length = 2})->data == bytes_of("89"));
    CHECK(region->digest({.mr = {}, .offset = 7, .length = 9})->crc32c == 0xE3069283);
    CHECK(region->read({.mr = {}, .offset = 16, .length = 0})->data.empty());
    REQUIRE(
        region->fill({.mr = {}, .offset = 4, .length = 12, .pattern = Pattern::Offsets, .key = 1}));
    CHECK(wire::load_u64(region->bytes(), 8) == 9);

    constexpr auto beyond = "offset 8 + length 9 is beyond the region's 16 bytes";
    CHECK(region->read({.mr = {}, .offset = 8, .length = 9}).error().message == beyond);
    CHECK(region->write({.mr = {}, .offset = 8, .data = bytes_of("123456789")}).error().message ==
          beyond);
    CHECK(region->fill({.mr = {}, .offset = 8, .length = 9}).error().message == beyond);
    CHECK(region->digest({.mr = {}, .offset = 8, .length = 9}).error().message == beyond);
    const auto wrapped = region->read({.mr = {}, .offset = 1, .length = ~std::uint64_t{0}});
    REQUIRE_FALSE(wrapped);
    CHECK(wrapped.error().code == -32602);
}

TEST_CASE("region: a moved region is the same memory", "[dut]") {
    auto region = RegionMemory::allocate(8);
    REQUIRE(region);
    const auto* first = region->bytes().data();
    RegionMemory moved = std::move(*region);
    CHECK(moved.bytes().data() == first);
    CHECK(moved.guards_intact());
}
