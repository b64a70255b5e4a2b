// Line streams over real sockets: one thread, because the kernel keeps what either side has sent.
#include "transport/net/line_server.hpp"

#include <catch2/catch.hpp>

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "transport/net/clock.hpp"
#include "transport/net/descriptor.hpp"
#include "transport/net/line_client.hpp"
#include "transport/net/socket_address.hpp"

namespace {

using namespace veriroce;
using namespace std::chrono_literals;
using Kind = net::LineEvent::Kind;

constexpr auto kLong = 5s; // far more than anything here takes

struct Fixture {
    explicit Fixture(const net::LineLimits& limits = {}, const std::string& where = "127.0.0.1:0") {
        auto opened = net::EventLoop::open();
        REQUIRE(opened.has_value());
        loop = std::move(*opened);
        auto address = net::LineAddress::parse(where);
        REQUIRE(address.has_value());
        auto listening = net::LineServer::listen(*loop, *address, limits);
        REQUIRE(listening.has_value());
        server = std::move(*listening);
    }

    net::LineClient client() const {
        auto connected = net::LineClient::connect(server->address(), net::monotonic_now() + kLong);
        REQUIRE(connected.has_value());
        return std::move(*connected);
    }

    // The next event; fails the test if none comes within `patience`.
    net::LineEvent event(wire::Duration patience = kLong) {
        const auto deadline = net::monotonic_now() + patience;
        for (;;) {
            if (auto found = server->poll_event()) return std::move(*found);
            if (net::monotonic_now() >= deadline) break;
            loop->run_once(deadline);
        }
        FAIL("no event came");
        return {};
    }

    // A connection whose first line was read and that was admitted.
    net::ConnectionId admitted(net::LineClient& peer) {
        REQUIRE(peer.send_line("hello", net::monotonic_now() + kLong).has_value());
        CHECK(event().kind == Kind::Opened);
        const auto hello = event();
        CHECK(hello.kind == Kind::Line);
        CHECK(hello.text == "hello");
        server->admit(hello.connection);
        return hello.connection;
    }

    // Lets the loop work until the client has a line, or its connection is closed.
    std::expected<std::string, net::Error> answer(net::LineClient& peer) {
        const auto deadline = net::monotonic_now() + kLong;
        for (;;) {
            loop->run_once(net::monotonic_now() + 1ms);
            auto line = peer.receive_line(net::monotonic_now());
            if (line || line.error().kind != net::ErrorKind::TimedOut) return line;
            if (net::monotonic_now() >= deadline) return line;
        }
    }

    std::unique_ptr<net::EventLoop> loop;
    std::unique_ptr<net::LineServer> server;
};

wire::Instant soon() {
    return net::monotonic_now() + kLong;
}

// What the peer of a closed connection sees.
void check_closed(Fixture& fixture, net::LineClient& peer) {
    const auto line = fixture.answer(peer);
    REQUIRE_FALSE(line.has_value());
    CHECK(line.error().kind == net::ErrorKind::Closed);
}

} // namespace

TEST_CASE("line server: lines go both ways in order, over TCP and Unix sockets", "[net]") {
    const auto path = "unix:/tmp/veriroce-test-" + std::to_string(::getpid()) + ".sock";
    const auto where = GENERATE_COPY(std::string("127.0.0.1:0"), std::string("[::1]:0"), path);
    Fixture fixture({}, where);
    auto client = fixture.client();
    const auto id = fixture.admitted(client);
    REQUIRE(client.send_line("one", soon()).has_value());
    REQUIRE(client.send_line("", soon()).has_value());
    REQUIRE(client.send_line("{\"id\":3}", soon()).has_value());
    for (const auto* expected : {"one", "", "{\"id\":3}"}) {
        const auto line = fixture.event();
        CHECK(line.kind == Kind::Line);
        CHECK(line.connection == id);
        CHECK(line.text == expected);
        CHECK(fixture.server->send(id, "re: " + line.text));
    }
    CHECK(fixture.answer(client).value() == "re: one");
    CHECK(fixture.answer(client).value() == "re: ");
    CHECK(fixture.answer(client).value() == "re: {\"id\":3}");
}

TEST_CASE("line server: nothing is read behind the first line before admit", "[net]") {
    Fixture fixture;
    auto client = fixture.client();
    REQUIRE(client.send_line("hello", soon()).has_value());
    REQUIRE(client.send_line("second", soon()).has_value());
    CHECK(fixture.event().kind == Kind::Opened);
    const auto hello = fixture.event();
    CHECK(hello.text == "hello");
    fixture.loop->run_once(net::monotonic_now() + 20ms);
    CHECK_FALSE(fixture.server->poll_event().has_value());
    fixture.server->admit(hello.connection);
    CHECK(fixture.event().text == "second");
}

