// The raw link on a real veth pair: what goes through it, what is said beside it, and when.
#include "transport/net/raw_link.hpp"

#include <catch2/catch.hpp>

#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>

#include "dissector/wire/ethernet.hpp"
#include "tests/transport/net/lab.hpp"
#include "transport/net/clock.hpp"

namespace {

using namespace veriroce;
using namespace veriroce::net_test;
using namespace std::chrono_literals;

constexpr std::uint32_t kLast = 0xFFFFFF; // the PSN of a frame that ends a test's traffic

void send(net::RawLink& link, const std::vector<std::byte>& frame) {
    const auto sent = link.send(frame);
    if (!sent) FAIL(sent.error().text);
}

// Waits until a connected socket at the peer has an error: ICMP port unreachable came back.
int error_of(const net::Descriptor& socket) {
    pollfd polled{socket.fd(), POLLIN, 0};
    ::poll(&polled, 1, 10'000);
    int number = 0;
    socklen_t size = sizeof number;
    ::getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &number, &size);
    return number;
}

void send_text(const net::Descriptor& socket, std::string_view text) {
    REQUIRE(::send(socket.fd(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
}

} // namespace

TEST_CASE("raw link: says what interface it is on", "[net]") {
    const Lab lab;
    const auto link = lab.open({.extra_addresses = {ip("10.77.0.9")}});
    CHECK(link->interface() == "va");
    CHECK(link->mac().text() == "52:54:00:77:00:01");
    CHECK(link->mtu() == 1500);
    REQUIRE(link->own_addresses().size() == 2);
    CHECK(link->own_addresses()[0] == ip("10.77.0.1"));
    CHECK(link->own_addresses()[1] == ip("fd77::1"));
    CHECK(link->subnets() == std::vector<net::Subnet>{{ip("10.77.0.1"), 24}, {ip("fd77::1"), 64}});
    CHECK(link->extra_addresses() == std::vector{ip("10.77.0.9")});
}

TEST_CASE("raw link: frames arrive as they were sent, also with a VLAN tag", "[net]") {
    const Lab lab;
    lab.silence();
    const auto here = lab.open();
    const auto peer = lab.open_at_peer();
    const wire::Envelope v4{.source = ip("10.77.0.2"), .destination = ip("10.77.0.1")};
    const wire::Envelope v6{.source = ip("fd77::2"), .destination = ip("fd77::1")};
    auto tagged_v4 = v4;
    tagged_v4.vlan = wire::VlanId{7, 5};
    auto tagged_v6 = v6;
    tagged_v6.vlan = wire::VlanId{0, 3}; // a priority tag
    const std::vector<std::vector<std::byte>> frames{
        roce_frame(1, 64, v4), roce_frame(2, 64, v6), roce_frame(3, 64, tagged_v4),
        roce_frame(4, 64, tagged_v6), roce_frame(kLast)};
    for (const auto& frame : frames)
        send(*peer, frame);
    const auto seen = receive_until(*here, kLast);
    REQUIRE(seen.size() == frames.size());
    for (std::size_t i = 0; i < frames.size(); ++i) {
        CHECK(seen[i].bytes == frames[i]);
        CHECK(seen[i].packet.vlan_put_back == (i == 2 || i == 3));
        CHECK_FALSE(seen[i].packet.outgoing);
        CHECK_FALSE(seen[i].packet.merged);
        CHECK_FALSE(seen[i].packet.checksum_not_ready);
        CHECK_FALSE(seen[i].packet.truncated);
    }
    CHECK(here->drops() == 0);
}

TEST_CASE("raw link: two VLAN tags stay two", "[net]") {
    const Lab lab;
    lab.silence();
    const auto here = lab.open();
    const auto peer = lab.open_at_peer();
    auto frame = roce_frame(1);
    const std::array<std::byte, 8> tags{std::byte{0x88}, std::byte{0xA8}, std::byte{0x10},
                                        std::byte{0x05}, std::byte{0x81}, std::byte{0x00},
                                        std::byte{0x00}, std::byte{0x06}};
    frame.insert(frame.begin() + 12, tags.begin(), tags.end());
    send(*peer, frame);
    send(*peer, roce_frame(kLast));
    const auto seen = receive_until(*here, kLast);
    REQUIRE(seen.size() == 2);
    CHECK(seen[0].bytes == frame);
}

TEST_CASE("raw link: the filter keeps what a RoCE tester needs and no more", "[net]") {
    const Lab lab;
    const auto here = lab.open();
    const auto peer = lab.open_at_peer();
    const auto with = [](std::size_t at, std::uint8_t value) {
        auto frame = roce_frame(1);
        frame[at] = std::byte{value};
        return frame;
    };
    struct Row {
        std::string_view what;
        std::vector<std::byte> frame;
        bool kept;
    };
    auto rocev1 = with(12, 0x89);
    rocev1[13] = std::byte{0x15};
    auto pause = with(12, 0x88);
    pause[13] = std::byte{0x08};
    auto experimental = with(12, 0x88);
    experimental[13] = std::byte{0xB5};
    const wire::Envelope v6{.source = ip("fd77::2"), .destination = ip("fd77::1")};
    auto v6_port = v6;
    v6_port.destination_port = 4792;
    auto v6_tcp = roce_frame(1, 64, v6);
    v6_tcp[20] = std::byte{6};
    const std::vector<Row> rows{
        {"UDP 4791 over IPv4", roce_frame(1), true},
        {"UDP 4791 over IPv6", roce_frame(1, 64, v6), true},
        {"UDP to another port", with(37, 0xB8), false},
        {"UDP over IPv6 to another port", roce_frame(1, 64, v6_port), false},
        {"TCP", with(23, 6), false},
        {"TCP over IPv6", v6_tcp, false},
        {"ICMP", with(23, 1), true},
        {"a later fragment of UDP", with(21, 1), true},
        {"RoCEv1", rocev1, true},
        {"MAC control", pause, true},
        {"another EtherType", experimental, false},
    };
    for (const auto& row : rows)
        send(*peer, row.frame);
    send(*peer, roce_frame(kLast));
    const auto seen = receive_until(*here, kLast);
    for (const auto& row : rows) {
        INFO(row.what);
        CHECK(row.kept == std::ranges::any_of(seen, [&row](const Seen& one) {
                  return !one.packet.outgoing && one.bytes == row.frame;
              }));
    }
}

TEST_CASE("raw link: our own frames come back with their number and stamps in order", "[net]") {
    const Lab lab;
    lab.silence();
    const auto here = lab.open();
    const auto peer = lab.open_at_peer();
    constexpr std::uint32_t kFrames = 20;
    std::vector<net::Sent> sent;
    for (std::uint32_t i = 0; i < kFrames; ++i) {
        // Every second one is a copy of the one before: a retransmission.
        const auto frame = roce_frame_to_peer(i / 2);
        const auto result = here->send(frame);
        REQUIRE(result.has_value());
        CHECK(result->number == i + 1);
        CHECK(result->when.earliest <= result->when.latest);
        sent.push_back(*result);
    }
    send(*here, roce_frame_to_peer(kLast));
    const auto reflected = receive_until(*here, kLast);
    const auto arrived = receive_until(*peer, kLast);
    REQUIRE(reflected.size() == kFrames + 1);
    REQUIRE(arrived.size() == kFrames + 1);
    for (std::uint32_t i = 0; i < kFrames; ++i) {
        const auto& packet = reflected[i].packet;
        CHECK(packet.outgoing);
        CHECK(packet.sent_number == i + 1);
        CHECK(packet.when.earliest == sent[i].when.earliest);
        CHECK(packet.when.earliest <= packet.when.latest);
        // One clock on both sides: it cannot arrive before it was sent. 1 us is for the mapping.
        CHECK(packet.when.latest <= arrived[i].packet.when.latest + 1us);
        CHECK(packet.when.latest <= sent[i].when.latest + 1ms);
        CHECK(reflected[i].bytes == arrived[i].bytes);
    }
}

TEST_CASE("raw link: the path delay widens what comes in, not what goes out", "[net]") {
    const Lab lab;
    lab.silence();
    const auto here = lab.open();
    const auto peer = lab.open_at_peer();
    here->set_path_delay(50us);
    send(*peer, roce_frame(1));
    const auto in = receive_until(*here, 1);
    CHECK(in[0].packet.when.latest - in[0].packet.when.earliest == 50us);
    send(*here, roce_frame_to_peer(2));
    const auto out = receive_until(*here, 2);
    CHECK(out[0].packet.outgoing);
    CHECK(out[0].packet.when.earliest <= out[0].packet.when.latest);
}

TEST_CASE("raw link: the kernel is quiet on UDP 4791 while it is open", "[net]") {
    const Lab lab;
    const auto address = GENERATE(std::string("10.77.0.1"), std::string("fd77::1"));
    const auto before = lab.udp_at_peer(address, 4791);
    send_text(before, "loud");
    CHECK(error_of(before) == ECONNREFUSED); // as the kernel does without us

    const auto link = lab.open();
    const auto during = lab.udp_at_peer(address, 4791);
    const auto other = lab.udp_at_peer(address, 4792);
    send_text(during, "quiet");
    send_text(other, "loud");
    CHECK(error_of(other) == ECONNREFUSED); // so an answer to the first would be here as well
    int number = 0;
    socklen_t size = sizeof number;
    REQUIRE(::getsockopt(during.fd(), SOL_SOCKET, SO_ERROR, &number, &size) == 0);
    CHECK(number == 0);
}

TEST_CASE("raw link: a partial UDP checksum is said to be one", "[net]") {
    const Lab lab;
    const auto link = lab.open();
    const auto socket = lab.udp_at_peer("10.77.0.1", 4791);
    const auto not_ready = [&link] {
        for (;;) {
            const auto received = link->receive(soon());
            REQUIRE(received.has_value());
            REQUIRE(received->has_value());
            if (wire::load_u16((*received)->frame, 12) == 0x0800) {
                return (*received)->checksum_not_ready;
            }
        }
    };
    const std::string text(40, 'x');
    send_text(socket, text);
    CHECK(not_ready());
    lab.run_at_peer("ethtool -K vb tx off >/dev/null");
    send_text(socket, text);
    CHECK_FALSE(not_ready());
}

TEST_CASE("raw link: what an offload has merged is known, also below the MTU", "[net]") {
    const Lab lab;
    lab.silence();
    const auto link = lab.open();
    const auto socket = lab.udp_at_peer("10.77.0.1", 4791);
    const auto next = [&link] {
        for (;;) {
            const auto received = link->receive(soon());
            REQUIRE(received.has_value());
            REQUIRE(received->has_value());
            const net::Received& packet = **received;
            if (packet.frame.empty() || wire::load_u16(packet.frame, 12) == 0x0800) return packet;
        }
    };
    send_text(socket, std::string(1200, 'x'));
    CHECK_FALSE(next().merged);
    // The peer's veth hands over in one piece what it would cut into packets of 400 bytes.
    const int segment = 400;
    REQUIRE(::setsockopt(socket.fd(), IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof segment) == 0);
    for (const std::size_t bytes : {1200U, 8000U}) {
        send_text(socket, std::string(bytes, 'x'));
        const net::Received merged = next();
        CHECK(merged.merged);
        if (merged.frame.empty()) continue; // before Linux 6.2
        CHECK(merged.frame.size() == 14 + 20 + 8 + bytes);
        // Its lengths do not give it away.
        CHECK(wire::load_u16(merged.frame, 16) == 20 + wire::load_u16(merged.frame, 38));
    }
    send_text(socket, std::string(400, 'x')); // one packet is not several
    CHECK_FALSE(next().merged);
}

TEST_CASE("raw link: frames up to the MTU go out, a tag is extra, more is refused", "[net]") {
    const Lab lab;
    const auto link = lab.open();
    const std::size_t headers = 14 + 20 + 8 + 12 + 4;
    CHECK(link->send(roce_frame_to_peer(1, 1514 - headers)).has_value());
    auto tagged = roce_frame(
        2, 1514 - headers,
        {.source = ip("10.77.0.1"), .destination = ip("10.77.0.2"), .vlan = wire::VlanId{7, 0}});
    CHECK(tagged.size() == 1518);
    CHECK(link->send(tagged).has_value());
    const auto refused = link->send(roce_frame_to_peer(3, 1515 - headers));
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().kind == net::ErrorKind::TooLong);
    CHECK(refused.error().text ==
          "a frame of 1515 bytes does not fit va, whose MTU is 1500 (1514 with Ethernet): raise "
          "the MTU on both sides, or use a smaller path MTU");
}

TEST_CASE("raw link: waits until its deadline, or until something else is ready", "[net]") {
    const Lab lab;
    lab.silence();
    const auto link = lab.open();
    const auto start = net::monotonic_now();
    const auto nothing = link->receive(start + 30ms);
    REQUIRE(nothing.has_value());
    CHECK_FALSE(nothing->has_value());
    CHECK(net::monotonic_now() >= start + 30ms);

    const net::Descriptor other(::eventfd(1, EFD_CLOEXEC));
    const std::array also{other.fd()};
    const auto woken = link->receive(net::monotonic_now() + 1h, also);
    REQUIRE(woken.has_value());
    CHECK_FALSE(woken->has_value());

    const auto peer = lab.open_at_peer();
    send(*peer, roce_frame(1));
    const auto packet = link->receive(net::monotonic_now(), also); // a packet comes first
    REQUIRE(packet.has_value());
    REQUIRE(packet->has_value());
    CHECK(psn_of((*packet)->frame) == 1);
}

TEST_CASE("raw link: packets that nobody fetched are counted", "[net]") {
    const Lab lab;
    lab.silence();
    const auto link = lab.open({.receive_buffer_bytes = 4096});
    const auto peer = lab.open_at_peer();
    CHECK(link->drops() == 0);
    for (std::uint32_t i = 0; i < 100; ++i)
        send(*peer, roce_frame(i));
    const auto drops = link->drops();
    CHECK(drops > 0);
    CHECK(drops < 100);
    CHECK(link->drops() == drops); // since open(), not since the last call
    std::uint64_t received = 0;
    for (;;) {
        const auto packet = link->receive(net::monotonic_now());
        REQUIRE(packet.has_value());
        if (!*packet) break;
        ++received;
    }
    CHECK(received + drops == 100);
}

TEST_CASE("raw link: an interface that vanishes is an error and no hang", "[net]") {
    const Lab lab;
    lab.silence();
    const auto link = lab.open();
    std::jthread remover([] {
        std::this_thread::sleep_for(50ms); // so that receive() is waiting by then
        (void)!std::system("ip link del va");
    });
    const auto start = net::monotonic_now();
    const auto lost = link->receive(start + 1h);
    remover.join();
    REQUIRE_FALSE(lost.has_value());
    CHECK(lost.error().text.starts_with("interface va "));
    for (int i = 0; i < 2; ++i) {
        const auto again = link->receive(net::monotonic_now() + 1h);
        REQUIRE_FALSE(again.has_value());
        CHECK(again.error().kind == net::ErrorKind::NoInterface);
        CHECK(again.error().text == "interface va disappeared while it was in use");
    }
    const auto sent = link->send(roce_frame_to_peer(1));
    REQUIRE_FALSE(sent.has_value());
    CHECK(sent.error().text == "interface va disappeared while it was in use");
    CHECK(net::monotonic_now() - start < 10s);
}

TEST_CASE("raw link: an interface that goes down is an error until it is up again", "[net]") {
    const Lab lab;
    lab.silence();
    const auto link = lab.open();
    const auto* expected = "interface va went down while it was in use: ip link set va up, and run "
                           "again";
    lab.run("ip link set va down");
    for (int i = 0; i < 2; ++i) {
        const auto lost = link->receive(soon());
        REQUIRE_FALSE(lost.has_value());
        CHECK(lost.error().kind == net::ErrorKind::InterfaceDown);
        CHECK(lost.error().text == expected);
    }
    CHECK(link->send(roce_frame_to_peer(1)).error().text == expected);
    lab.run("ip link set va up");
    const auto peer = lab.open_at_peer();
    const auto deadline = soon(); // the carrier takes a moment
    std::optional<net::Received> packet;
    while (!packet && net::monotonic_now() < deadline) {
        send(*peer, roce_frame(1));
        const auto received = link->receive(net::monotonic_now() + 20ms);
        REQUIRE(received.has_value());
        packet = *received;
    }
    CHECK(packet.has_value());
}
