// What wakes a case: a packet, a deadline, a reply; and in which order actions come out.
#include "conformance/interpreter/events.hpp"

#include <catch2/catch.hpp>

#include "conformance/interpreter/task.hpp"

namespace veriroce::interpreter::test {
namespace {

using namespace std::chrono_literals;

constexpr std::byte kFrame[] = {std::byte{1}, std::byte{2}};

struct Play {
    std::size_t heard = 0;
    Events events{[this](wire::Bytes, Interval) { ++heard; }, [this] { return heard; }};
    std::optional<Wake> woken;
    std::optional<dut::Answer> answer;
    Task<void> play;

    Task<void> wait_until(wire::Instant deadline) { woken = co_await events.wait(deadline); }
    Task<void> sleep_until(wire::Instant deadline) { woken = co_await events.sleep(deadline); }
    Task<void> ask() {
        dut::Request request = dut::Ping{};
        answer = co_await events.call(std::move(request));
    }
    void start(Task<void> task) {
        play = std::move(task);
        play.start();
    }
};

} // namespace

TEST_CASE("events: a wait ends with a packet", "[interpreter]") {
    Play scene;
    scene.start(scene.wait_until(wire::Instant(10us)));
    CHECK(scene.events.deadline() == wire::Instant(10us));
    scene.events.packet(kFrame, {wire::Instant(3us), wire::Instant(4us)});
    REQUIRE(scene.woken.has_value());
    CHECK(*scene.woken == Wake::Packet);
    CHECK(scene.heard == 1);
    CHECK(scene.events.now() == wire::Instant(4us));
    CHECK_FALSE(scene.events.deadline().has_value());
}

TEST_CASE("events: a wait ends at its deadline, and not before", "[interpreter]") {
    Play scene;
    scene.start(scene.wait_until(wire::Instant(10us)));
    scene.events.advance(wire::Instant(10us) - 1ns);
    CHECK_FALSE(scene.woken.has_value());
    scene.events.advance(wire::Instant(10us));
    REQUIRE(scene.woken.has_value());
    CHECK(*scene.woken == Wake::Deadline);
    CHECK(scene.play.done());
}

TEST_CASE("events: a deadline that has come is no wait", "[interpreter]") {
    Play scene;
    scene.events.advance(wire::Instant(5us));
    scene.start(scene.wait_until(wire::Instant(5us)));
    REQUIRE(scene.woken.has_value());
    CHECK(*scene.woken == Wake::Deadline);
}

TEST_CASE("events: a sleep hears packets and sleeps on", "[interpreter]") {
    Play scene;
    scene.start(scene.sleep_until(wire::Instant(10us)));
    scene.events.packet(kFrame, {wire::Instant(3us), wire::Instant(3us)});
    CHECK(scene.heard == 1);
    CHECK_FALSE(scene.woken.has_value());
    scene.events.advance(wire::Instant(10us));
    REQUIRE(scene.woken.has_value());
    CHECK(*scene.woken == Wake::Deadline);
}

TEST_CASE("events: a call ends with the reply to its ticket, and with nothing else",
          "[interpreter]") {
    Play scene;
    scene.start(scene.ask());
    const auto action = scene.events.poll_action();
    REQUIRE(action.has_value());
    const auto* call = std::get_if<CallDut>(&*action);
    REQUIRE(call != nullptr);
    CHECK(std::holds_alternative<dut::Ping>(call->request));

    scene.events.packet(kFrame, {wire::Instant(1us), wire::Instant(1us)});
    scene.events.advance(wire::Instant(1s));
    scene.events.reply(call->ticket + 1, dut::Done{});
    CHECK_FALSE(scene.answer.has_value());
    scene.events.reply(call->ticket, dut::Pong{});
    REQUIRE(scene.answer.has_value());
    REQUIRE(scene.answer->has_value());
    CHECK(std::holds_alternative<dut::Pong>(**scene.answer));

    scene.events.reply(call->ticket, dut::Done{}); // no task waits for it any more
    CHECK(std::holds_alternative<dut::Pong>(**scene.answer));
}

TEST_CASE("events: the time never goes back", "[interpreter]") {
    Play scene;
    scene.events.advance(wire::Instant(7us));
    scene.events.advance(wire::Instant(5us));
    CHECK(scene.events.now() == wire::Instant(7us));
    scene.events.packet(kFrame, {wire::Instant(2us), wire::Instant(3us)});
    CHECK(scene.events.now() == wire::Instant(7us));
}

TEST_CASE("events: actions come out in the order in which they were asked for", "[interpreter]") {
    Play scene;
    CHECK(scene.events.send({std::byte{1}}) == 1);
    CHECK(scene.events.send({std::byte{2}}) == 2);
    scene.start(scene.ask());
    const auto first = scene.events.poll_action();
    const auto second = scene.events.poll_action();
    const auto third = scene.events.poll_action();
    REQUIRE((first && second && third));
    CHECK(std::get<SendFrame>(*first).number == 1);
    CHECK(std::get<SendFrame>(*second).number == 2);
    CHECK(std::holds_alternative<CallDut>(*third));
    CHECK_FALSE(scene.events.poll_action().has_value());
}

} // namespace veriroce::interpreter::test
