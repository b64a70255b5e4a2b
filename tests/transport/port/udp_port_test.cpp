// The port on a UDP socket, with another one at the far end of loopback.
#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <string>

#include "dissector/wire/bth.hpp"
#include "transport/net/clock.hpp"
#include "transport/net/descriptor.hpp"
#include "transport/net/socket_address.hpp"
#include "transport/pingpong/pingpong.hpp"
#include "transport/port/port.hpp"

namespace veriroce::port::test {
namespace {

using namespace std::chrono_literals;

// UDP 4791 of a loopback of our own, as long as it lives. Needs root.
class OwnLoopback {
  public:
    OwnLoopback() : outside_(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)) {
        REQUIRE(::unshare(CLONE_NEWNET) == 0);
        REQUIRE(std::system("ip link set lo up") == 0);
    }
    ~OwnLoopback() { ::setns(outside_.fd(), CLONE_NEWNET); }

  private:
    net::Descriptor outside_;
};

struct Side {
    std::unique_ptr<Port> port;
    std::unique_ptr<pingpong::Pingpong> pingpong;

    Side(const std::string& text, std::uint32_t size) {
        const auto address = *wire::IpAddress::parse(text);
        auto opened = Port::udp(address);
        if (!opened) FAIL(opened.error().text);
        port = std::move(*opened);
        auto made = pingpong::Pingpong::open(
            port->engine(),
            {.size = size, .rounds = 20, .psn = wire::Psn(0xFFFFF0), .address = address});
        if (!made) FAIL(made.error());
        pingpong = std::move(*made);
    }
    void turn() {
        REQUIRE(port->step(net::monotonic_now()).has_value());
        pingpong->progress(net::monotonic_now());
    }
};

// Something that could be the peer's, but for its ICRC.
void forge(const net::Descriptor& socket, wire::Qpn qpn) {
    std::array<std::byte, wire::Bth::kSize + 100> bytes{};
    wire::Bth{.opcode = 0x04, .dest_qp = qpn, .psn = wire::Psn(0xFFFFF0)}.encode(bytes);
    REQUIRE(::send(socket.fd(), bytes.data(), bytes.size(), 0) == std::ssize(bytes));
}

} // namespace

TEST_CASE("udp port: messages of every size come back, and what has a bad ICRC is dropped",
          "[port]") {
    const OwnLoopback loopback;
    const auto size = GENERATE(1U, 1023U, 5000U, 300'000U); // more packets than one batch takes
    Side server("127.0.0.1", size);
    Side client("127.0.0.2", size);
    REQUIRE(server.pingpong->connect(client.pingpong->local(), net::monotonic_now()));
    REQUIRE(client.pingpong->connect(server.pingpong->local(), net::monotonic_now()));
    const auto to = net::SocketAddress::of(*wire::IpAddress::parse("127.0.0.1"), wire::kRocePort);
    const net::Descriptor forger(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(forger.fd(), to.get(), to.size) == 0);
    for (int i = 0; i < 3; ++i)
        forge(forger, server.pingpong->local().qpn);

    client.pingpong->start(net::monotonic_now());
    const auto until = net::monotonic_now() + 20s;
    while (!(client.pingpong->finished() && server.pingpong->finished())) {
        REQUIRE(net::monotonic_now() < until);
        server.turn();
        client.turn();
    }
    CHECK(client.pingpong->failed() == std::nullopt);
    CHECK(server.pingpong->failed() == std::nullopt);
    CHECK(client.pingpong->received() == 20);
    CHECK(server.port->bad_icrc() == 3);
    CHECK(client.port->bad_icrc() == 0);
    CHECK(server.port->unsent() == 0);
}

TEST_CASE("udp port: what cannot be sent is counted", "[port]") {
    const OwnLoopback loopback;
    Side client("127.0.0.2", 5000);
    auto peer = client.pingpong->local();
    peer.gid = *wire::IpAddress::parse("192.0.2.1"); // no route to there
    REQUIRE(client.pingpong->connect(peer, net::monotonic_now()));
    client.pingpong->start(net::monotonic_now());
    REQUIRE(client.port->step(net::monotonic_now()).has_value());
    CHECK(client.port->unsent() == 5);
}

} // namespace veriroce::port::test
