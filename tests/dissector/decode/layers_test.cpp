// Which layers a frame has, by link type, tags, IP version and opcode.
#include <catch2/catch.hpp>

#include "tests/dissector/decode/frames.hpp"

using namespace veriroce;
using namespace veriroce::decode;
using namespace veriroce::decode::test;
using enum LayerKind;

namespace {

FrameBytes with_prefix(std::size_t bytes, std::size_t type_offset, std::uint16_t type,
                       wire::Bytes packet) {
    FrameBytes frame(bytes);
    wire::store_be<2>(frame, type_offset, type);
    frame.insert(frame.end(), packet.begin(), packet.end());
    return frame;
}

constexpr std::size_t kEthernetBytes = 14;

} // namespace

TEST_CASE("decode: a READ request on a VLAN, layer by layer", "[decode]") {
    const auto frames = frames_of("rxe-vlan.pcap");
    const Dissection d = taken_apart(frames.at(8));
    CHECK(layers_of(d) ==
          std::vector{Frame, Ethernet, Vlan, Ipv4, Udp, Bth, Reth, LayerKind::Icrc});
    CHECK(d.protocol == Protocol::RoceV2);
    CHECK(d.icrc.status == IcrcStatus::Good);
    CHECK(d.findings.empty());
    const auto* reth = d.layers.find(Reth);
    CHECK(reth->offset == 14 + 4 + 20 + 8 + 12);
    CHECK(reth->length == 16);
    REQUIRE(d.complete());
    CHECK(d.packet.reth.dma_length > 0);
    CHECK(d.source() == wire::IpAddress::parse("10.78.0.1"));
    CHECK(d.destination() == wire::IpAddress::parse("10.78.0.2"));
}

TEST_CASE("decode: payload and pad stand between headers and ICRC", "[decode]") {
    const FrameBytes frame = made({.opcode = 0x04, .payload = payload(5)});
    const Dissection d = taken_apart(frame);
    CHECK(layers_of(d) ==
          std::vector{Frame, Ethernet, Ipv4, Udp, Bth, Payload, Pad, LayerKind::Icrc});
    CHECK(d.layers.find(Payload)->length == 5);
    CHECK(d.layers.find(Pad)->length == 3);
    CHECK(d.body_bytes == 8);
    CHECK(d.findings.empty());
}

TEST_CASE("decode: a CM request has a MAD header, its fields and private data", "[decode]") {
    const auto frames = frames_of("rxe-rping-cm-v6.pcap");
    const Dissection d = taken_apart(frames.at(0));
    CHECK(layers_of(d) == std::vector{Frame, Ethernet, Ipv6, Udp, Bth, Deth, Mad, CmReq, IpCm,
                                      CmPrivate, LayerKind::Icrc});
    CHECK(d.icrc.status == IcrcStatus::Good);
    CHECK(d.findings.empty());
}

TEST_CASE("decode: a CNP has sixteen reserved bytes", "[decode]") {
    const FrameBytes frame = made(
        {.opcode = wire::kCnpOpcode,
         .fields = {{wire::Field::Becn, std::uint64_t{1}}, {wire::Field::Psn, std::uint64_t{0}}},
         .payload = std::vector<std::byte>(16)});
    const Dissection d = taken_apart(frame);
    CHECK(layers_of(d) == std::vector{Frame, Ethernet, Ipv4, Udp, Bth, Cnp, LayerKind::Icrc});
    CHECK(d.findings.empty());
    CHECK(d.icrc.status == IcrcStatus::Good);
}

TEST_CASE("decode: what stands behind the IP packet is a trailer and no harm", "[decode]") {
    FrameBytes frame = made({.opcode = 0x04, .payload = payload(0)});
    frame.resize(60, std::byte{0xEE});
    const Dissection d = taken_apart(frame);
    CHECK(layers_of(d).back() == Trailer);
    CHECK(d.icrc.status == IcrcStatus::Good);
    CHECK(d.findings.empty());
}

TEST_CASE("decode: raw IP and both Linux cooked captures are followed", "[decode]") {
    for (const bool v6 : {false, true}) {
        const FrameBytes frame = made({.opcode = 0x04, .payload = payload(4)}, v6);
        const auto packet = wire::Bytes(frame).subspan(kEthernetBytes);
        const std::uint16_t type = v6 ? 0x86DD : 0x0800;
        const LayerKind ip = v6 ? Ipv6 : Ipv4;
        const std::vector<LayerKind> tail{ip, Udp, Bth, Payload, LayerKind::Icrc};
        const auto check = [&](wire::Bytes bytes, std::uint16_t link,
                               std::vector<LayerKind> expected) {
            expected.insert(expected.end(), tail.begin(), tail.end());
            const Dissection d = taken_apart(bytes, link);
            CHECK(layers_of(d) == expected);
            CHECK(d.icrc.status == IcrcStatus::Good);
        };
        check(packet, 101, {Frame});
        check(packet, v6 ? 229 : 228, {Frame});
        check(with_prefix(16, 14, type, packet), 113, {Frame, Sll});
        check(with_prefix(20, 0, type, packet), 276, {Frame, Sll2});
    }
}

