#include <catch2/catch.hpp>

#include <algorithm>
#include <random>
#include <set>

#include "dissector/wire/bth.hpp"
#include "dissector/wire/frame.hpp"
#include "dissector/wire/icrc.hpp"
#include "tests/dissector/wire/frames.hpp"

using namespace veriroce::wire;
using frames::bytes_of;

namespace {

// Writes `value` over the big-endian 16 bits at `at`.
void poke16(std::vector<std::byte>& frame, std::size_t at, unsigned value) {
    store_be<2>(frame, at, value);
}

// Makes the IPv4 header checksum right again (no VLAN, no options).
void fix_ip(std::vector<std::byte>& frame) {
    poke16(frame, 24, ipv4_checksum(Bytes(frame).subspan(14, 20)));
}

// What unseal says of the frame, and nothing if it accepts it.
std::optional<FrameError> refusal(const std::vector<std::byte>& frame) {
    const auto datagram = unseal(frame);
    if (datagram) return std::nullopt;
    return datagram.error();
}

std::optional<FrameError> decoding(const std::vector<std::byte>& frame) {
    const auto decoded = decode_frame(frame);
    if (decoded) return std::nullopt;
    return decoded.error();
}

} // namespace

TEST_CASE("frame: captured frames are taken apart", "[wire]") {
    const auto frame = decode_frame(frames::kReadRequestVlan);
    REQUIRE(frame);
    CHECK(frame->ethernet.ether_type == 0x8100);
    REQUIRE(frame->vlan);
    CHECK(frame->vlan->id == 77);
    REQUIRE(frame->ipv4);
    CHECK(!frame->ipv6);
    CHECK(frame->udp.source_port == 0xC121);
    CHECK(frame->transport.size() == 28);
    CHECK(frame->layers.at(Layer::Vlan) == 14);
    CHECK(frame->layers.at(Layer::Ipv4) == 18);
    CHECK(frame->layers.at(Layer::Udp) == 38);
    CHECK(frame->layers.at(Layer::Bth) == 46);
    CHECK(frame->layers.at(Layer::Icrc) == 74);
    CHECK(!frame->layers.has(Layer::Reth));
    CHECK(frame->envelope() == Envelope{.source = *IpAddress::parse("10.78.0.1"),
                                        .destination = *IpAddress::parse("10.78.0.2"),
                                        .source_port = 0xC121,
                                        .vlan = VlanId{.id = 77}});

    const auto v6 = decode_frame(frames::kSendOnlyV6);
    REQUIRE(v6);
    CHECK(v6->ipv6);
    CHECK(!v6->ipv4);
    CHECK(v6->envelope() == Envelope{.source = *IpAddress::parse("fd77::2"),
                                     .destination = *IpAddress::parse("fd77::1"),
                                     .source_port = 0xEAF2});
    CHECK(v6->covered().size() == 40 + 8 + 12 + 16);
}

TEST_CASE("frame: map_transport finds the extended headers and the body", "[wire]") {
    auto frame = *decode_frame(frames::kAtomicAck);
    map_transport(frame);
    CHECK(frame.layers.at(Layer::Aeth) == 54);
    CHECK(frame.layers.at(Layer::AtomicAckEth) == 58);
    CHECK(frame.layers.at(Layer::Body) == 66);
    CHECK(frame.layers.at(Layer::Icrc) == 66);

    auto flush = frames::kWriteOnly; // RETH 16 + body 4: as a FLUSH, FETH 4 + RETH 16
    flush[42] = std::byte{0x1C};
    auto flushed = *decode_frame(flush);
    map_transport(flushed);
    CHECK(flushed.layers.at(Layer::Feth) == 54);
    CHECK(flushed.layers.at(Layer::Reth) == 58);
    CHECK(flushed.layers.at(Layer::Body) == 74);
}

TEST_CASE("frame: map_transport stops at the first header that is not there whole", "[wire]") {
    auto bytes = frames::kAck;   // 4 bytes behind the BTH
    bytes[42] = std::byte{0x0B}; // RETH 16, ImmDt 4
    auto frame = *decode_frame(bytes);
    map_transport(frame);
    CHECK(!frame.layers.has(Layer::Reth));
    CHECK(!frame.layers.has(Layer::ImmDt));
    CHECK(frame.layers.at(Layer::Body) == 54);
    bytes[42] = std::byte{0x12}; // AETH 4, AtomicAckETH 8
    frame = *decode_frame(bytes);
    map_transport(frame);
    CHECK(frame.layers.at(Layer::Aeth) == 54);
    CHECK(!frame.layers.has(Layer::AtomicAckEth));
    CHECK(frame.layers.at(Layer::Body) == 58);
    Frame empty;
    map_transport(empty);
    CHECK(!empty.layers.has(Layer::Body));
}

TEST_CASE("frame: real frames are unsealed", "[wire][CRC-01]") {
    for (const auto* bytes : frames::kSealed) {
        const auto datagram = unseal(*bytes);
        REQUIRE(datagram);
        const auto frame = decode_frame(*bytes);
        CHECK(datagram->bytes.data() == frame->transport.data());
        CHECK(datagram->bytes.size() == frame->transport.size());
        CHECK(datagram->envelope == frame->envelope());
        CHECK(unseal(*frame)->envelope == frame->envelope());
    }
}

