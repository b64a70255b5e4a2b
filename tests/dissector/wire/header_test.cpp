// Every header both ways: against bytes of real packets, and as the identity on any bytes.
#include <catch2/catch.hpp>

#include <random>

#include "dissector/wire/ethernet.hpp"
#include "dissector/wire/ip.hpp"
#include "dissector/wire/packet.hpp"
#include "dissector/wire/udp.hpp"
#include "tests/dissector/wire/frames.hpp"

using namespace veriroce::wire;
using frames::bytes_of;

namespace {

// Decodes `text`, compares with `expected`, and encodes that into the same bytes again.
template <typename H>
void check_both_ways(const std::string& text, const H& expected) {
    INFO(text);
    const auto bytes = bytes_of(text);
    REQUIRE(bytes.size() == H::kSize);
    const auto decoded = H::decode(bytes);
    REQUIRE(decoded);
    CHECK(*decoded == expected);
    std::vector<std::byte> encoded(H::kSize);
    expected.encode(encoded);
    CHECK(encoded == bytes);
}

} // namespace

TEMPLATE_TEST_CASE("header: decode then encode is the identity on any bytes", "[wire]", Bth, Rdeth,
                   Deth, Xrceth, Feth, Reth, AtomicEth, Aeth, AtomicAckEth, ImmDt, Ieth, Ethernet,
                   VlanTag, Ipv4, Ipv6, Udp) {
    constexpr unsigned kSeed = 20240601;
    INFO("seed " << kSeed);
    std::mt19937 random(kSeed);
    for (int round = 0; round < 500; ++round) {
        std::array<std::byte, TestType::kSize> bytes{};
        for (std::byte& byte : bytes)
            byte = static_cast<std::byte>(random());
        const auto header = TestType::decode(bytes);
        REQUIRE(header);
        std::array<std::byte, TestType::kSize> again{};
        header->encode(again);
        REQUIRE(again == bytes);
        REQUIRE(TestType::decode(again) == header);
    }
    const std::array<std::byte, TestType::kSize> bytes{};
    CHECK(!TestType::decode(Bytes(bytes).first(TestType::kSize - 1)));
    CHECK(!TestType::decode({}));
}

TEST_CASE("header: BTH of a captured SEND and of one with every flag", "[wire]") {
    check_both_ways(
        "04 30 ff ff 00 00 00 39 80 00 10 01",
        Bth{.opcode = 0x04, .pad = 3, .dest_qp = {0x39}, .ack_request = true, .psn = Psn(0x1001)});
    check_both_ways("81 00 ff ff 40 00 00 d2 00 00 00 00",
                    Bth{.opcode = 0x81, .becn = true, .dest_qp = {0xD2}});
    check_both_ways("1d da 80 01 95 12 34 56 aa fe dc ba", Bth{.opcode = 0x1D,
                                                               .solicited = true,
                                                               .mig_req = true,
                                                               .pad = 1,
                                                               .version = 10,
                                                               .pkey = {0x8001},
                                                               .fecn = true,
                                                               .becn = false,
                                                               .reserved6 = 0x15,
                                                               .dest_qp = {0x123456},
                                                               .ack_request = true,
                                                               .reserved7 = 0x2A,
                                                               .psn = Psn(0xFEDCBA)});
}

TEST_CASE("header: extended headers of captured packets", "[wire]") {
    check_both_ways("00 00 7f 1b 45 cb 80 00 00 00 2e 52 00 00 04 00",
                    Reth{.virtual_address = 0x7F1B45CB8000, .rkey = {0x2E52}, .dma_length = 1024});
    check_both_ways("1f 00 00 01", Aeth{.syndrome = Syndrome::ack(31), .msn = {1}});
    check_both_ways("34 12 34 56", Aeth{.syndrome = Syndrome::rnr(20), .msn = {0x123456}});
    check_both_ways("62 00 00 00",
                    Aeth{.syndrome = Syndrome::nak(NakCode::RemoteAccess), .msn = {0}});
    check_both_ways("00 00 56 25 d0 ec a0 00 00 00 11 0d 00 00 00 00 00 00 00 01 "
                    "fe dc ba 98 76 54 32 10",
                    AtomicEth{.virtual_address = 0x5625D0ECA000,
                              .rkey = {0x110D},
                              .swap_or_add = 1,
                              .compare = 0xFEDCBA9876543210});
    check_both_ways("68 bf 18 ff 0e dc b7 f1", AtomicAckEth{.original = 0x68BF18FF0EDCB7F1});
    check_both_ways("11 11 11 11 00 00 00 45", Deth{.qkey = {0x11111111}, .source_qp = {0x45}});
    check_both_ways("80 01 00 00 7f ab cd ef",
                    Deth{.qkey = {0x80010000}, .reserved = 0x7F, .source_qp = {0xABCDEF}});
    check_both_ways("a0 00 00 00", ImmDt{.value = 0xA0000000});
    check_both_ways("00 00 2e 52", Ieth{.rkey = {0x2E52}});
}

