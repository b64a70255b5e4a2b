// The errors of this room, word for word: what was asked for, and the sentence that comes back.
#include <catch2/catch.hpp>

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>

#include "tests/transport/net/lab.hpp"
#include "transport/net/clock.hpp"
#include "transport/net/line_client.hpp"
#include "transport/net/line_server.hpp"
#include "transport/net/socket_address.hpp"
#include "transport/net/udp_link.hpp"

namespace {

using namespace veriroce;
using namespace veriroce::net_test;
using namespace std::chrono_literals;
using net::ErrorKind;

std::string open_text(const net::RawLinkOptions& options) {
    const auto link = net::RawLink::open(options);
    return link ? "it opened" : link.error().text;
}

// What a process without any privilege is told.
std::string open_text_without_privilege() {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        if (::setresuid(65534, 65534, 65534) != 0) ::_exit(1);
        const auto text = open_text({.interface = "va"});
        const auto written = ::write(ends[1], text.data(), text.size());
        ::_exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
    }
    int status = 1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(status == 0);
    std::string text(1000, '\0');
    const auto count = ::read(ends[0], text.data(), text.size());
    REQUIRE(count > 0);
    text.resize(static_cast<std::size_t>(count));
    ::close(ends[0]);
    ::close(ends[1]);
    return text;
}

// A folder like /sys/class/infiniband in which rxe7 has the interface va.
struct FakeRdma {
    FakeRdma() {
        const auto gids = std::filesystem::path(path) / "rxe7/ports/1/gid_attrs/ndevs";
        std::filesystem::create_directories(gids);
        std::ofstream(gids / "0") << "va\n";
    }
    ~FakeRdma() { std::filesystem::remove_all(path); }
    std::string path = "/tmp/veriroce-test-rdma-" + std::to_string(::getpid());
};