TEST_CASE("decode: an unsupported link type is said so", "[decode]") {
    const auto bytes = payload(50);
    const Dissection d = taken_apart(bytes, 105);
    CHECK(layers_of(d) == std::vector{Frame, Unsupported});
    CHECK(d.protocol == Protocol::Unknown);
    CHECK_FALSE(d.malformed);
}

TEST_CASE("decode: the destination port decides, whatever the source port", "[decode]") {
    for (const std::uint64_t port : {53U, 69U, 4789U, 320U, 4791U}) {
        const FrameBytes frame = made({.opcode = 0x04,
                                       .fields = {{wire::Field::UdpSourcePort, port}},
                                       .payload = payload(4)});
        CHECK(taken_apart(frame).protocol == Protocol::RoceV2);
    }
    const FrameBytes other = made({.opcode = 0x04,
                                   .fields = {{wire::Field::UdpSourcePort, std::uint64_t{4791}},
                                              {wire::Field::UdpDestinationPort, std::uint64_t{53}}},
                                   .payload = payload(4)});
    const Dissection d = taken_apart(other);
    CHECK(d.protocol == Protocol::Udp);
    CHECK(layers_of(d) == std::vector{Frame, Ethernet, Ipv4, Udp, Data});
    CHECK(d.findings.empty());
}

TEST_CASE("decode: QinQ gives two tags, and IPv6 extension headers are stepped over", "[decode]") {
    const FrameBytes frame = made({.opcode = 0x04, .payload = payload(4)}, true);
    FrameBytes tagged(frame.begin(), frame.begin() + 12);
    for (const unsigned byte : {0x88U, 0xA8U, 0U, 5U, 0x81U, 0U, 0U, 6U}) {
        tagged.push_back(static_cast<std::byte>(byte));
    }
    tagged.insert(tagged.end(), frame.begin() + 12, frame.end());
    CHECK(layers_of(taken_apart(tagged)) ==
          std::vector{Frame, Ethernet, ServiceTag, Vlan, Ipv6, Udp, Bth, Payload, LayerKind::Icrc});

    FrameBytes extended = frame;
    wire::store_be<2>(extended, 14 + 4, wire::load_u16(extended, 14 + 4) + 8U);
    wire::store_be<1>(extended, 14 + 6, 60);
    const std::array<std::byte, 8> options{std::byte{17}};
    extended.insert(extended.begin() + 14 + 40, options.begin(), options.end());
    const Dissection d = taken_apart(extended);
    CHECK(layers_of(d) ==
          std::vector{Frame, Ethernet, Ipv6, Ipv6Extension, Udp, Bth, Payload, LayerKind::Icrc});
    CHECK(d.icrc.reason == IcrcReason::IpExtensions);
}

TEST_CASE("decode: other frames of a capture have their protocol and no findings", "[decode]") {
    const auto frames = frames_of("rxe-rc-pingpong.pcap");
    const Dissection d = taken_apart(frames.at(0));
    CHECK(d.protocol == Protocol::Tcp);
    CHECK(layers_of(d) == std::vector{Frame, Ethernet, Ipv4, Tcp});
    CHECK(d.findings.empty());
    CHECK_FALSE(d.complete());
}

TEST_CASE("decode: tags and extension headers without end are not followed", "[decode]") {
    const FrameBytes packet = made({.opcode = 0x04, .payload = payload(4)}, true);
    for (std::size_t tags : {8U, 9U, 200U}) {
        FrameBytes frame(packet.begin(), packet.begin() + 12);
        for (std::size_t i = 0; i < tags; ++i) {
            for (const unsigned byte : {0x81U, 0U, 0U, 5U})
                frame.push_back(static_cast<std::byte>(byte));
        }
        frame.insert(frame.end(), packet.begin() + 12, packet.end());
        const Dissection d = taken_apart(frame);
        CHECK(d.roce() == (tags <= 8));
        CHECK(d.complete() == (tags <= 8));
        CHECK(d.layers.from(Vlan).size() >= 8);
    }
    for (std::size_t headers : {8U, 9U, 100U}) {
        FrameBytes frame = packet;
        const std::uint64_t length = wire::load_u16(frame, 14 + 4) + 8 * headers;
        wire::store_be<2>(frame, 14 + 4, length);
        wire::store_be<1>(frame, 14 + 6, 60);
        for (std::size_t i = 0; i < headers; ++i) {
            const std::array<std::byte, 8> options{i == 0 ? std::byte{17} : std::byte{60}};
            frame.insert(frame.begin() + 14 + 40, options.begin(), options.end());
        }
        CHECK(taken_apart(frame).roce() == (headers <= 8));
    }
}
