// The ping-pong of two engines joined by hand, and the message of its exchange.
#include "transport/pingpong/pingpong.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace veriroce::pingpong::test {
namespace {

using namespace std::chrono_literals;

Introduction::Message message_of(std::string_view text) {
    Introduction::Message message{};
    std::ranges::copy(text.substr(0, message.size()), message.begin());
    return message;
}

// Carries what one engine says to the other; may lose or change packets on the way.
class Wire {
  public:
    Wire(engine::Engine& a, engine::Engine& b) : a_(a), b_(b) {}

    // Every n-th packet is lost; 0: none.
    std::size_t lose_every = 0;
    // The last payload byte of this packet is changed, as no ICRC would let through.
    std::size_t corrupt = 0;

    void carry(wire::Instant now) {
        bool more = true;
        while (more) {
            more = one(a_, b_, now);
            more = one(b_, a_, now) || more;
        }
    }

  private:
    bool one(engine::Engine& from, engine::Engine& to, wire::Instant now) {
        const auto packet = from.poll_transmit(now);
        if (!packet) return false;
        ++count_;
        if (lose_every != 0 && count_ % lose_every == 0) return true;
        std::vector<std::byte> bytes(packet->headers.begin(), packet->headers.end());
        bytes.insert(bytes.end(), packet->payload.begin(), packet->payload.end());
        bytes.resize(bytes.size() + packet->pad);
        if (count_ == corrupt) bytes.back() ^= std::byte{1};
        to.handle({.envelope = packet->envelope, .bytes = bytes}, now);
        return true;
    }

    engine::Engine& a_;
    engine::Engine& b_;
    std::size_t count_ = 0;
};

std::unique_ptr<Pingpong> side_of(engine::Engine& engine, const PingpongOptions& options) {
    auto side = Pingpong::open(engine, options);
    if (!side) FAIL(side.error());
    return std::move(*side);
}

struct Pair {
    engine::Engine server_engine{engine::Config{}};
    engine::Engine client_engine{engine::Config{}};
    Wire wire{server_engine, client_engine};
    std::unique_ptr<Pingpong> server;
    std::unique_ptr<Pingpong> client;
    wire::Instant now{1s};

    explicit Pair(PingpongOptions options) {
        options.address = *wire::IpAddress::parse("192.0.2.1");
        server = side_of(server_engine, options);
        options.address = *wire::IpAddress::parse("192.0.2.2");
        options.psn = wire::Psn(0xFFFFFE); // wraps in the second round trip
        client = side_of(client_engine, options);
        REQUIRE(server->connect(client->local(), now));
        REQUIRE(client->connect(server->local(), now));
    }
    void play() {
        client->start(now);
        for (int turn = 0; turn < 100'000 && !(client->finished() && server->finished()); ++turn) {
            wire.carry(now);
            server->progress(now);
            client->progress(now);
            wire.carry(now);
            now += 1ms;
            server_engine.handle_timeout(now);
            client_engine.handle_timeout(now);
        }
    }
};

} // namespace

TEST_CASE("exchange: a message is read as it was written", "[pingpong]") {
    const Introduction side{.lid = 0x12,
                            .qpn = {0x000011},
                            .psn = wire::Psn(0x9F0A31),
                            .gid = *wire::IpAddress::parse("10.77.0.1")};
    const auto message = side.encode();
    CHECK(std::string(message.data()) == "0012:000011:9f0a31:00000000000000000000ffff0a4d0001");
    CHECK(message.size() == 52);
    CHECK(Introduction::decode(message) == side);
}

