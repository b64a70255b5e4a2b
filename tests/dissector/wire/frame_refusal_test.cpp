// What a receiver must refuse, and as what.
#include <catch2/catch.hpp>

#include "dissector/wire/frame.hpp"
#include "tests/dissector/wire/frame_edits.hpp"
#include "tests/dissector/wire/frames.hpp"

using namespace veriroce::wire;
using namespace veriroce::wire::frames;

TEST_CASE("frame: other frames are told apart", "[wire]") {
    auto frame = frames::kAck;
    poke16(frame, 12, 0x0806);
    CHECK(decoding(frame) == FrameError::NotIp);
    CHECK(refusal(frame) == FrameError::NotIp);
    frame = frames::kAckVlan;
    poke16(frame, 16, 0x8100); // a second tag
    CHECK(decoding(frame) == FrameError::NotIp);

    frame = frames::kAck;
    frame[23] = std::byte{6};
    fix_ip(frame);
    CHECK(decoding(frame) == FrameError::NotUdp);
    CHECK(refusal(frame) == FrameError::NotUdp);
    frame = frames::kAckV6;
    frame[20] = std::byte{0}; // a hop-by-hop header
    CHECK(decoding(frame) == FrameError::NotUdp);

    frame = frames::kAck;
    poke16(frame, 36, 4790);
    CHECK(decoding(frame) == FrameError::NotRoce);
    CHECK(refusal(frame) == FrameError::NotRoce);
}

TEST_CASE("frame: fragments are refused, the first one too", "[wire][ENC-09]") {
    for (const unsigned flags : {0x2000U, 0x0001U, 0x3FFFU}) {
        auto frame = frames::kAck;
        poke16(frame, 20, flags);
        fix_ip(frame);
        CHECK(decoding(frame) == FrameError::Fragment);
        CHECK(refusal(frame) == FrameError::Fragment);
    }
    auto frame = frames::kAck;
    poke16(frame, 20, 0x8000); // the reserved flag and no DF: no fragment
    fix_ip(frame);
    CHECK(refusal(frame) == FrameError::BadIcrc);
    frame = frames::kAck;
    poke16(frame, 20, 0x2000);
    poke16(frame, 38, 2000); // as in a real first fragment, whose UDP length is the whole's
    fix_ip(frame);
    CHECK(refusal(frame) == FrameError::Fragment);
}

TEST_CASE("frame: every cut of a frame is refused as truncated", "[wire]") {
    for (const auto* bytes : frames::kSealed) {
        for (std::size_t length = 0; length < bytes->size(); ++length) {
            const Bytes cut = Bytes(*bytes).first(length);
            REQUIRE(!decode_frame(cut));
            CHECK(decode_frame(cut).error() == FrameError::Truncated);
            REQUIRE(!unseal(cut));
            // An IPv4 header that is cut in its options could not be; these have none.
            CHECK(unseal(cut).error() == FrameError::Truncated);
        }
    }
}

TEST_CASE("frame: the version must be the one that the EtherType names", "[wire][CA17-27]") {
    auto frame = frames::kAck;
    frame[14] = std::byte{0x65};
    CHECK(decoding(frame) == std::nullopt);
    CHECK(refusal(frame) == FrameError::BadIpVersion);
    CHECK(unseal(*decode_frame(frame)).error() == FrameError::BadIpVersion);
    fix_ip(frame);
    seal(frame); // shorter than IPv6's masks reach: must not read beyond the end
    CHECK(refusal(frame) == FrameError::BadIpVersion);
    frame = frames::kAckV6;
    frame[14] = std::byte{0x40};
    CHECK(decoding(frame) == std::nullopt);
    CHECK(refusal(frame) == FrameError::BadIpVersion);
}

