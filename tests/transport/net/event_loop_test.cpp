#include "transport/net/event_loop.hpp"

#include <catch2/catch.hpp>

#include <unistd.h>

#include <array>
#include <csignal>
#include <thread>

#include "transport/net/clock.hpp"

namespace {

using namespace veriroce;
using namespace std::chrono_literals;

std::unique_ptr<net::EventLoop> open_loop() {
    auto loop = net::EventLoop::open();
    REQUIRE(loop.has_value());
    return std::move(*loop);
}

} // namespace

TEST_CASE("event loop: returns at its deadline, and not before", "[net]") {
    auto loop = open_loop();
    const auto start = net::monotonic_now();
    loop->run_once(start + 30ms);
    CHECK(net::monotonic_now() >= start + 30ms);
    loop->run_once(start); // in the past: only looks
    CHECK(net::monotonic_now() < start + 5s);
}

TEST_CASE("event loop: a descriptor is reported as long as it can be read", "[net]") {
    auto loop = open_loop();
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    REQUIRE(loop->watch(ends[0]).has_value());
    loop->run_once(net::monotonic_now() + 5ms);
    CHECK_FALSE(loop->poll_ready().has_value());
    REQUIRE(::write(ends[1], "ab", 2) == 2);
    for (int i = 0; i < 2; ++i) { // level triggered: both bytes are reported
        loop->run_once(net::monotonic_now() + 5s);
        CHECK(loop->poll_ready() == ends[0]);
        char byte = 0;
        CHECK(::read(ends[0], &byte, 1) == 1);
    }
    loop->run_once(net::monotonic_now() + 5ms);
    CHECK_FALSE(loop->poll_ready().has_value());
    REQUIRE(::write(ends[1], "c", 1) == 1);
    loop->unwatch(ends[0]);
    loop->run_once(net::monotonic_now() + 5ms);
    CHECK_FALSE(loop->poll_ready().has_value());
    char byte = 0;
    CHECK(::read(ends[0], &byte, 1) == 1); // still open
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST_CASE("event loop: a descriptor that cannot be waited for is refused", "[net]") {
    auto loop = open_loop();
    const auto refused = loop->watch(10'000);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().text == "cannot wait for file descriptor 10000: Bad file descriptor");
}

TEST_CASE("event loop: signals are caught, and another thread wakes it", "[net]") {
    auto loop = open_loop();
    REQUIRE(loop->catch_signals(std::array{SIGUSR1, SIGUSR2}).has_value());
    REQUIRE(::raise(SIGUSR2) == 0);
    loop->run_once(net::monotonic_now() + 5s);
    CHECK(loop->poll_signal() == SIGUSR2);
    CHECK_FALSE(loop->poll_signal().has_value());
    const auto start = net::monotonic_now();
    std::jthread waker([&loop] { loop->wake(); });
    loop->run_once(start + 5s);
    CHECK(net::monotonic_now() < start + 4s);
}
