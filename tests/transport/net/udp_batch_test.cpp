// The UDP link's batches: many datagrams with one system call, either way, without offload.
#include "transport/net/udp_link.hpp"

#include <catch2/catch.hpp>

#include <sys/socket.h>

#include <algorithm>

#include "dissector/wire/icrc.hpp"
#include "tests/transport/net/lab.hpp"
#include "tests/transport/net/udp_packets.hpp"
#include "transport/net/clock.hpp"

namespace {

using namespace veriroce;
using namespace veriroce::net_test;
using namespace std::chrono_literals;

const std::string kHere = "10.77.0.1";
const std::string kPeer = "10.77.0.2";

} // namespace

TEST_CASE("udp batch: what is queued arrives in order, whatever its size", "[net]") {
    const Lab lab;
    const auto [from, to] = GENERATE(std::pair(kPeer, kHere),
                                     std::pair(std::string("fd77::2"), std::string("fd77::1")));
    const auto receiver = open_udp(to, {.expected_ids_only = true});
    const auto sender = lab.at_peer([&] { return open_udp(from); });
    allow_jumbo_frames(lab);
    std::vector<UdpPacket> packets;
    for (std::uint32_t i = 0; i < 300; ++i) // more than one call takes; every pad there is
        packets.emplace_back(i + 1, i * 29 % 4097);
    queue_all(*sender, packets, {.destination = ip(to)});
    REQUIRE(sender->flush().has_value());
    const auto seen = receive_count(*receiver, packets.size());
    CHECK(differences(seen, packets) == 0);
    CHECK(std::ranges::all_of(seen, [](const UdpSeen& one) {
        return one.received.icrc_good && one.received.id_expected;
    }));
    CHECK(receiver->bad_icrc() == 0);
    CHECK(sender->refused() == 0);
}

TEST_CASE("udp batch: one at a time gives the same as all at once", "[net]") {
    const Lab lab;
    const auto receiver = open_udp(kHere);
    const auto sender = lab.at_peer([&] { return open_udp(kPeer); });
    const auto packets = udp_packets(10, 64);
    queue_all(*sender, packets, {.destination = ip(kHere)});
    REQUIRE(sender->flush().has_value());
    std::vector<UdpSeen> seen;
    for (int i = 0; i < 4; ++i) {
        const auto one = receiver->receive(soon());
        REQUIRE((one && *one));
        const auto bytes = (*one)->datagram.bytes;
        seen.push_back({**one, {bytes.begin(), bytes.end()}});
    }
    for (auto& rest : receive_count(*receiver, 6))
        seen.push_back(std::move(rest));
    CHECK(differences(seen, packets) == 0);
}

TEST_CASE("udp batch: each datagram has its own envelope", "[net]") {
    const Lab lab;
    const auto receiver = open_udp(kHere);
    const auto other = open_udp(kHere, {.port = 4792});
    const auto sender = lab.at_peer([&] { return open_udp(kPeer); });
    const auto packets = udp_packets(6, 100);
    const wire::Envelope plain{.destination = ip(kHere)};
    const wire::Envelope marked{.destination = ip(kHere), .dscp = 26, .ecn = 3, .hop_limit = 3};
    const wire::Envelope elsewhere{.destination = ip(kHere), .destination_port = 4792};
    const std::vector envelopes{plain, plain, marked, marked, elsewhere, plain};
    for (std::size_t i = 0; i < packets.size(); ++i)
        queue_all(*sender, std::span(packets).subspan(i, 1), envelopes[i]);
    CHECK(sender->flush().has_value());
    const auto seen = receive_count(*receiver, 5);
    const auto envelope = [&seen](std::size_t i) { return seen[i].received.datagram.envelope; };
    CHECK(envelope(0).dscp == 0);
    CHECK(envelope(1).hop_limit == 64);
    CHECK(envelope(2).dscp == 26);
    CHECK(envelope(3).ecn == wire::kCongestionExperienced);
    CHECK(envelope(3).hop_limit == 3);
    CHECK(envelope(4).dscp == 0);
    CHECK(receive_count(*other, 1).front().bytes == packets[4].bytes());
}

