#include <catch2/catch.hpp>

#include <algorithm>
#include <random>
#include <set>

#include "dissector/wire/frame.hpp"
#include "dissector/wire/line.hpp"
#include "tests/dissector/wire/frame_edits.hpp"
#include "tests/dissector/wire/frames.hpp"

using namespace veriroce::wire;
using namespace veriroce::wire::frames;

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
    auto bytes = frames::kAck;   // 4 bytes after the BTH
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

TEST_CASE("line: a frame of 1 KiB takes 838 ns at 10 Gbit/s", "[wire]") {
    CHECK(time_on_line(1024, 10'000'000'000).count() == 838);
    CHECK(time_on_line(1, 1'000'000'000) == time_on_line(60, 1'000'000'000)); // the shortest frame
    CHECK(time_on_line(60, 1'000'000'000).count() == 672);
}
