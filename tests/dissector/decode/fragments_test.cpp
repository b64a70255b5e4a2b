// IP fragments, whatever they are fragments of: what is missing is in other frames, and neither a
// cut nor a contradiction.
#include <catch2/catch.hpp>

#include "dissector/wire/ip.hpp"
#include "tests/dissector/corpus/corpus.hpp"
#include "tests/dissector/decode/frames.hpp"

using namespace veriroce;
using namespace veriroce::decode;
using namespace veriroce::decode::test;

namespace {

constexpr std::size_t kIp = 14;
constexpr std::size_t kIpPayload = kIp + wire::Ipv4::kSize;
constexpr std::uint16_t kMore = 0x2000;

// `bytes` of the IPv4 packet's payload from `from` on, in a frame of their own.
FrameBytes fragment_of(const FrameBytes& frame, std::size_t from, std::size_t bytes) {
    FrameBytes part(frame.begin(), frame.begin() + kIpPayload);
    const auto at = frame.begin() + static_cast<std::ptrdiff_t>(kIpPayload + from);
    part.insert(part.end(), at, at + static_cast<std::ptrdiff_t>(bytes));
    const bool more = kIpPayload + from + bytes < frame.size();
    wire::store_be<2>(part, kIp + 2, wire::Ipv4::kSize + bytes);
    wire::store_be<2>(part, kIp + 6, (more ? kMore : 0U) | from / 8);
    wire::store_be<2>(part, kIp + 10, 0);
    const wire::Bytes header = wire::Bytes(part).subspan(kIp, wire::Ipv4::kSize);
    wire::store_be<2>(part, kIp + 10, wire::ipv4_checksum(header));
    return part;
}

// One frame for each of the corpus's carriers that have an IPv4 header after the first Ethernet
// header.
std::vector<corpus::CorpusFrame> carried_by_ipv4() {
    std::vector<corpus::CorpusFrame> frames;
    const auto corpora = corpus::corpora();
    for (const auto& one : corpora.front().frames) {
        if (one.opcode != 0x04) continue;
        if (wire::load_u16(one.bytes, 12) == 0x0800) frames.push_back(one);
    }
    return frames;
}

} // namespace

TEST_CASE("fragments: the first fragment of every tunnel's packet, of every length, is no cut and "
          "contradicts nothing",
          "[decode]") {
    const auto frames = carried_by_ipv4();
    REQUIRE(frames.size() > 20);
    std::size_t transport_packets = 0;
    for (const auto& [opcode, carrier, frame] : frames) {
        for (std::size_t bytes = 8; kIpPayload + bytes < frame.size(); bytes += 8) {
            INFO(carrier << ", " << bytes << " bytes");
            const FrameBytes part = fragment_of(frame, 0, bytes);
            const Dissection d = taken_apart(part);
            CHECK(d.fragment);
            CHECK_FALSE(d.cut);
            CHECK_FALSE(d.malformed);
            CHECK(d.layers.end()[-1].offset + d.layers.end()[-1].length == part.size());
            if (!d.transport_packet()) continue;
            ++transport_packets;
            CHECK(kinds_of(d) == std::vector{FindingKind::IpFragment});
            CHECK(d.findings.all()[0].offset == kIp + 6);
            CHECK(d.icrc.reason == IcrcReason::Fragment);
        }
    }
    CHECK(transport_packets > 100);
}

TEST_CASE("fragments: what the capture holds less of than was on the wire is cut", "[decode]") {
    for (const auto& [opcode, carrier, frame] : carried_by_ipv4()) {
        for (const std::size_t from : {std::size_t{0}, std::size_t{16}}) {
            const FrameBytes part = fragment_of(frame, from, 24);
            const auto length = static_cast<std::uint32_t>(part.size());
            for (std::size_t captured = kIpPayload; captured < part.size(); ++captured) {
                INFO(carrier << ", from " << from << ", " << captured << " bytes captured");
                const Dissection d = taken_apart(wire::Bytes(part).first(captured), 1, length);
                CHECK(d.fragment);
                CHECK(d.cut);
                CHECK_FALSE(d.malformed);
            }
            // Padding of the frame is not part of the fragment.
            FrameBytes padded = part;
            padded.resize(padded.size() + 6);
            const Dissection d = taken_apart(part, 1, length + 6);
            CHECK(d.fragment);
            CHECK_FALSE(d.cut);
        }
    }
}

TEST_CASE("fragments: a length that contradicts another inside a fragment is still found",
          "[decode]") {
    for (const auto& [opcode, carrier, frame] : carried_by_ipv4()) {
        if (carrier != "ip in ip") continue;
        FrameBytes wrong = frame;
        const bool v6 = wire::load_u8(wrong, kIpPayload) >> 4 == 6;
        const std::size_t udp = kIpPayload + (v6 ? wire::Ipv6::kSize : wire::Ipv4::kSize);
        wire::store_be<2>(wrong, udp + 4, wire::load_u16(wrong, udp + 4) + 1U);
        const FrameBytes part = fragment_of(wrong, 0, v6 ? 72 : 56);
        CHECK(kinds_of(taken_apart(part)) ==
              std::vector{FindingKind::IpFragment, FindingKind::UdpLength});
    }
}

TEST_CASE("fragments: the same of IPv6, around a tunnel", "[decode]") {
    const auto inner = made({.opcode = 0x04, .payload = payload(64)});
    FrameBytes frame(inner.begin(), inner.begin() + 12);
    frame.resize(frame.size() + 2 + wire::Ipv6::kSize + 8);
    wire::store_be<2>(frame, 12, 0x86DD);
    wire::store_be<1>(frame, 14, 0x60);
    wire::store_be<2>(frame, 14 + 4, 8 + 72);
    wire::store_be<1>(frame, 14 + 6, 44);                    // a fragment header
    wire::store_be<1>(frame, 14 + wire::Ipv6::kSize, 4);     // of IPv4
    wire::store_be<2>(frame, 14 + wire::Ipv6::kSize + 2, 1); // the first, more follow
    frame.insert(frame.end(), inner.begin() + 14, inner.begin() + 14 + 72);
    const Dissection d = taken_apart(frame);
    CHECK(d.protocol == Protocol::RoceV2);
    CHECK(kinds_of(d) == std::vector{FindingKind::IpFragment});
    CHECK_FALSE(d.cut);
    CHECK_FALSE(d.malformed);
}
