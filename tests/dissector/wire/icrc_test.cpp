// The ICRC of real packets, and the mask: which bits may change and which may not.
#include <catch2/catch.hpp>

#include <algorithm>
#include <random>
#include <set>

#include "dissector/wire/frame.hpp"
#include "dissector/wire/icrc.hpp"
#include "tests/dissector/wire/frames.hpp"

using namespace veriroce::wire;
using frames::bytes_of;

namespace {

// CRC-32 bit by bit, over bytes masked by a copy: slow, and without anything in common with ours.
std::uint32_t plain_crc32(Bytes bytes) {
    std::uint32_t crc = 0xFFFFFFFF;
    for (const std::byte byte : bytes) {
        crc ^= std::to_integer<std::uint32_t>(byte);
        for (int bit = 0; bit < 8; ++bit)
            crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xEDB88320 : 0);
    }
    return ~crc;
}

std::uint32_t plain_icrc(Bytes covered, const std::vector<std::pair<std::size_t, int>>& masks) {
    std::vector<std::byte> bytes(8 + covered.size(), std::byte{0xFF});
    std::ranges::copy(covered, bytes.begin() + 8);
    for (const auto& [at, mask] : masks)
        bytes[8 + at] |= static_cast<std::byte>(mask);
    return plain_crc32(bytes);
}

const std::vector<std::pair<std::size_t, int>> kMasksV4{
    {1, 0xFF}, {8, 0xFF}, {10, 0xFF}, {11, 0xFF}, {26, 0xFF}, {27, 0xFF}, {32, 0xFF}};
const std::vector<std::pair<std::size_t, int>> kMasksV6{
    {0, 0x0F}, {1, 0xFF}, {2, 0xFF}, {3, 0xFF}, {7, 0xFF}, {46, 0xFF}, {47, 0xFF}, {52, 0xFF}};

// Flips each bit of what the ICRC covers; those that leave it unchanged are exactly the masked
// ones.
void check_masks(const std::vector<std::byte>& original,
                 const std::vector<std::pair<std::size_t, int>>& masks) {
    const auto frame = decode_frame(original);
    REQUIRE(frame);
    std::vector<std::byte> covered(frame->covered().begin(), frame->covered().end());
    const std::uint32_t good = icrc(covered);
    for (std::size_t at = 0; at < covered.size(); ++at) {
        const auto mask = std::ranges::find(masks, at, &std::pair<std::size_t, int>::first);
        const int masked = mask == masks.end() ? 0 : mask->second;
        for (int bit = 0; bit < 8; ++bit) {
            if (at == 0 && bit >= 4) continue;    // the version chooses the mask
            if (at == 0 && masked == 0) continue; // so does the header length of IPv4
            INFO("byte " << at << " bit " << bit);
            covered[at] ^= static_cast<std::byte>(1 << bit);
            REQUIRE((icrc(covered) == good) == ((masked >> bit & 1) != 0));
            covered[at] ^= static_cast<std::byte>(1 << bit);
        }
    }
}

} // namespace

TEST_CASE("icrc: real packets over IPv4, IPv6 and VLAN carry the value computed here",
          "[wire][CRC-01][ENC-15]") {
    for (const auto* bytes : frames::kSealed) {
        const auto frame = decode_frame(*bytes);
        REQUIRE(frame);
        const Bytes stored = frame->bytes.subspan(frame->layers.at(Layer::Icrc), 4);
        CHECK(icrc(frame->covered()) == load_icrc(stored));
        CHECK(frame->icrc == load_icrc(stored));
        CHECK(plain_icrc(frame->covered(), frame->ipv4 ? kMasksV4 : kMasksV6) == frame->icrc);
    }
}

TEST_CASE("icrc: over IPv4 the masked bits and no others may change", "[wire][CRC-02][CRC-06]") {
    check_masks(frames::kSendOnlyPadded, kMasksV4);
    check_masks(frames::kReadRequestVlan, kMasksV4);
}

TEST_CASE("icrc: over IPv6 the masked bits and no others may change", "[wire][CRC-03][CRC-06]") {
    check_masks(frames::kSendOnlyV6, kMasksV6);
}

TEST_CASE("icrc: IPv4 options move the masks and are covered", "[wire][ENC-10]") {
    std::mt19937 random(61440);
    INFO("seed 61440");
    for (std::size_t words = 5; words <= 15; ++words) {
        std::vector<std::byte> packet(words * 4 + 8 + 12 + 7);
        for (std::byte& byte : packet)
            byte = static_cast<std::byte>(random());
        packet[0] = static_cast<std::byte>(0x40 | words);
        const std::size_t udp = words * 4;
        CHECK(icrc(packet) == plain_icrc(packet, {{1, 0xFF},
                                                  {8, 0xFF},
                                                  {10, 0xFF},
                                                  {11, 0xFF},
                                                  {udp + 6, 0xFF},
                                                  {udp + 7, 0xFF},
                                                  {udp + 12, 0xFF}}));
    }
}

