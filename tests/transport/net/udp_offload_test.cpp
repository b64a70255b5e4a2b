// Segmentation offload on a real veth pair: what the kernel makes of a run of datagrams, and what
// the receiver makes of datagrams that the kernel has joined.
#include <catch2/catch.hpp>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <thread>

#include "dissector/wire/icrc.hpp"
#include "tests/transport/net/lab.hpp"
#include "tests/transport/net/udp_packets.hpp"
#include "transport/net/clock.hpp"

namespace {

using namespace veriroce;
using namespace veriroce::net_test;

const net::UdpLinkOptions kOffload{.offload = true};
const net::UdpLinkOptions kStrict{.offload = true, .expected_ids_only = true};

struct Addresses {
    std::string here;
    std::string peer;
};

Addresses either_family() {
    const bool v4 = GENERATE(true, false);
    return v4 ? Addresses{"10.77.0.1", "10.77.0.2"} : Addresses{"fd77::1", "fd77::2"};
}

std::size_t expected_ids(const std::vector<UdpSeen>& seen) {
    return static_cast<std::size_t>(
        std::ranges::count_if(seen, [](const UdpSeen& one) { return one.received.id_expected; }));
}

// This thread's kernel knows neither UDP_SEGMENT nor UDP_GRO, as before Linux 4.18 and 5.0.
void forget_offloads() {
    constexpr auto argument = [](unsigned index) {
        return static_cast<std::uint32_t>(offsetof(seccomp_data, args) + 8 * index);
    };
    constexpr std::uint32_t refuse = SECCOMP_RET_ERRNO | ENOPROTOOPT;
    std::array<sock_filter, 9> code{{
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_setsockopt, 0, 6),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(1)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument(2)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, UDP_SEGMENT, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, UDP_GRO, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, refuse),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    }};
    const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
    REQUIRE(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    REQUIRE(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

} // namespace

TEST_CASE("udp offload: every segment on the wire has the ICRC of its own identification",
          "[net]") {
    const Lab lab;
    const auto [here, peer] = either_family();
    lab.run_at_peer("ethtool -K vb tx-udp-segmentation off"); // so that the kernel cuts before it
    const auto watch = lab.open();
    const auto sender = lab.at_peer([&] { return open_udp(peer, kOffload); });
    REQUIRE(sender->offloads().send);
    auto packets = udp_packets(30, 1024);
    packets.emplace_back(31, 501); // a shorter last one, with pad
    const wire::Envelope to{.destination = ip(here), .dscp = 26, .ecn = 2, .hop_limit = 33};
    queue_all(*sender, packets, to);
    REQUIRE(sender->flush().has_value());
    CHECK(sender->refused() == 0);
    std::size_t frames = 0;
    for (const auto& seen : receive_until(*watch, 31)) {
        const auto frame = wire::decode_frame(seen.bytes);
        if (!frame) continue; // ARP and its kin
        REQUIRE(frames < packets.size());
        const auto sent = packets[frames].bytes();
        CHECK(std::ranges::equal(frame->transport, sent));
        CHECK(wire::icrc(frame->covered()) == frame->icrc);
        CHECK(frame->envelope().dscp == 26);
        CHECK(frame->envelope().hop_limit == 33);
        if (frame->ipv4) {
            CHECK(frame->ipv4->id == frames);
            CHECK(frame->ipv4->dont_fragment);
        }
        ++frames;
    }
    CHECK(frames == packets.size());
}

TEST_CASE("udp offload: joined datagrams come apart as they were sent", "[net]") {
    const Lab lab;
    const auto [here, peer] = either_family();
    const auto receiver = open_udp(here, kStrict);
    const auto sender = lab.at_peer([&] { return open_udp(peer, kOffload); });
    REQUIRE(receiver->offloads().receive);
    allow_jumbo_frames(lab);
    // 64 of a run at most, 65,507 bytes of a run at most; a short one ends it, and so does a long.
    std::vector<UdpPacket> packets = udp_packets(150, 64);
    for (const std::size_t bytes : {1024U, 1024U, 1000U, 1024U, 1025U, 1030U, 0U, 0U, 3U, 1400U,
                                    2048U, 2048U, 2047U, 2049U, 2049U, 2050U, 4096U, 4096U, 77U})
        packets.emplace_back(static_cast<std::uint32_t>(packets.size() + 1), bytes);
    for (const std::size_t bytes : {1024U, 4096U}) {
        for (int i = 0; i < 100; ++i)
            packets.emplace_back(static_cast<std::uint32_t>(packets.size() + 1), bytes);
    }
    queue_all(*sender, packets, {.destination = ip(here), .ecn = 1});
    REQUIRE(sender->flush().has_value());
    const auto seen = receive_count(*receiver, packets.size());
    CHECK(differences(seen, packets) == 0);
    CHECK(expected_ids(seen) == packets.size());
    CHECK(seen.back().received.datagram.envelope.ecn == 1);
    CHECK(receiver->bad_icrc() == 0);
}

TEST_CASE("udp offload: a run ends where the receiver or the envelope changes", "[net]") {
    const Lab lab;
    const auto [here, peer] = either_family();
    const auto receiver = open_udp(here, kStrict);
    const auto other = open_udp(here, {.port = 4792, .offload = true, .expected_ids_only = true});
    const auto sender = lab.at_peer([&] { return open_udp(peer, kOffload); });
    const auto packets = udp_packets(40, 200);
    std::vector<UdpPacket> to_receiver;
    std::vector<UdpPacket> to_other;
    for (std::size_t i = 0; i < packets.size(); ++i) {
        wire::Envelope envelope{.destination = ip(here)};
        if (i / 5 % 2 == 1) envelope.destination_port = 4792;
        if (i % 10 == 3) envelope.ecn = 2;
        queue_all(*sender, std::span(packets).subspan(i, 1), envelope);
        (i / 5 % 2 == 1 ? to_other : to_receiver).push_back(packets[i]);
    }
    REQUIRE(sender->flush().has_value());
    const auto seen = receive_count(*receiver, to_receiver.size());
    CHECK(differences(seen, to_receiver) == 0);
    CHECK(expected_ids(seen) == seen.size());
    CHECK(seen[3].received.datagram.envelope.ecn == 2);
    CHECK(seen[4].received.datagram.envelope.ecn == 0);
    CHECK(differences(receive_count(*other, to_other.size()), to_other) == 0);
}

TEST_CASE("udp offload: one bad ICRC among joined datagrams is the only one", "[net]") {
    const Lab lab;
    const auto [here, peer] = either_family();
    const bool strict = GENERATE(true, false);
    const auto receiver = open_udp(here, {.offload = true, .expected_ids_only = strict});
    const auto sender = lab.at_peer([&] { return open_udp(peer, kOffload); });
    const std::size_t broken = GENERATE(0U, 17U, 29U);
    allow_jumbo_frames(lab);
    auto packets = udp_packets(30, net::UdpLink::kCopiedBytes + 4);
    queue_all(*sender, packets, {.destination = ip(here)});
    packets[broken].payload[100] ^= std::byte{1}; // after its ICRC was made
    REQUIRE(sender->flush().has_value());
    const auto seen = receive_count(*receiver, packets.size());
    CHECK(differences(seen, packets) == 0);
    for (std::size_t i = 0; i < seen.size(); ++i)
        CHECK(seen[i].received.icrc_good == (i != broken));
    CHECK(expected_ids(seen) == packets.size() - 1);
    CHECK(receiver->bad_icrc() == 1);
}

TEST_CASE("udp offload: with and without it understand each other", "[net]") {
    const Lab lab;
    const auto [here, peer] = either_family();
    const bool sends = GENERATE(true, false);
    const auto receiver = open_udp(here, {.offload = !sends, .expected_ids_only = true});
    const auto sender = lab.at_peer([&] { return open_udp(peer, {.offload = sends}); });
    const auto packets = udp_packets(20, 1024);
    queue_all(*sender, packets, {.destination = ip(here)});
    REQUIRE(sender->flush().has_value());
    const auto seen = receive_count(*receiver, packets.size());
    CHECK(differences(seen, packets) == 0);
    CHECK(receiver->bad_icrc() == 0);
    // Also the segments of a run that come one by one: each follows the one before.
    CHECK(expected_ids(seen) == packets.size());
}

TEST_CASE("udp offload: a run that the way does not take is refused datagram by datagram",
          "[net]") {
    const Lab lab;
    const auto [here, peer] = either_family();
    const auto receiver = open_udp(here, kStrict);
    const auto sender = lab.at_peer([&] { return open_udp(peer, kOffload); });
    const auto before = udp_packets(3, 1024, 1);
    auto large = udp_packets(4, 2000, 4); // the MTU is 1500
    large.emplace_back(8, 100);           // the last of the run fits
    const wire::Envelope to{.destination = ip(here)};
    queue_all(*sender, before, to);
    queue_all(*sender, large, to);
    const auto flushed = sender->flush();
    REQUIRE_FALSE(flushed.has_value());
    CHECK(flushed.error().kind == net::ErrorKind::TooLong);
    CHECK(sender->refused() == 4);
    auto arrived = before;
    arrived.push_back(large.back());
    const auto seen = receive_count(*receiver, arrived.size());
    CHECK(differences(seen, arrived) == 0);
    CHECK(expected_ids(seen) == arrived.size()); // the last was sent again, with identification 0
    CHECK(sender->offloads().send);
}

TEST_CASE("udp offload: a kernel without it is used without", "[net]") {
    const Lab lab;
    const auto [here, peer] = either_family();
    const auto packets = udp_packets(20, 1024);
    std::unique_ptr<net::UdpLink> sender;
    lab.at_peer([&] {
        std::thread old_kernel([&] {
            forget_offloads();
            sender = open_udp(peer, kOffload);
        });
        old_kernel.join();
    });
    CHECK_FALSE(sender->offloads().send);
    CHECK_FALSE(sender->offloads().receive);
    const auto receiver = open_udp(here, kStrict);
    queue_all(*sender, packets, {.destination = ip(here)});
    REQUIRE(sender->flush().has_value());
    const auto seen = receive_count(*receiver, packets.size());
    CHECK(differences(seen, packets) == 0);
    CHECK(expected_ids(seen) == packets.size());
    queue_all(*receiver, packets, {.destination = ip(peer)});
    REQUIRE(receiver->flush().has_value());
    CHECK(differences(receive_count(*sender, packets.size()), packets) == 0);
}