TEST_CASE("frame: each bit of a wrong IPv4 checksum is seen", "[wire][N-03]") {
    for (std::size_t bit = 0; bit < 16; ++bit) {
        auto frame = frames::kAck;
        frame[24 + bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
        CHECK(decoding(frame) == std::nullopt);
        CHECK(refusal(frame) == FrameError::BadIpChecksum);
        CHECK(unseal(*decode_frame(frame)).error() == FrameError::BadIpChecksum);
    }
}

TEST_CASE("frame: lengths of IP that contradict the frame or the header", "[wire][ENC-08]") {
    const auto with_ip_length = [](unsigned length) {
        auto frame = frames::kAck;
        poke16(frame, 16, length);
        fix_ip(frame);
        return refusal(frame);
    };
    CHECK(with_ip_length(0) == FrameError::LengthMismatch);
    CHECK(with_ip_length(19) == FrameError::LengthMismatch);
    CHECK(with_ip_length(20) == FrameError::LengthMismatch); // no room for a UDP header
    CHECK(with_ip_length(27) == FrameError::LengthMismatch);
    CHECK(with_ip_length(47) == FrameError::LengthMismatch); // UDP says one more
    CHECK(with_ip_length(49) == FrameError::Truncated);      // the frame has one less
    CHECK(with_ip_length(65535) == FrameError::Truncated);

    auto frame = frames::kAck;
    frame[14] = std::byte{0x44}; // a header of 16 bytes
    poke16(frame, 24, 0);
    poke16(frame, 24, ipv4_checksum(Bytes(frame).subspan(14, 16)));
    CHECK(decoding(frame) == FrameError::LengthMismatch);
    CHECK(refusal(frame) == FrameError::LengthMismatch);
    poke16(frame, 32, 4791); // the bytes 16 further look like a UDP header
    poke16(frame, 34, 32);
    CHECK(decoding(frame) == FrameError::LengthMismatch);
    frame = frames::kAck;
    frame[14] = std::byte{0x4D}; // a header of 52 bytes in a datagram of 48
    CHECK(decoding(frame) == FrameError::LengthMismatch);

    frame = frames::kAckV6;
    poke16(frame, 18, 29);
    CHECK(refusal(frame) == FrameError::Truncated);
    poke16(frame, 18, 27);
    CHECK(refusal(frame) == FrameError::LengthMismatch);
    poke16(frame, 18, 0);
    CHECK(refusal(frame) == FrameError::LengthMismatch);
}

TEST_CASE("frame: UDP lengths that contradict the IP length, ICRC good", "[wire][ENC-08]") {
    for (const auto& original : {frames::kSendOnlyPadded, frames::kSendOnlyV6}) {
        const std::size_t udp = decode_frame(original)->layers.at(Layer::Udp);
        const unsigned right = decode_frame(original)->udp.length;
        auto frame = original;
        poke16(frame, udp + 4, right - 4);
        REQUIRE(decoding(frame) == std::nullopt); // a tester may look at it
        seal(frame);
        CHECK(refusal(frame) == FrameError::LengthMismatch);
        CHECK(unseal(*decode_frame(frame)).error() == FrameError::LengthMismatch);
        for (const unsigned length : {right + 1, 0xFFFFU, 7U, 0U}) {
            poke16(frame, udp + 4, length);
            CHECK(decoding(frame) == FrameError::LengthMismatch);
            CHECK(refusal(frame) == FrameError::LengthMismatch);
        }
    }
}

TEST_CASE("frame: a datagram without room for BTH and ICRC is truncated", "[wire]") {
    for (unsigned transport = 0; transport < 16; ++transport) {
        auto frame = frames::kAck;
        poke16(frame, 16, 28 + transport);
        poke16(frame, 38, 8 + transport);
        fix_ip(frame);
        CHECK(decoding(frame) == FrameError::Truncated);
        CHECK(refusal(frame) == FrameError::Truncated);
    }
}

TEST_CASE("frame: UDP checksums, none, right, unfinished and wrong", "[wire][ENC-04][ENC-06]") {
    auto frame = frames::kUnfinishedChecksum;
    CHECK(refusal(frame) == std::nullopt);
    poke16(frame, 40, 0x1557); // what tshark computes
    CHECK(refusal(frame) == std::nullopt);
    poke16(frame, 40, 0);
    CHECK(refusal(frame) == std::nullopt);
    for (const unsigned wrong : {0x1558U, 0x1603U, 0xFFFFU, 1U}) {
        poke16(frame, 40, wrong);
        CHECK(decoding(frame) == std::nullopt);
        CHECK(refusal(frame) == FrameError::BadUdpChecksum);
        CHECK(unseal(*decode_frame(frame)).error() == FrameError::BadUdpChecksum);
    }
    auto v6 = frames::kSendOnlyV6;
    const Bytes view = v6;
    poke16(v6, 60, udp_checksum(view.subspan(22, 32), view.subspan(54)));
    CHECK(refusal(v6) == std::nullopt);
    v6[61] ^= std::byte{1};
    CHECK(refusal(v6) == FrameError::BadUdpChecksum);
}

TEST_CASE("frame: a wrong ICRC is the last thing that is seen", "[wire][CRC-07]") {
    for (const auto* bytes : frames::kSealed) {
        for (std::size_t i = 1; i <= 4; ++i) {
            auto frame = *bytes;
            frame[frame.size() - i] ^= std::byte{0x10};
            CHECK(decoding(frame) == std::nullopt);
            CHECK(refusal(frame) == FrameError::BadIcrc);
            CHECK(unseal(*decode_frame(frame)).error() == FrameError::BadIcrc);
        }
    }
}

TEST_CASE("frame: faults are reported in the order in which a receiver meets them", "[wire]") {
    auto frame = frames::kUnfinishedChecksum;
    frame[54] ^= std::byte{1};
    CHECK(refusal(frame) == FrameError::BadIcrc);
    poke16(frame, 40, 0x1111);
    CHECK(refusal(frame) == FrameError::BadUdpChecksum);
    poke16(frame, 36, 4790);
    CHECK(refusal(frame) == FrameError::NotRoce);
    poke16(frame, 38, 80);
    CHECK(refusal(frame) == FrameError::LengthMismatch);
    poke16(frame, 20, 0x2000);
    fix_ip(frame);
    CHECK(refusal(frame) == FrameError::Fragment);
    poke16(frame, 16, 19);
    fix_ip(frame);
    CHECK(refusal(frame) == FrameError::LengthMismatch);
    poke16(frame, 24, 0);
    CHECK(refusal(frame) == FrameError::BadIpChecksum);
    frame[14] = std::byte{0x55};
    CHECK(refusal(frame) == FrameError::BadIpVersion);
}