TEST_CASE("icrc: in two pieces it is the same as in one", "[wire]") {
    const auto frame = decode_frame(frames::kSendOnlyV6);
    REQUIRE(frame);
    const Bytes covered = frame->covered();
    for (std::size_t cut = 60; cut <= covered.size(); ++cut) {
        CHECK(icrc(covered.first(cut), covered.subspan(cut)) == icrc(covered));
        CHECK(icrc_unmasked(covered.first(cut), covered.subspan(cut)) == icrc_unmasked(covered));
    }
}

TEST_CASE("icrc: unmasked it covers the bytes as they stand", "[wire][CRC-07]") {
    for (const auto* bytes : frames::kSealed) {
        const Bytes covered = decode_frame(*bytes)->covered();
        CHECK(icrc_unmasked(covered) == plain_icrc(covered, {}));
        CHECK(icrc_unmasked(covered) != icrc(covered));
    }
}

TEST_CASE("icrc: stored least significant byte first", "[wire][CRC-01]") {
    std::array<std::byte, 4> bytes{};
    store_icrc(bytes, 0x12345678);
    CHECK(std::ranges::equal(bytes, bytes_of("78 56 34 12")));
    CHECK(load_icrc(bytes) == 0x12345678);
    store_icrc(bytes, 0xFEDCBA98);
    CHECK(load_icrc(bytes) == 0xFEDCBA98);
}

TEST_CASE("icrc: a head shorter than its masks is read to its end only", "[wire]") {
    const auto bytes = bytes_of("60 00 00 00 00 1c 11 40 fd 77 00 00");
    for (std::size_t length = 0; length <= bytes.size(); ++length) {
        std::vector<std::pair<std::size_t, int>> masks;
        for (const auto& [at, mask] : kMasksV6) {
            if (at < length) masks.emplace_back(at, mask);
        }
        CHECK(icrc(Bytes(bytes).first(length)) == plain_icrc(Bytes(bytes).first(length), masks));
    }
}

namespace {

// An ARP request of IP over InfiniBand to a multicast GID, from LRH to ICRC: packet 5 of the sample
// capture of InfiniBand in the wiki of Wireshark, recorded by an Endace card.
const char* const kGlobalPacket =
    "0003c000002100046000000000541b00fe800000000000000002c9020024f636ff12401bffff0000"
    "00000000ffffffff6440ffff00ffffff000020af00000b1b00000405080600000020080014040001"
    "80000405fe800000000000000002c9020024f6360a00012200000000000000000000000000000000"
    "000000000a00003abd6bd6a8";

std::vector<std::byte> bytes_of_hex(std::string_view hex) {
    std::vector<std::byte> bytes;
    unsigned value = 0;
    std::size_t digits = 0;
    for (const char c : hex) {
        if (c == ' ') continue;
        value = value << 4 | static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
        if (++digits % 2 == 0) bytes.push_back(static_cast<std::byte>(value & 0xFF));
    }
    return bytes;
}

} // namespace

// IBTA volume 1, 7.8.1: of a packet with a GRH all of the LRH counts as ones, and traffic class,
// flow label and hop limit of the GRH, and the byte with FECN and BECN of the BTH; of one without,
// the virtual lane and that byte.
TEST_CASE("icrc: native InfiniBand, global and local", "[wire][CRC-01]") {
    const auto packet = bytes_of_hex(kGlobalPacket);
    const Bytes covered = Bytes(packet).first(packet.size() - 4);
    const std::uint32_t found = load_icrc(Bytes(packet).last(4));
    CHECK(icrc_from_lrh(covered, true) == found);

    std::vector<std::pair<std::size_t, int>> global{{8, 0x0F},  {9, 0xFF},  {10, 0xFF},
                                                    {11, 0xFF}, {15, 0xFF}, {52, 0xFF}};
    for (std::size_t at = 0; at < 8; ++at)
        global.emplace_back(at, 0xFF);
    const std::vector<std::pair<std::size_t, int>> local{{0, 0xF0}, {12, 0xFF}};
    for (const bool has_grh : {true, false}) {
        INFO((has_grh ? "global" : "local"));
        std::vector<std::byte> bytes(covered.begin(), covered.end());
        const auto& masks = has_grh ? global : local;
        std::vector<std::byte> masked = bytes;
        for (const auto& [at, mask] : masks)
            masked[at] |= static_cast<std::byte>(mask);
        const std::uint32_t good = icrc_from_lrh(bytes, has_grh);
        CHECK(good == plain_crc32(masked));
        for (std::size_t at = 0; at < bytes.size(); ++at) {
            const auto mask = std::ranges::find(masks, at, &std::pair<std::size_t, int>::first);
            const int free = mask == masks.end() ? 0 : mask->second;
            for (int bit = 0; bit < 8; ++bit) {
                INFO("byte " << at << " bit " << bit);
                bytes[at] ^= static_cast<std::byte>(1 << bit);
                REQUIRE((icrc_from_lrh(bytes, has_grh) == good) == ((free >> bit & 1) != 0));
                bytes[at] ^= static_cast<std::byte>(1 << bit);
            }
        }
    }
}