TEST_CASE("header: extended headers that no lab machine sends", "[wire][EXT-03]") {
    check_both_ways("00 00 00 13", Feth{.selectivity = 1, .placement = 3});
    check_both_ways("80 00 00 60", Feth{.reserved = 0x2000001, .selectivity = 2, .placement = 0});
    check_both_ways("7f 12 34 56", Rdeth{.reserved = 0x7F, .ee_context = 0x123456});
    check_both_ways("80 65 43 21", Xrceth{.reserved = 0x80, .srq = 0x654321});
}

TEST_CASE("header: outer headers of captured packets", "[wire]") {
    const auto source = *MacAddress::parse("52:54:00:77:00:01");
    const auto destination = *MacAddress::parse("52:54:00:77:00:02");
    check_both_ways("52 54 00 77 00 02 52 54 00 77 00 01 08 00",
                    Ethernet{.destination = destination, .source = source, .ether_type = 0x0800});
    check_both_ways("00 4d 08 00", VlanTag{.id = 77, .ether_type = 0x0800});
    check_both_ways(
        "bf ff 86 dd",
        VlanTag{.priority = 5, .drop_eligible = true, .id = 0xFFF, .ether_type = 0x86DD});
    check_both_ways("45 00 00 2c ca 6d 40 00 40 11 5b b7 0a 4d 00 01 0a 4d 00 02",
                    Ipv4{.total_length = 44,
                         .id = 0xCA6D,
                         .dont_fragment = true,
                         .ttl = 64,
                         .protocol = 17,
                         .checksum = 0x5BB7,
                         .source = 0x0A4D0001,
                         .destination = 0x0A4D0002});
    check_both_ways("6f 6b 6d ab cd ef a1 b2 c3 d4 e5 f6 07 18 29 3a 4b 5c 6d 7e",
                    Ipv4{.version = 6,
                         .header_length = 15,
                         .dscp = 0x1A,
                         .ecn = 3,
                         .total_length = 0x6DAB,
                         .id = 0xCDEF,
                         .reserved_flag = true,
                         .dont_fragment = false,
                         .more_fragments = true,
                         .fragment_offset = 0x1B2,
                         .ttl = 0xC3,
                         .protocol = 0xD4,
                         .checksum = 0xE5F6,
                         .source = 0x0718293A,
                         .destination = 0x4B5C6D7E});
    check_both_ways("66 b1 23 45 00 1c 11 40 fd 77 00 00 00 00 00 00 00 00 00 00 00 00 00 01 "
                    "fd 77 00 00 00 00 00 00 00 00 00 00 00 00 00 02",
                    Ipv6{.dscp = 0x1A,
                         .ecn = 3,
                         .flow_label = 0x12345,
                         .payload_length = 28,
                         .next_header = 17,
                         .hop_limit = 64,
                         .source = *IpAddress::parse("fd77::1"),
                         .destination = *IpAddress::parse("fd77::2")});
    check_both_ways(
        "cc 78 12 b7 00 18 16 02",
        Udp{.source_port = 0xCC78, .destination_port = 4791, .length = 24, .checksum = 0x1602});
}

TEST_CASE("checksum: the Internet checksum of known headers", "[wire]") {
    // The example of RFC 1071: 00 01 f2 03 f4 f5 f6 f7 adds up to ddf2.
    CHECK(checksum_fold(checksum_add(bytes_of("00 01 f2 03 f4 f5 f6 f7"))) == 0x220D);
    CHECK(checksum_fold(checksum_add(bytes_of("00 01 f2"))) == checksum_fold(0xF201));
    CHECK(checksum_fold(checksum_add({})) == 0xFFFF);
    CHECK(checksum_add(bytes_of("ff ff ff ff"), 0xFFFFFFFF) != 0); // the carry is not lost
    CHECK(checksum_fold(checksum_add(bytes_of("ff ff ff ff"), 0xFFFFFFFF)) == 0);
    const auto header = bytes_of("45 00 00 2c ca 6d 40 00 40 11 5b b7 0a 4d 00 01 0a 4d 00 02");
    CHECK(ipv4_checksum(header) == 0x5BB7);
    CHECK(checksum_fold(checksum_add(header)) == 0);
}

TEST_CASE("checksum: UDP over its pseudo header", "[wire]") {
    // What tshark computes for this frame is 0x1557, and what the card was handed is 0x1602.
    const Bytes frame = frames::kUnfinishedChecksum;
    const Bytes addresses = frame.subspan(26, 8);
    CHECK(udp_checksum(addresses, frame.subspan(34)) == 0x1557);
    CHECK(unfinished_udp_checksum(addresses, frame.subspan(34)) == 0x1602);
    // A sum of zero is sent as ones: this datagram's payload is the complement of all the rest.
    const auto zeros = bytes_of("00 00 00 00 00 00 00 00");
    const auto datagram = bytes_of("00 00 00 00 00 0a 00 00 ff da");
    CHECK(udp_checksum(zeros, datagram) == 0xFFFF);
    // Bytes beyond the length do not count; a length beyond the bytes is taken for what it is.
    CHECK(udp_checksum(zeros, bytes_of("00 00 00 00 00 08 00 00 12 34")) ==
          udp_checksum(zeros, bytes_of("00 00 00 00 00 08 00 00")));
    CHECK(udp_checksum(zeros, bytes_of("00 00 00 00 ff ff 00 00")) == 0xFFEE);
}
