// ARP and neighbour discovery: by frames typed independently, and against a real kernel.
#include "transport/net/neighbour_packets.hpp"

#include <catch2/catch.hpp>

#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <string_view>
#include <thread>

#include "tests/transport/net/lab.hpp"
#include "transport/net/clock.hpp"
#include "transport/net/kernel_neighbours.hpp"

namespace {

using namespace veriroce;
using namespace veriroce::net_test;
using namespace std::chrono_literals;
using Kind = net::NeighbourMessage::Kind;

std::vector<std::byte> hex(std::string_view text) {
    std::vector<std::byte> bytes;
    std::string digits;
    for (const char c : text) {
        if (c == ' ') continue;
        digits += c;
        if (digits.size() < 2) continue;
        bytes.push_back(static_cast<std::byte>(std::stoul(digits, nullptr, 16)));
        digits.clear();
    }
    return bytes;
}

wire::MacAddress mac(std::string_view text) {
    return *wire::MacAddress::parse(text);
}

std::vector<std::byte> head(const std::vector<std::byte>& frame, std::size_t bytes) {
    REQUIRE(frame.size() >= bytes);
    return {frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(bytes)};
}

// RFC 826, typed by hand: 10.77.0.2 asks for 10.77.0.9.
const auto kArpRequest = hex("ffffffffffff 525400770002 0806 0001 0800 06 04 0001"
                             "525400770002 0a4d0002 000000000000 0a4d0009");
const auto kArpReply = hex("525400770002 525400770001 0806 0001 0800 06 04 0002"
                           "525400770001 0a4d0009 525400770002 0a4d0002");

// RFC 4861, typed by hand: fd77::2 asks for fd77::9, with its own MAC. 0xE99C: the checksum.
const auto kSolicitation = hex("3333ff000009 525400770002 86dd 60000000 0020 3a ff"
                               "fd770000000000000000000000000002"
                               "ff0200000000000000000001ff000009"
                               "87 00 0000 00000000"
                               "fd770000000000000000000000000009 0101 525400770002");

// What the peer's kernel knows of an address, waiting until it does or `deadline` has passed.
std::optional<wire::MacAddress> peer_learns(const Lab& lab, const wire::IpAddress& address,
                                            wire::Instant deadline) {
    return lab.at_peer([&]() -> std::optional<wire::MacAddress> {
        const auto index = static_cast<int>(::if_nametoindex("vb"));
        do {
            if (auto known = net::kernel_neighbour(index, address)) return known;
            std::this_thread::sleep_for(1ms);
        } while (net::monotonic_now() < deadline);
        return std::nullopt;
    });
}

void ask_from_peer(const Lab& lab, const std::string& address) {
    const auto socket = lab.udp_at_peer(address, 4791);
    REQUIRE(::send(socket.fd(), "x", 1, 0) == 1);
}

} // namespace

TEST_CASE("neighbour packets: an ARP request is read and answered as RFC 826 says", "[net]") {
    const auto request = net::parse_neighbour(kArpRequest);
    REQUIRE(request.has_value());
    CHECK(request->kind == Kind::Request);
    CHECK(request->target == ip("10.77.0.9"));
    CHECK(request->sender == ip("10.77.0.2"));
    CHECK(request->sender_mac == mac("52:54:00:77:00:02"));
    CHECK_FALSE(request->vlan.has_value());
    const auto answer = net::neighbour_answer(*request, mac("52:54:00:77:00:01"));
    CHECK(head(answer, kArpReply.size()) == kArpReply);
    CHECK(head(net::neighbour_request(mac("52:54:00:77:00:02"), ip("10.77.0.2"), ip("10.77.0.9"),
                                      std::nullopt),
               kArpRequest.size()) == kArpRequest);
    const auto read = net::parse_neighbour(kArpReply);
    REQUIRE(read.has_value());
    CHECK(read->kind == Kind::Answer);
    CHECK(read->target == ip("10.77.0.9"));
    CHECK(read->target_mac == mac("52:54:00:77:00:01"));
}

