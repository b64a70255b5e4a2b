#include "transport/net/udp_link.hpp"

#include <catch2/catch.hpp>

#include <sys/socket.h>

#include <array>
#include <random>

#include "dissector/wire/bth.hpp"
#include "dissector/wire/icrc.hpp"
#include "tests/transport/net/lab.hpp"
#include "tests/transport/net/udp_packets.hpp"
#include "transport/net/clock.hpp"

namespace {

using namespace veriroce;
using namespace veriroce::net_test;
using namespace std::chrono_literals;

// Transport bytes of a SEND_ONLY: a BTH to know it by, and a payload.
std::array<std::byte, wire::Bth::kSize> bth(std::uint32_t psn) {
    std::array<std::byte, wire::Bth::kSize> bytes{};
    wire::Bth{.opcode = 0x04, .dest_qp = {0x11}, .psn = wire::Psn(psn)}.encode(bytes);
    return bytes;
}

std::uint32_t icrc_on_wire(const wire::Envelope& envelope, wire::Bytes transport,
                           std::uint16_t id) {
    std::vector<std::byte> frame(transport.size() + wire::kMaxFrameOverhead);
    frame.resize(wire::write_frame({}, envelope, id, transport, {}, frame));
    return wire::load_icrc(wire::Bytes(frame).last(wire::kIcrcBytes));
}

} // namespace

TEST_CASE("udp icrc: every identification is found, and only what it can explain", "[net]") {
    const wire::Envelope envelope{.source = ip("10.77.0.2"), .destination = ip("10.77.0.1")};
    const auto bytes = GENERATE(std::size_t{12}, std::size_t{16}, std::size_t{1040});
    std::vector<std::byte> transport(bytes);
    std::mt19937 random(20260101);
    for (auto& byte : transport)
        byte = static_cast<std::byte>(random());
    int wrong = 0;
    for (std::uint32_t id = 0; id <= 0xFFFF; id += 251) {
        const auto icrc = icrc_on_wire(envelope, transport, static_cast<std::uint16_t>(id));
        wrong += net::icrc_matches_some_id(envelope, transport, icrc) == id ? 0 : 1;
    }
    CHECK(wrong == 0);
    // One wrong ICRC in 65,536 is right by chance: among a thousand hardly two.
    int accepted = 0;
    for (int i = 0; i < 1000; ++i)
        accepted +=
            net::icrc_matches_some_id(envelope, transport, static_cast<std::uint32_t>(random()))
                ? 1
                : 0;
    CHECK(accepted <= 2);
}

TEST_CASE("udp icrc: one flipped bit of the transport bytes is found", "[net]") {
    const wire::Envelope envelope{.source = ip("10.77.0.2"), .destination = ip("10.77.0.1")};
    std::vector<std::byte> transport(64, std::byte{0x5A});
    const auto icrc = icrc_on_wire(envelope, transport, 0xBEEF);
    int accepted = 0;
    for (std::size_t bit = 0; bit < transport.size() * 8; ++bit) {
        if (bit / 8 == 4) continue; // not covered (CRC-05)
        transport[bit / 8] ^= std::byte{1} << bit % 8;
        accepted += net::icrc_matches_some_id(envelope, transport, icrc) ? 1 : 0;
        transport[bit / 8] ^= std::byte{1} << bit % 8;
    }
    CHECK(accepted == 0);
}

TEST_CASE("udp icrc: IPv6 has no identification to explain a difference", "[net]") {
    const wire::Envelope envelope{.source = ip("fd77::2"), .destination = ip("fd77::1")};
    const std::vector<std::byte> transport(32, std::byte{1});
    const auto icrc = icrc_on_wire(envelope, transport, 0);
    CHECK(net::icrc_matches_some_id(envelope, transport, icrc) == 0);
    CHECK_FALSE(net::icrc_matches_some_id(envelope, transport, icrc ^ 1).has_value());
}