net::Descriptor take_roce_port(const std::string& address) {
    const auto where = net::SocketAddress::of(ip(address), 4791);
    net::Descriptor socket(::socket(where.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
    REQUIRE(::bind(socket.fd(), where.get(), where.size) == 0);
    return socket;
}

} // namespace

TEST_CASE("errors: why a raw link cannot be opened", "[net]") {
    const Lab lab;
    CHECK(open_text({.interface = "nope"}) ==
          "there is no interface \"nope\": this host has lo, va");
    CHECK(open_text({.interface = "a-name-much-too-long"}) ==
          "there is no interface \"a-name-much-too-long\": this host has lo, va");
    CHECK(open_text({.interface = "lo"}) ==
          "interface lo is not an Ethernet interface, which RoCEv2 needs");
    CHECK(open_text_without_privilege() ==
          "raw frames on va need CAP_NET_RAW: run as root, or setcap "
          "cap_net_raw,cap_net_admin+ep on the program");
    const FakeRdma rdma;
    CHECK(open_text({.interface = "va", .rdma_class = rdma.path}) ==
          "interface va belongs to the RDMA device rxe7, which would get the packets: use another "
          "interface, or remove the device (rdma link delete rxe7)");
    lab.run_at_peer("ip link set vb down");
    lab.run("timeout 5 sh -c 'until ip link show va | grep -q NO-CARRIER; do sleep 0.02; done'");
    CHECK(open_text({.interface = "va"}) ==
          "interface va has no carrier: check its cable, or whether the other end is up");
    lab.run("ip link set va down");
    CHECK(open_text({.interface = "va"}) == "interface va is down: ip link set va up");
}

TEST_CASE("errors: UDP 4791 is taken", "[net]") {
    const Lab lab;
    const auto address = GENERATE(std::string("10.77.0.1"), std::string("fd77::1"));
    auto taken = take_roce_port(address);
    CHECK(open_text({.interface = "va"}) ==
          "UDP port 4791 on " + address +
              " is taken: end the other veriroce or the RDMA device that holds it (see ss -ulpn)");
    const auto written = address == "fd77::1" ? "[fd77::1]:4791" : address + ":4791";
    CHECK(net::UdpLink::open(ip(address)).error().text ==
          "UDP " + written +
              " is taken: end the other veriroce or the RDMA device that holds it (see ss -ulpn)");
    CHECK(open_text({.interface = "va", .passive = true}) == "it opened");
    taken = net::Descriptor();
    CHECK(open_text({.interface = "va"}) == "it opened");
}

TEST_CASE("errors: a kernel that would route for our extra addresses", "[net]") {
    const Lab lab;
    lab.run("echo 1 > /proc/sys/net/ipv4/ip_forward");
    lab.run("echo 1 > /proc/sys/net/ipv6/conf/all/forwarding");
    CHECK(open_text({.interface = "va", .extra_addresses = {ip("10.77.0.9")}}) ==
          "this kernel would route packets for 10.77.0.9: sysctl -w net.ipv4.conf.va.forwarding=0, "
          "or use only the addresses of va");
    CHECK(open_text({.interface = "va", .extra_addresses = {ip("fd77::9")}}) ==
          "this kernel would route packets for fd77::9: sysctl -w net.ipv6.conf.all.forwarding=0, "
          "or use only the addresses of va");
    CHECK(open_text({.interface = "va"}) == "it opened");
}

TEST_CASE("errors: why a UDP link cannot be opened or used", "[net]") {
    const Lab lab;
    CHECK(net::UdpLink::open(ip("10.77.0.200")).error().text ==
          "cannot use UDP 10.77.0.200:4791: this host does not have that address (see ip addr)");
    const auto link = net::UdpLink::open(ip("10.77.0.1"));
    REQUIRE(link.has_value());
    CHECK((*link)->send({.destination = ip("fd77::2")}, {}, {}).error().text ==
          "no route from 10.77.0.1 to fd77::2: both must be IPv4, or both IPv6");
    CHECK((*link)->send({.destination = ip("10.99.0.1")}, {}, {}).error().text ==
          "cannot send a datagram of 4 bytes to 10.99.0.1: Network is unreachable");
    const std::vector<std::byte> large(1500);
    CHECK(
        (*link)->send({.destination = ip("10.77.0.2")}, large, {}).error().text ==
        "a datagram of 1504 bytes does not fit the MTU of the path to 10.77.0.2: raise it, or use "
        "a smaller path MTU");
    const std::vector<std::byte> larger_than_udp(70'000);
    CHECK(
        (*link)->send({.destination = ip("10.77.0.2")}, {}, larger_than_udp).error().text ==
        "a datagram of 70004 bytes does not fit the MTU of the path to 10.77.0.2: raise it, or use "
        "a smaller path MTU");
}

TEST_CASE("errors: text that is no address of a line stream", "[net]") {
    struct Row {
        std::string text;
        std::string why;
    };
    const std::vector<Row> rows{
        {"", "the port is missing"},
        {"host", "the port is missing"},
        {"[::1]", "the port is missing"},
        {":4790", "the address is missing"},
        {"[]:4790", "the address is missing"},
        {"host:", "the port must be a number up to 65535"},
        {"host:http", "the port must be a number up to 65535"},
        {"host:65536", "the port must be a number up to 65535"},
        {"host:-1", "the port must be a number up to 65535"},
        {"host:4790 ", "the port must be a number up to 65535"},
        {"fd77::1:4790", "an IPv6 address needs brackets"},
        {"unix:", "the path is missing"},
        {"unix:/" + std::string(107, 'x'), "the path is too long"},
    };
    for (const auto& row : rows) {
        const auto address = net::LineAddress::parse(row.text);
        REQUIRE_FALSE(address.has_value());
        CHECK(address.error().kind == ErrorKind::BadAddress);
        CHECK(address.error().text == "\"" + row.text + "\" is not a valid address: " + row.why +
                                          "; write ADDRESS:PORT, [IPV6]:PORT or unix:PATH");
    }
}

TEST_CASE("line address: what is one, and what stays on this host", "[net]") {
    struct Row {
        std::string_view text;
        net::LineAddress address;
        bool local;
    };
    const std::vector<Row> rows{
        {"127.0.0.1:4790", {false, "127.0.0.1", 4790}, true},
        {"127.9.9.9:0", {false, "127.9.9.9", 0}, true},
        {"localhost:1", {false, "localhost", 1}, true},
        {"[::1]:4790", {false, "::1", 4790}, true},
        {"unix:/run/a.sock", {true, "/run/a.sock", 0}, true},
        {"0.0.0.0:4790", {false, "0.0.0.0", 4790}, false},
        {"[::]:4790", {false, "::", 4790}, false},
        {"[fd77::1]:65535", {false, "fd77::1", 65535}, false},
        {"lab-7.example:4790", {false, "lab-7.example", 4790}, false},
    };
    for (const auto& row : rows) {
        INFO(row.text);
        const auto address = net::LineAddress::parse(row.text);
        REQUIRE(address.has_value());
        CHECK(*address == row.address);
        CHECK(address->text() == row.text);
        CHECK(address->local() == row.local);
    }
}

TEST_CASE("errors: why a line client cannot connect", "[net]") {
    const Lab lab;
    const auto text = [](const std::string& where) {
        const auto client = net::LineClient::connect(net::LineAddress::parse(where).value(),
                                                     net::monotonic_now() + 100ms);
        return client ? "it connected" : client.error().text;
    };
    CHECK(text("127.0.0.1:1") == "nothing listens on 127.0.0.1:1: start the agent there, or check "
                                 "the address and port");
    CHECK(text("10.77.0.2:4790") == "nothing listens on 10.77.0.2:4790: start the agent there, or "
                                    "check the address and port");
    CHECK(text("10.99.0.1:4790") ==
          "no route to 10.99.0.1:4790: check the address and the network between");
    CHECK(text("10.77.0.200:4790") == "10.77.0.200:4790 does not answer: check the address and the "
                                      "firewalls between");
    CHECK(text("unix:/tmp/no-such-socket") == "there is no socket unix:/tmp/no-such-socket: start "
                                              "the agent there, or check the path");
    CHECK(text("no-such-host.invalid:1")
              .starts_with("cannot find the address of host \"no-such-host.invalid\" ("));
}

TEST_CASE("errors: why a line server cannot listen", "[net]") {
    const Lab lab;
    const auto loop = net::EventLoop::open();
    REQUIRE(loop.has_value());
    const auto text = [&loop](const net::LineAddress& where) {
        const auto server = net::LineServer::listen(**loop, where);
        return server ? "it listens" : server.error().text;
    };
    const auto first = net::LineServer::listen(**loop, {false, "127.0.0.1", 0});
    REQUIRE(first.has_value());
    const auto taken = (*first)->address();
    CHECK(text(taken) == "cannot listen on " + taken.text() +
                             ": another program already does; stop it, or choose another port");
    CHECK(text({false, "10.77.0.200", 4790}) ==
          "cannot listen on 10.77.0.200:4790: this host does not have that address (see ip addr)");
    CHECK(text({true, "/no/such/folder/a.sock", 0}) ==
          "cannot listen on unix:/no/such/folder/a.sock: No such file or directory");
}

TEST_CASE("errors: what a line client says of a peer that misbehaves", "[net]") {
    const Lab lab;
    const auto loop = net::EventLoop::open();
    const auto server = net::LineServer::listen(**loop, {false, "127.0.0.1", 0});
    REQUIRE(server.has_value());
    const auto where = (*server)->address();
    auto client = net::LineClient::connect(where, soon(), 100);
    REQUIRE(client.has_value());
    REQUIRE(client->send_line("hello", soon()).has_value());
    net::LineEvent event;
    while (event.kind != net::LineEvent::Kind::Line) {
        (*loop)->run_once(soon());
        while (auto next = (*server)->poll_event())
            event = *next;
    }
    CHECK(client->receive_line(net::monotonic_now() + 10ms).error().text ==
          where.text() + " has not answered in time");
    CHECK((*server)->send(event.connection, std::string(200, 'x')));
    (*loop)->run_once(net::monotonic_now());
    CHECK(client->receive_line(soon()).error().text ==
          where.text() + " sent a line of more than 100 bytes");
}

TEST_CASE("errors: a line client says that its peer has gone", "[net]") {
    const Lab lab;
    const auto loop = net::EventLoop::open();
    const auto where = net::LineAddress{false, "127.0.0.1", 0};
    auto server = net::LineServer::listen(**loop, where).value();
    auto client = net::LineClient::connect(server->address(), soon());
    REQUIRE(client.has_value());
    const auto name = server->address().text();
    server.reset();
    CHECK(client->receive_line(soon()).error().text == name + " closed the connection");
    auto sent = client->send_line("anybody?", soon());
    for (int i = 0; i < 1000 && sent; ++i) // the first may still be taken by the kernel
        sent = client->send_line("anybody?", soon());
    REQUIRE_FALSE(sent.has_value());
    CHECK(sent.error().text == name + " closed the connection");
}