TEST_CASE("frame: write_frame makes captured frames byte for byte", "[wire]") {
    for (const auto* bytes : frames::kSealed) {
        const auto frame = decode_frame(*bytes);
        const LinkAddress link{frame->ethernet.source, frame->ethernet.destination};
        const std::uint16_t id = frame->ipv4 ? frame->ipv4->id : 0;
        for (std::size_t cut = 12; cut <= frame->transport.size(); cut += 4) {
            std::vector<std::byte> out(bytes->size() + 5, std::byte{0xEE});
            const std::size_t length =
                write_frame(link, frame->envelope(), id, frame->transport.first(cut),
                            frame->transport.subspan(cut), out);
            REQUIRE(length == bytes->size());
            CHECK(out.back() == std::byte{0xEE});
            out.resize(length);
            CHECK(out == *bytes);
        }
        CHECK(outer_bytes(frame->envelope()) == frame->layers.at(Layer::Bth));
    }
}

TEST_CASE("frame: seal then unseal gives the datagram back", "[wire]") {
    constexpr unsigned kSeed = 77;
    INFO("seed " << kSeed);
    std::mt19937 random(kSeed);
    for (int round = 0; round < 300; ++round) {
        const auto number = [&](unsigned bits) {
            return static_cast<std::uint32_t>(random() & ((1ULL << bits) - 1));
        };
        Envelope envelope{.source_port = static_cast<std::uint16_t>(number(16)),
                          .dscp = static_cast<std::uint8_t>(number(6)),
                          .ecn = static_cast<std::uint8_t>(number(2)),
                          .hop_limit = static_cast<std::uint8_t>(number(8))};
        if (round % 2 == 0) {
            envelope.source = IpAddress::from_v4(number(32));
            envelope.destination = IpAddress::from_v4(number(32));
        } else {
            for (std::byte& byte : envelope.source.bytes)
                byte = static_cast<std::byte>(random());
            envelope.destination = envelope.source;
            envelope.flow_label = number(20);
        }
        if (round % 3 == 0) {
            envelope.vlan = VlanId{.id = static_cast<std::uint16_t>(number(12)),
                                   .priority = static_cast<std::uint8_t>(number(3))};
        }
        std::vector<std::byte> transport(12 + random() % 3000);
        for (std::byte& byte : transport)
            byte = static_cast<std::byte>(random());
        std::vector<std::byte> out(kMaxFrameOverhead + transport.size());
        out.resize(write_frame({}, envelope, static_cast<std::uint16_t>(number(16)),
                               Bytes(transport).first(12), Bytes(transport).subspan(12), out));
        const auto datagram = unseal(out);
        REQUIRE(datagram);
        REQUIRE(datagram->envelope == envelope);
        REQUIRE(std::ranges::equal(datagram->bytes, transport));

        auto damaged = out;
        damaged[outer_bytes(envelope) + 5] ^= std::byte{1}; // DestQP
        REQUIRE(refusal(damaged) == FrameError::BadIcrc);
        seal(damaged);
        REQUIRE(refusal(damaged) == std::nullopt);
        REQUIRE(decode_frame(damaged)->icrc != decode_frame(out)->icrc);
    }
}

TEST_CASE("frame: what may change on the way does not matter", "[wire][CRC-02][CRC-03][CRC-05]") {
    auto frame = frames::kSendOnlyPadded;
    frame[15] = std::byte{0xFF}; // ToS
    frame[22] = std::byte{1};    // TTL
    fix_ip(frame);
    frame[46] = std::byte{0xFF}; // FECN, BECN, reserved
    CHECK(refusal(frame) == std::nullopt);
    CHECK(unseal(frame)->envelope.ecn == kCongestionExperienced);
    CHECK(unseal(frame)->envelope.dscp == 0x3F);
    CHECK(unseal(frame)->envelope.hop_limit == 1);
    frame.resize(frame.size() + 40, std::byte{0x5A}); // Ethernet padding, a trailer
    CHECK(refusal(frame) == std::nullopt);
    CHECK(unseal(frame)->bytes.size() == 16);
}

TEST_CASE("frame: IPv4 options are skipped", "[wire][ENC-10]") {
    auto frame = frames::kSendOnlyPadded;
    const auto options = bytes_of("01 01 01 00 94 04 00 00");
    frame.insert(frame.begin() + 34, options.begin(), options.end());
    frame[14] = std::byte{0x47};
    poke16(frame, 16, 48 + 8);
    poke16(frame, 24, 0);
    poke16(frame, 24, ipv4_checksum(Bytes(frame).subspan(14, 28)));
    CHECK(refusal(frame) == FrameError::BadIcrc); // they are covered
    seal(frame);
    CHECK(refusal(frame) == std::nullopt);
    CHECK(decode_frame(frame)->layers.at(Layer::Bth) == 50);
    frame[36] ^= std::byte{1};
    CHECK(refusal(frame) == FrameError::BadIpChecksum); // and summed up
}

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

TEST_CASE("frame: the longest IP datagram has its ICRC beyond 65,535", "[wire]") {
    const Envelope envelope{.source = IpAddress::from_v4(1), .destination = IpAddress::from_v4(2)};
    std::vector<std::byte> transport(65535 - 20 - 8 - 4);
    transport[0] = std::byte{0x04};
    std::vector<std::byte> out(kMaxFrameOverhead + transport.size());
    out.resize(write_frame({}, envelope, 1, transport, {}, out));
    CHECK(out.size() == 14 + 65535);
    CHECK(decode_frame(out)->layers.at(Layer::Icrc) == 65545);
    CHECK(refusal(out) == std::nullopt);
}

TEST_CASE("frame: each error has a sentence of its own", "[wire]") {
    std::set<std::string_view> texts;
    for (int i = 0; i <= static_cast<int>(FrameError::BadIcrc); ++i)
        texts.insert(text_of(static_cast<FrameError>(i)));
    CHECK(texts.size() == 10);
    CHECK(texts.count("") == 0);
}