TEST_CASE("neighbour packets: a solicitation is read, and made byte for byte", "[net]") {
    const auto request = net::parse_neighbour(kSolicitation);
    REQUIRE(request.has_value());
    CHECK(request->kind == Kind::Request);
    CHECK(request->target == ip("fd77::9"));
    CHECK(request->sender == ip("fd77::2"));
    CHECK(request->sender_mac == mac("52:54:00:77:00:02"));
    auto made = net::neighbour_request(mac("52:54:00:77:00:02"), ip("fd77::2"), ip("fd77::9"),
                                       std::nullopt);
    REQUIRE(made.size() == kSolicitation.size());
    CHECK((made[56] != std::byte{0} || made[57] != std::byte{0}));
    made[56] = made[57] = std::byte{0}; // the checksum: a kernel judges it in the tests below
    CHECK(made == kSolicitation);
    CHECK(net::solicited_node_mac(ip("fd77::12:3456")) == mac("33:33:ff:12:34:56"));
}

TEST_CASE("neighbour packets: an answer is an advertisement with the MAC asked for", "[net]") {
    auto request = net::parse_neighbour(kSolicitation);
    REQUIRE(request.has_value());
    request->vlan = wire::VlanId{7, 5};
    const auto bytes = net::neighbour_answer(*request, mac("52:54:00:77:00:01"));
    CHECK(head(bytes, 18) == hex("525400770002 525400770001 8100 a007 86dd"));
    CHECK(std::to_integer<int>(bytes[18 + 40]) == 136);
    CHECK(std::to_integer<int>(bytes[18 + 44]) == 0x60); // solicited, override
    const auto answer = net::parse_neighbour(bytes);
    REQUIRE(answer.has_value());
    CHECK(answer->kind == Kind::Answer);
    CHECK(answer->target == ip("fd77::9"));
    CHECK(answer->target_mac == mac("52:54:00:77:00:01"));
    CHECK(answer->vlan == request->vlan);
}

TEST_CASE("neighbour packets: whoever probes for duplicates is answered through all nodes",
          "[net]") {
    const net::NeighbourMessage probe{.target = ip("fd77::9"),
                                      .sender = wire::IpAddress{},
                                      .sender_mac = mac("52:54:00:77:00:02")};
    const auto bytes = net::neighbour_answer(probe, mac("52:54:00:77:00:01"));
    CHECK(head(bytes, 14) == hex("333300000001 525400770001 86dd"));
    CHECK(std::to_integer<int>(bytes[14 + 44]) == 0x20); // override only
}

TEST_CASE("neighbour packets: half a packet is none", "[net]") {
    for (const auto* whole : {&kArpRequest, &kArpReply, &kSolicitation}) {
        for (std::size_t bytes = 0; bytes < whole->size() - 8; ++bytes)
            CHECK_FALSE(net::parse_neighbour(head(*whole, bytes)).has_value());
    }
    CHECK_FALSE(net::parse_neighbour(roce_frame(1)).has_value());
    auto mapped = kSolicitation; // for ::ffff:10.77.0.9, which is not an IPv6 address of the wire
    const auto target = ip("10.77.0.9");
    std::ranges::copy(target.bytes, mapped.begin() + 62);
    CHECK_FALSE(net::parse_neighbour(mapped).has_value());
    auto routed = kSolicitation;
    routed[21] = std::byte{254}; // a hop limit that says that it came over a router
    CHECK_FALSE(net::parse_neighbour(routed).has_value());
}

TEST_CASE("neighbours: extra addresses are answered for, also while nobody receives", "[net]") {
    const Lab lab;
    const auto address = GENERATE(std::string("10.77.0.9"), std::string("fd77::12:3456"));
    auto link = lab.open({.extra_addresses = {ip("10.77.0.9"), ip("fd77::12:3456")}});
    ask_from_peer(lab, address);
    CHECK(peer_learns(lab, ip(address), soon()) == mac("52:54:00:77:00:01"));

    link.reset();
    lab.run_at_peer("ip neigh flush dev vb");
    ask_from_peer(lab, address);
    CHECK_FALSE(peer_learns(lab, ip(address), net::monotonic_now() + 100ms).has_value());
}

TEST_CASE("neighbours: nobody else's address is answered for, and nothing is announced", "[net]") {
    const Lab lab;
    const auto link = lab.open({.extra_addresses = {ip("10.77.0.9")}});
    ask_from_peer(lab, "10.77.0.10"); // an unused address
    ask_from_peer(lab, "10.77.0.9");  // asked later: once it is answered the first would be, too
    CHECK(peer_learns(lab, ip("10.77.0.9"), soon()).has_value());
    std::size_t requests = 0;
    std::size_t answers = 0;
    for (;;) {
        const auto packet = link->receive(net::monotonic_now());
        REQUIRE(packet.has_value());
        if (!*packet) break;
        const auto message = net::parse_neighbour((*packet)->frame);
        if (!message) continue;
        if (message->kind == Kind::Request)
            ++requests;
        else if (message->target == ip("10.77.0.9"))
            ++answers;
        if ((*packet)->outgoing) CHECK(message->target == ip("10.77.0.9"));
    }
    CHECK(requests == 2);
    CHECK(answers == 1);
}