TEST_CASE("exchange: what is no message is refused with its text", "[pingpong]") {
    for (const char* text : {"", "GET / HTTP/1.1", "0012:000011:9f0a31:",
                             "0012:00001g:9f0a31:00000000000000000000ffff0a4d0001",
                             "0012:-00011:9f0a31:00000000000000000000ffff0a4d0001",
                             "0012.000011:9f0a31:00000000000000000000ffff0a4d0001",
                             "0012:000011:9f0a31:00000000000000000000ffff0a4d00x1",
                             "0012:000011:9f0a31:00000000000000000000ffff0a4d00011"}) {
        INFO(text);
        const auto decoded = Introduction::decode(message_of(text));
        REQUIRE_FALSE(decoded.has_value());
        CHECK(decoded.error().ends_with("is no \"LID:QPN:PSN:GID\""));
        CHECK(decoded.error().find('\0') == std::string::npos);
    }
}

TEST_CASE("pingpong: every round trip is made, whatever the size", "[pingpong]") {
    for (const std::uint32_t size : {1U, 64U, 1023U, 1024U, 1025U, 4096U, 100'000U}) {
        INFO(size);
        Pair pair({.size = size, .rounds = 20, .receives = 3});
        pair.play();
        CHECK(pair.client->failed() == std::nullopt);
        CHECK(pair.server->failed() == std::nullopt);
        CHECK(pair.client->received() == 20);
        CHECK(pair.server->sent() == 20);
    }
}

TEST_CASE("pingpong: lost packets are sent again and the data stay right", "[pingpong]") {
    Pair pair({.size = 5000, .rounds = 50});
    pair.wire.lose_every = 7;
    pair.play();
    CHECK(pair.client->failed() == std::nullopt);
    CHECK(pair.client->received() == 50);
    CHECK(pair.client_engine.counters().local_ack_timeout +
              pair.client_engine.counters().out_of_sequence >
          0);
}

TEST_CASE("pingpong: a byte that came back wrong ends it", "[pingpong]") {
    Pair pair({.size = 64, .rounds = 5});
    pair.wire.corrupt = 1; // the client's first SEND
    pair.play();
    REQUIRE(pair.client->failed());
    CHECK(pair.client->failed()->starts_with("round trip 1: byte 63 came back as 0x"));
}

TEST_CASE("pingpong: a peer that has gone with the last answer is no failure", "[pingpong]") {
    Pair pair({.size = 64, .rounds = 1});
    pair.client->start(pair.now);
    pair.wire.carry(pair.now);
    pair.server->progress(pair.now);
    while (pair.server_engine.poll_transmit(pair.now)) {
    } // the answer is lost, and all after it
    for (int turn = 0; turn < 100'000 && !pair.server->finished(); ++turn) {
        pair.now += 1ms;
        pair.server_engine.handle_timeout(pair.now);
        while (pair.server_engine.poll_transmit(pair.now)) {
        }
        pair.server->progress(pair.now);
    }
    CHECK(pair.server->finished());
    CHECK(pair.server->failed() == std::nullopt);
    CHECK(pair.server->parted());
}

TEST_CASE("pingpong: a peer with another size ends it", "[pingpong]") {
    engine::Engine there{engine::Config{}};
    engine::Engine here{engine::Config{}};
    const wire::Instant now{1s};
    PingpongOptions options{.size = 64, .address = *wire::IpAddress::parse("192.0.2.1")};
    const auto server = side_of(there, options);
    options = {.size = 32, .address = *wire::IpAddress::parse("192.0.2.2")};
    const auto client = side_of(here, options);
    REQUIRE(server->connect(client->local(), now));
    REQUIRE(client->connect(server->local(), now));
    Wire wire(there, here);
    client->start(now);
    wire.carry(now);
    server->progress(now);
    CHECK(server->failed() == "the peer sent 32 bytes, expected 64: both sides need the same size");
}

TEST_CASE("pingpong: a peer of the other IP version is refused", "[pingpong]") {
    engine::Engine engine{engine::Config{}};
    const auto side = side_of(engine, {.address = *wire::IpAddress::parse("192.0.2.1")});
    const auto met = side->connect({.gid = *wire::IpAddress::parse("fd77::1")}, {});
    REQUIRE_FALSE(met.has_value());
    CHECK(met.error().starts_with("the peer's GID fd77::1 is not of the same IP version"));
}

} // namespace veriroce::pingpong::test