TEST_CASE("line server: a first line over its limit is closed without an answer", "[net]") {
    Fixture fixture;
    const auto with_end = GENERATE(false, true);
    auto client = fixture.client();
    const std::string garbage(4097, 'x');
    REQUIRE(client.send_line(with_end ? garbage : garbage + garbage, soon()).has_value());
    CHECK(fixture.event().kind == Kind::Opened);
    const auto closed = fixture.event();
    CHECK(closed.kind == Kind::Closed);
    CHECK(closed.text == "sent a line of more than 4096 bytes");
    check_closed(fixture, client);
}

TEST_CASE("line server: a first line of exactly its limit is a line", "[net]") {
    Fixture fixture;
    auto client = fixture.client();
    REQUIRE(client.send_line(std::string(4096, 'x'), soon()).has_value());
    CHECK(fixture.event().kind == Kind::Opened);
    CHECK(fixture.event().text.size() == 4096);
}

TEST_CASE("line server: after admit a line may have 16 MiB, and not a byte more", "[net]") {
    net::LineLimits limits;
    limits.line_bytes = 1U << 20U; // the same code, sooner
    Fixture fixture(limits);
    const auto extra = GENERATE(std::size_t{0}, std::size_t{1});
    auto client = fixture.client();
    fixture.admitted(client);
    std::string line(limits.line_bytes + extra, 'y');
    line += '\n';
    std::size_t sent = 0;
    const auto deadline = soon();
    std::optional<net::LineEvent> event;
    while (!event && net::monotonic_now() < deadline) {
        if (sent < line.size()) {
            const auto count =
                ::send(client.fd(), &line[sent], line.size() - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
            if (count > 0) sent += static_cast<std::size_t>(count);
        }
        fixture.loop->run_once(net::monotonic_now() + 1ms);
        event = fixture.server->poll_event();
    }
    REQUIRE(event.has_value());
    if (extra == 0) {
        CHECK(event->kind == Kind::Line);
        CHECK(event->text.size() == limits.line_bytes);
    } else {
        CHECK(event->kind == Kind::Closed);
        CHECK(event->text == "sent a line of more than 1048576 bytes");
    }
}

TEST_CASE("line server: half a line is no line, and silence is closed in time", "[net]") {
    net::LineLimits limits;
    limits.first_line_within = 50ms;
    Fixture fixture(limits);
    auto client = fixture.client();
    REQUIRE(::send(client.fd(), "hel", 3, MSG_NOSIGNAL) == 3);
    CHECK(fixture.event().kind == Kind::Opened);
    const auto start = net::monotonic_now();
    const auto closed = fixture.event();
    CHECK(closed.kind == Kind::Closed);
    CHECK(closed.text == "sent no line in time");
    CHECK(net::monotonic_now() - start < 4s);
    check_closed(fixture, client);
}

TEST_CASE("line server: half a line before the end of the stream is forgotten", "[net]") {
    Fixture fixture;
    auto client = fixture.client();
    REQUIRE(::send(client.fd(), "half", 4, MSG_NOSIGNAL) == 4);
    REQUIRE(::shutdown(client.fd(), SHUT_WR) == 0);
    CHECK(fixture.event().kind == Kind::Opened);
    const auto closed = fixture.event();
    CHECK(closed.kind == Kind::Closed);
    CHECK(closed.text == "the peer closed the connection");
}

TEST_CASE("line server: answers still reach a peer that has finished sending", "[net]") {
    Fixture fixture;
    auto client = fixture.client();
    const auto id = fixture.admitted(client);
    REQUIRE(client.send_line("last", soon()).has_value());
    REQUIRE(::shutdown(client.fd(), SHUT_WR) == 0);
    CHECK(fixture.event().text == "last");
    CHECK(fixture.server->send(id, "answer"));
    CHECK(fixture.event().kind == Kind::Closed);
    CHECK(fixture.answer(client).value() == "answer");
    check_closed(fixture, client);
    CHECK_FALSE(fixture.server->send(id, "too late"));
}

TEST_CASE("line server: close sends what is queued and says so once", "[net]") {
    Fixture fixture;
    auto client = fixture.client();
    const auto id = fixture.admitted(client);
    REQUIRE(client.send_line("ignored", soon()).has_value());
    CHECK(fixture.server->send(id, "bye"));
    fixture.server->close(id);
    fixture.server->close(id);
    const auto closed = fixture.event();
    CHECK(closed.kind == Kind::Closed);
    CHECK(closed.text == "the agent closed it");
    CHECK(fixture.answer(client).value() == "bye");
    check_closed(fixture, client);
    CHECK_FALSE(fixture.server->poll_event().has_value());
}

TEST_CASE("line server: a delayed close says nothing and takes its time", "[net]") {
    Fixture fixture;
    auto client = fixture.client();
    REQUIRE(client.send_line("wrong token", soon()).has_value());
    CHECK(fixture.event().kind == Kind::Opened);
    const auto id = fixture.event().connection;
    const auto start = net::monotonic_now();
    fixture.server->close_after(id, 100ms);
    CHECK_FALSE(fixture.server->send(id, "an answer"));
    const auto closed = fixture.event();
    CHECK(closed.kind == Kind::Closed);
    CHECK(net::monotonic_now() - start >= 100ms);
    check_closed(fixture, client);
}

TEST_CASE("line server: a peer that does not read is closed when its queue is full", "[net]") {
    net::LineLimits limits;
    limits.queued_bytes = 1U << 20U;
    Fixture fixture(limits);
    auto client = fixture.client();
    const auto id = fixture.admitted(client);
    const std::string line(64U << 10U, 'z');
    bool alive = true;
    for (int i = 0; i < 1000 && alive; ++i) {
        alive = fixture.server->send(id, line);
        CHECK(fixture.server->queued_bytes(id) <= limits.queued_bytes);
        fixture.loop->run_once(net::monotonic_now());
    }
    CHECK_FALSE(alive);
    const auto closed = fixture.event();
    CHECK(closed.kind == Kind::Closed);
    CHECK(closed.text == "does not read its answers: more than 1048576 bytes wait");
}

TEST_CASE("line server: a peer that resets the connection ends it", "[net]") {
    Fixture fixture;
    std::optional<net::LineClient> client = fixture.client();
    const auto id = fixture.admitted(*client);
    const linger reset{1, 0};
    REQUIRE(::setsockopt(client->fd(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset) == 0);
    client.reset();
    const auto closed = fixture.event();
    CHECK(closed.kind == Kind::Closed);
    CHECK(closed.text == "connection lost: Connection reset by peer");
    CHECK_FALSE(fixture.server->send(id, "nobody"));
}

TEST_CASE("line server: a hundred connections are admitted, and then it is full", "[net]") {
    net::LineLimits limits;
    limits.connections = 100;
    Fixture fixture(limits);
    std::vector<net::LineClient> clients;
    for (int i = 0; i < 100; ++i)
        clients.push_back(fixture.client());
    for (std::size_t i = 0; i < clients.size(); ++i) {
        REQUIRE(clients[i].send_line(std::to_string(i), soon()).has_value());
    }
    std::size_t lines = 0;
    while (lines < 100) {
        const auto event = fixture.event();
        REQUIRE(event.kind != Kind::Closed);
        if (event.kind != Kind::Line) continue;
        ++lines;
        CHECK_FALSE(fixture.server->full());
        fixture.server->admit(event.connection);
        CHECK(fixture.server->send(event.connection, "re: " + event.text));
    }
    for (std::size_t i = 0; i < clients.size(); ++i) {
        CHECK(fixture.answer(clients[i]).value() == "re: " + std::to_string(i));
    }
    CHECK(fixture.server->full());
    auto again = fixture.client();
    CHECK(fixture.event().kind == Kind::Opened); // its first line is still heard
    clients.pop_back();                          // makes room for it
    while (fixture.event().kind != Kind::Closed) {
    }
    CHECK_FALSE(fixture.server->full());
}

TEST_CASE("line server: connections that say nothing keep nobody out", "[net]") {
    net::LineLimits limits;
    limits.newcomers = 4;
    Fixture fixture(limits);
    auto tester = fixture.client();
    const auto id = fixture.admitted(tester);
    std::vector<net::LineClient> silent;
    for (int i = 0; i < 20; ++i)
        silent.push_back(fixture.client());
    auto client = fixture.client();
    REQUIRE(client.send_line("hello", soon()).has_value());
    std::size_t closed = 0;
    for (auto event = fixture.event(); event.kind != Kind::Line; event = fixture.event()) {
        CHECK(event.connection != id);
        if (event.kind != Kind::Closed) continue;
        ++closed;
        CHECK(event.text == "closed for a newer connection");
    }
    CHECK(closed == 17); // all but the youngest three and the client
    check_closed(fixture, silent.front());
    CHECK(silent.back().receive_line(net::monotonic_now()).error().kind ==
          net::ErrorKind::TimedOut);
}

TEST_CASE("line server: a flood from one host does not close the connection of another", "[net]") {
    net::LineLimits limits;
    limits.newcomers = 4;
    Fixture fixture(limits);
    const net::Descriptor other(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto from = net::SocketAddress::of(*wire::IpAddress::parse("127.0.0.2"), 0);
    const auto to = net::SocketAddress::of(*wire::IpAddress::parse("127.0.0.1"),
                                           fixture.server->address().port);
    REQUIRE(::bind(other.fd(), from.get(), from.size) == 0);
    REQUIRE(::connect(other.fd(), to.get(), to.size) == 0);
    const auto opened = fixture.event();
    CHECK(opened.text.starts_with("127.0.0.2:"));
    std::vector<net::LineClient> flood;
    for (int i = 0; i < 20; ++i)
        flood.push_back(fixture.client());
    REQUIRE(::send(other.fd(), "hello\n", 6, MSG_NOSIGNAL) == 6);
    for (auto event = fixture.event(); event.kind != Kind::Line; event = fixture.event())
        REQUIRE(event.connection != opened.connection);
}

TEST_CASE("line server: an idle connection is closed, a busy one is not", "[net]") {
    net::LineLimits limits;
    limits.connections = 1;
    limits.idle_within = 300ms;
    Fixture fixture(limits);
    auto client = fixture.client();
    const auto id = fixture.admitted(client);
    const auto busy_until = net::monotonic_now() + 600ms;
    while (net::monotonic_now() < busy_until) { // one byte is enough, in either direction
        REQUIRE(::send(client.fd(), "x", 1, MSG_NOSIGNAL) == 1);
        fixture.loop->run_once(net::monotonic_now() + 50ms);
        REQUIRE_FALSE(fixture.server->poll_event().has_value());
    }
    CHECK(fixture.server->full());
    const auto closed = fixture.event();
    CHECK(closed.kind == Kind::Closed);
    CHECK(closed.connection == id);
    CHECK(closed.text == "idle for 0.3 s");
    CHECK_FALSE(fixture.server->full());
    check_closed(fixture, client);
}

TEST_CASE("line server: the kernel watches whether the peer still lives", "[net]") {
    Fixture fixture;
    auto client = fixture.client();
    fixture.admitted(client);
    // In /proc/net/tcp: the accepted socket is the one whose local port is the server's, connected
    // (01); its timer is keepalive's (02).
    std::ifstream table("/proc/net/tcp");
    const auto port = fmt::format(":{:04X}", fixture.server->address().port);
    int accepted = 0;
    std::string number, local, remote, state, queues, timer;
    for (std::string line; std::getline(table, line);) {
        std::istringstream words(line);
        words >> number >> local >> remote >> state >> queues >> timer;
        if (!local.ends_with(port) || state != "01") continue;
        ++accepted;
        CHECK(timer.starts_with("02:"));
    }
    CHECK(accepted == 1);
}

TEST_CASE("line server: many lines at once wait until they are polled", "[net]") {
    Fixture fixture;
    auto client = fixture.client();
    fixture.admitted(client);
    constexpr int kLines = 10'000;
    std::string all;
    for (int i = 0; i < kLines; ++i)
        all += std::to_string(i) + "\n";
    REQUIRE(::send(client.fd(), all.data(), all.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(all.size()));
    int wrong = 0;
    for (int i = 0; i < kLines; ++i)
        wrong += fixture.event().text == std::to_string(i) ? 0 : 1;
    CHECK(wrong == 0);
}

TEST_CASE("line server: a Unix socket is the user's own, replaces a dead one and goes", "[net]") {
    const auto path = "/tmp/veriroce-test-" + std::to_string(::getpid()) + "-own.sock";
    {
        Fixture first({}, "unix:" + path);
        struct stat status{};
        REQUIRE(::stat(path.c_str(), &status) == 0);
        CHECK((status.st_mode & 0777U) == 0600U);
        const auto second = net::LineServer::listen(*first.loop, net::LineAddress{true, path, 0});
        REQUIRE_FALSE(second.has_value());
        CHECK(second.error().text == "cannot listen on unix:" + path +
                                         ": another program already does; stop it, or choose "
                                         "another path");
        REQUIRE(::link(path.c_str(), (path + ".dead").c_str()) == 0);
    }
    CHECK(::access(path.c_str(), F_OK) != 0);
    Fixture over_dead({}, "unix:" + path + ".dead");
    auto client = over_dead.client();
    CHECK(over_dead.event().kind == Kind::Opened);
}

TEST_CASE("line server: the loop outlives a server with connections", "[net]") {
    Fixture fixture;
    auto client = fixture.client();
    const auto id = fixture.admitted(client);
    CHECK(fixture.server->send(id, std::string(1U << 20U, 'x')));
    fixture.server.reset();
    fixture.loop->run_once(net::monotonic_now() + 10ms);
    CHECK(net::LineClient::connect({false, "127.0.0.1", 1}, soon()).error().kind ==
          net::ErrorKind::Refused);
}