TEST_CASE("neighbours: the MAC of a host is found, whoever of us asks", "[net]") {
    const Lab lab;
    const auto link = lab.open({.extra_addresses = {ip("10.77.0.9"), ip("fd77::9")}});
    const auto find = [&link](const std::string& address, const std::string& source) {
        return link->resolve(ip(address), ip(source), std::nullopt, soon());
    };
    CHECK(find("10.77.0.2", "10.77.0.1").value() == mac("52:54:00:77:00:02"));
    CHECK(find("10.77.0.2", "10.77.0.9").value() == mac("52:54:00:77:00:02"));
    CHECK(find("fd77::2", "fd77::1").value() == mac("52:54:00:77:00:02"));
    CHECK(find("fd77::2", "fd77::9").value() == mac("52:54:00:77:00:02"));
}

TEST_CASE("neighbours: what the kernel holds for right is not asked again", "[net]") {
    const Lab lab;
    const auto link = lab.open();
    lab.run("ip neigh replace 10.77.0.77 lladdr 52:54:00:77:00:77 dev va nud permanent");
    CHECK(link->resolve(ip("10.77.0.77"), ip("10.77.0.1"), std::nullopt, net::monotonic_now())
              .value() == mac("52:54:00:77:00:77"));
}

TEST_CASE("neighbours: whether somebody answers is asked on the link", "[net]") {
    const Lab lab;
    const auto link = lab.open();
    lab.run("ip neigh replace 10.77.0.77 lladdr 52:54:00:77:00:77 dev va nud permanent");
    const auto answers = [&](const std::string& address) {
        return link->answers(ip(address), ip("10.77.0.1"), std::nullopt,
                             net::monotonic_now() + 300ms);
    };
    CHECK(answers("10.77.0.2").value());
    CHECK_FALSE(answers("10.77.0.77").value()); // the kernel's table is not asked
}

TEST_CASE("neighbours: everybody who claims an address is named", "[net]") {
    const Lab lab;
    const auto link = lab.open();
    const auto claim = [&](const std::string& address) {
        return link->who_has(ip(address), ip("10.77.0.1"), net::monotonic_now() + 300ms);
    };
    CHECK(claim("10.77.0.2") == std::vector{mac("52:54:00:77:00:02")});
    CHECK(claim("10.77.0.99").empty());
    lab.run_at_peer("ip link add m0 link vb address 52:54:00:77:00:03 type macvlan && "
                    "ip addr add 10.77.0.2/24 dev m0 && ip link set m0 up");
    auto both = claim("10.77.0.2");
    const auto give_up = soon();
    while (both.size() < 2 && net::monotonic_now() < give_up) // m0 may need a while to come up
        both = claim("10.77.0.2");
    CHECK(both.size() == 2);
    CHECK(std::ranges::find(both, mac("52:54:00:77:00:03")) != both.end());
}

TEST_CASE("neighbours: an address that nobody has is an error that says so", "[net]") {
    const Lab lab;
    const auto link = lab.open();
    const auto start = net::monotonic_now();
    const auto nobody = link->resolve(ip("10.77.0.99"), ip("10.77.0.1"), std::nullopt,
                                      net::monotonic_now() + 250ms);
    CHECK(net::monotonic_now() >= start + 250ms);
    REQUIRE_FALSE(nobody.has_value());
    CHECK(nobody.error().kind == net::ErrorKind::NoNeighbour);
    CHECK(nobody.error().text ==
          "10.77.0.99 does not answer on va: it must be up and on the same L2 network");
}

TEST_CASE("neighbours: inside a VLAN own addresses are answered for as well", "[net]") {
    const Lab lab;
    const auto here = lab.open();
    const auto peer = lab.open_at_peer();
    const wire::VlanId vlan{7, 3};
    CHECK(here->resolve(ip("10.77.0.2"), ip("10.77.0.1"), vlan, soon()).value() == peer->mac());
    CHECK(here->resolve(ip("fd77::2"), ip("fd77::1"), vlan, soon()).value() == peer->mac());
}
