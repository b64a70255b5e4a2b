// The CRC that is taken on the way of a copy is the CRC of the bytes, and the copy is the bytes.
#include <catch2/catch.hpp>

#include <algorithm>
#include <random>
#include <vector>

#include "dissector/wire/crc32.hpp"

using namespace veriroce::wire;

namespace {

std::vector<std::byte> noise(std::size_t size, std::mt19937& random) {
    std::vector<std::byte> bytes(size);
    std::ranges::generate(bytes, [&] { return static_cast<std::byte>(random()); });
    return bytes;
}

using CopyCrc = std::uint32_t (*)(std::uint32_t, Bytes, MutableBytes);

// Copied after `offset` bytes that must stay, as must those that follow.
bool right(CopyCrc copy, std::uint32_t seed, Bytes bytes, std::size_t offset) {
    constexpr std::size_t fence = 64;
    constexpr std::byte untouched{0xA5};
    std::vector<std::byte> out(offset + bytes.size() + fence, untouched);
    const std::uint32_t crc = copy(seed, bytes, MutableBytes(out).subspan(offset));
    const auto is_untouched = [](std::byte byte) { return byte == untouched; };
    const auto copied = Bytes(out).subspan(offset, bytes.size());
    return crc == crc32(seed, bytes) && std::ranges::equal(copied, bytes) &&
           std::ranges::all_of(Bytes(out).first(offset), is_untouched) &&
           std::ranges::all_of(Bytes(out).last(fence), is_untouched);
}

} // namespace

TEST_CASE("the CRC of a known text") {
    // The check value of CRC-32 in every catalogue of CRCs.
    const auto text = std::as_bytes(std::span("123456789").first<9>());
    CHECK(crc32(0, text) == 0xCBF43926);
    CHECK(crc32(crc32(0, text.first(4)), text.subspan(4)) == 0xCBF43926);
    CHECK(crc32(0x12345678, {}) == 0x12345678);
}

TEST_CASE("a copy has the CRC of its bytes, of any length, anywhere") {
    const CopyCrc copy = GENERATE(CopyCrc{copy_crc32}, CopyCrc{copy_crc32_portably});
    std::mt19937 random(4791);
    const auto bytes = noise(5000, random);
    std::size_t wrong = 0;
    for (std::size_t size = 0; size <= 4700; ++size) {
        const std::size_t begin = random() % 64;
        const auto piece = Bytes(bytes).subspan(begin, size);
        const auto seed = static_cast<std::uint32_t>(random());
        if (!right(copy, seed, piece, random() % 64)) ++wrong;
    }
    CHECK(wrong == 0);
}

TEST_CASE("each bit of the bytes and of the seed counts") {
    std::mt19937 random(17);
    auto bytes = noise(1024, random);
    std::vector<std::byte> out(bytes.size());
    const std::uint32_t seed = 0x2144DF1C;
    const std::uint32_t before = copy_crc32(seed, bytes, out);
    std::size_t unseen = 0;
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
        const auto mask = static_cast<std::byte>(1U << bit % 8);
        bytes[bit / 8] ^= mask;
        if (copy_crc32(seed, bytes, out) == before) ++unseen;
        bytes[bit / 8] ^= mask;
    }
    for (unsigned bit = 0; bit < 32; ++bit)
        if (copy_crc32(seed ^ 1U << bit, bytes, out) == before) ++unseen;
    CHECK(unseen == 0);
}

namespace {

// Byte by byte, nothing at once.
std::uint32_t crc_of_masked(std::uint32_t seed, Bytes ones, Bytes message) {
    std::vector<std::byte> masked(message.begin(), message.end());
    for (std::size_t i = 0; i < ones.size(); ++i)
        masked[i] |= ones[i];
    return crc32(seed, masked);
}

} // namespace

TEST_CASE("a message whose head is masked has the CRC of the masked bytes, of any length") {
    using MaskedCrc = std::uint32_t (*)(const MaskedHead&, Bytes);
    const MaskedCrc masked_crc = GENERATE(MaskedCrc{crc32}, MaskedCrc{crc32_portably});
    std::mt19937 random(4791);
    const auto bytes = noise(3000, random);
    std::size_t wrong = 0;
    for (const std::size_t head_bytes : {4U, 40U, 60U, 61U, 63U, 64U}) {
        const auto seed = static_cast<std::uint32_t>(random());
        const auto ones = noise(head_bytes, random);
        const MaskedHead head(seed, ones);
        for (std::size_t size = head_bytes; size <= 1500; ++size) {
            // Each at the end of its own memory, so that a read beyond it is seen.
            const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(random() % 1000);
            const std::vector<std::byte> message(begin, begin + static_cast<std::ptrdiff_t>(size));
            if (masked_crc(head, message) != crc_of_masked(seed, ones, message)) ++wrong;
        }
    }
    CHECK(wrong == 0);
}