TEST_CASE("udp batch: what the kernel refuses is counted, and the others go", "[net]") {
    const Lab lab;
    const auto receiver = open_udp(kHere);
    const auto sender = lab.at_peer([&] { return open_udp(kPeer); });
    const wire::Envelope to{.destination = ip(kHere)};
    const auto small = udp_packets(2, 100);
    const UdpPacket large(7, 2000); // the MTU is 1500
    REQUIRE(sender->queue(to, small[0].header, small[0].payload).has_value());
    REQUIRE(sender->queue(to, large.header, large.payload).has_value());
    REQUIRE(sender->queue({.destination = ip("10.99.0.1")}, small[1].header, {}).has_value());
    REQUIRE(sender->queue(to, small[1].header, small[1].payload).has_value());
    const auto flushed = sender->flush();
    REQUIRE_FALSE(flushed.has_value());
    CHECK(flushed.error().kind == net::ErrorKind::TooLong); // the first reason
    CHECK(sender->refused() == 2);
    CHECK(differences(receive_count(*receiver, 2), small) == 0);
    CHECK(sender->flush().has_value()); // nothing is left
}

TEST_CASE("udp batch: broken datagrams are told apart from their neighbours", "[net]") {
    const Lab lab;
    const auto link = open_udp(kHere);
    const auto peer = lab.open_at_peer();
    const auto short_one = lab.udp_at_peer(kHere, 4791);
    for (std::uint32_t psn = 0; psn < 9; ++psn) {
        auto frame = roce_frame(psn); // identification 0x1234
        if (psn == 4) frame[60] ^= std::byte{1};
        REQUIRE(peer->send(frame).has_value());
        REQUIRE(::send(short_one.fd(), "short", 5, 0) == 5);
    }
    const auto seen = receive_count(*link, 9);
    for (std::uint32_t psn = 0; psn < 9; ++psn) {
        CHECK(wire::Bth::decode(seen[psn].bytes)->psn == wire::Psn(psn));
        CHECK(seen[psn].received.icrc_good == (psn != 4));
        CHECK_FALSE(seen[psn].received.id_expected); // 16 bits were checked
    }
    CHECK(link->bad_icrc() == 1);
    CHECK(link->too_short() == 9);
}

TEST_CASE("udp batch: only expected identifications, if that is asked for", "[net]") {
    const Lab lab;
    const auto link = open_udp(kHere, {.expected_ids_only = true});
    const auto peer = lab.open_at_peer();
    REQUIRE(peer->send(roce_frame(1)).has_value());
    CHECK_FALSE(receive_count(*link, 1).front().received.icrc_good);
    CHECK(link->bad_icrc() == 1);
}

TEST_CASE("udp batch: headers that are none are sent as they are", "[net]") {
    const Lab lab;
    const auto receiver = open_udp(kHere, {.expected_ids_only = true});
    const auto sender = lab.at_peer([&] { return open_udp(kPeer); });
    const auto packets = udp_packets(4, 100);
    const wire::Envelope to{.destination = ip(kHere)};
    const auto all = packets[1].bytes();
    REQUIRE(sender->queue(to, packets[0].header, packets[0].payload).has_value());
    REQUIRE(sender->queue(to, all, {}).has_value()); // all of it a header
    REQUIRE(sender
                ->queue(to, wire::Bytes(packets[2].bytes()).first(3),
                        wire::Bytes(packets[2].bytes()).subspan(3))
                .has_value());
    REQUIRE(sender->queue(to, {}, packets[3].bytes()).has_value());
    REQUIRE(sender->flush().has_value());
    const auto seen = receive_count(*receiver, packets.size());
    CHECK(differences(seen, packets) == 0);
    CHECK(receiver->bad_icrc() == 0);
}