TEST_CASE("udp link: what it sends is a good RoCE frame with identification 0", "[net]") {
    const Lab lab;
    const auto from = GENERATE(std::string("10.77.0.2"), std::string("fd77::2"));
    const auto to = from == "10.77.0.2" ? std::string("10.77.0.1") : std::string("fd77::1");
    const auto watch = lab.open();
    const auto link = lab.at_peer([&] { return open_udp(from); });
    const wire::Envelope envelope{.destination = ip(to), .dscp = 26, .ecn = 2, .hop_limit = 33};
    const std::vector<std::byte> payload(1000, std::byte{0x33});
    for (std::uint32_t psn = 1; psn <= 3; ++psn)
        REQUIRE(link->send(envelope, bth(psn), payload).has_value());
    std::uint32_t frames = 0;
    for (const auto& seen : receive_until(*watch, 3)) {
        const auto frame = wire::decode_frame(seen.bytes);
        if (!frame) continue; // ARP and its kin
        ++frames;
        // The ICRC alone: the kernel may leave a UDP checksum to be finished by the hardware.
        CHECK(wire::icrc(frame->covered()) == frame->icrc);
        const auto sent = frame->envelope();
        CHECK(sent.source == ip(from));
        CHECK(sent.source_port == 4791);
        CHECK(sent.dscp == 26);
        CHECK(sent.ecn == 2);
        CHECK(sent.hop_limit == 33);
        if (frame->ipv4) {
            CHECK(frame->ipv4->id == 0);
            CHECK(frame->ipv4->dont_fragment);
        }
    }
    CHECK(frames == 3);
}

TEST_CASE("udp link: receives frames of any identification and knows a broken one", "[net]") {
    const Lab lab;
    const auto link = open_udp("10.77.0.1");
    const auto peer = lab.open_at_peer();
    auto broken = roce_frame(2);
    broken[60] ^= std::byte{0x10};
    REQUIRE(peer->send(roce_frame(1)).has_value()); // identification 0x1234
    REQUIRE(peer->send(broken).has_value());
    const auto start = net::monotonic_now();
    for (const bool good : {true, false}) {
        const auto received = link->receive(soon());
        REQUIRE(received.has_value());
        REQUIRE(received->has_value());
        const auto& datagram = (*received)->datagram;
        CHECK((*received)->icrc_good == good);
        CHECK(datagram.bytes.size() == wire::Bth::kSize + 64);
        CHECK(wire::Bth::decode(datagram.bytes)->psn == wire::Psn(good ? 1 : 2));
        CHECK(datagram.envelope.source == ip("10.77.0.2"));
        CHECK(datagram.envelope.destination == ip("10.77.0.1"));
        CHECK(datagram.envelope.hop_limit == 64);
        CHECK((*received)->stamp > start - 1s);
        CHECK((*received)->stamp <= net::monotonic_now() + 1us);
    }
}

TEST_CASE("udp link: IPv6 without a UDP checksum is received, with its ECN", "[net]") {
    const Lab lab;
    const auto link = open_udp("fd77::1");
    const auto peer = lab.open_at_peer();
    REQUIRE(peer
                ->send(roce_frame(
                    1, 64,
                    {.source = ip("fd77::2"), .destination = ip("fd77::1"), .dscp = 11, .ecn = 3}))
                .has_value());
    const auto received = link->receive(soon());
    REQUIRE(received.has_value());
    REQUIRE(received->has_value());
    CHECK((*received)->icrc_good);
    CHECK((*received)->datagram.envelope.ecn == wire::kCongestionExperienced);
    CHECK((*received)->datagram.envelope.dscp == 11);
}

TEST_CASE("udp link: datagrams too short for a BTH and an ICRC are counted", "[net]") {
    const Lab lab;
    const auto link = open_udp("10.77.0.1");
    const auto socket = lab.udp_at_peer("10.77.0.1", 4791);
    for (const std::size_t bytes : {0U, 1U, 15U, 16U}) {
        REQUIRE(::send(socket.fd(), "0123456789abcdef", bytes, 0) == static_cast<ssize_t>(bytes));
    }
    const auto received = link->receive(soon());
    REQUIRE(received.has_value());
    REQUIRE(received->has_value());
    CHECK((*received)->datagram.bytes.size() == 12);
    CHECK_FALSE((*received)->icrc_good);
    CHECK(link->too_short() == 3);
    const auto nothing = link->receive(net::monotonic_now() + 10ms);
    REQUIRE(nothing.has_value());
    CHECK_FALSE(nothing->has_value());
}
