#include "conformance/dut/call_desk.hpp"

#include <catch2/catch.hpp>

namespace {

using namespace veriroce;
using namespace veriroce::dut;
using namespace std::chrono_literals;

constexpr wire::Instant start{};

// Answers polls from a list of completions, and everything else with {}.
class Queue final : public Executor {
  public:
    std::vector<Completion> completions;
    bool overrun = false;

    Answer execute(const Request& request, wire::Instant /*now*/) override {
        if (std::holds_alternative<Events>(request)) return EventList{};
        if (!std::holds_alternative<Poll>(request)) return Done{};
        return Polled{.completions = std::exchange(completions, {}), .overrun = overrun};
    }
};

struct Desk {
    Queue queue;
    CallDesk desk;

    void submit(std::uint64_t call, const Request& request, wire::Instant now = start) {
        desk.submit(CallId{call}, request, queue, now);
    }
    // The calls that are answered now, in order.
    std::vector<std::uint64_t> answered() {
        std::vector<std::uint64_t> calls;
        while (const auto reply = desk.take())
            calls.push_back(reply->call.value);
        return calls;
    }
};

using Calls = std::vector<std::uint64_t>;

} // namespace

TEST_CASE("desk: a poll without a wait is answered at once, though it has nothing", "[dut]") {
    Desk desk;
    desk.submit(1, Poll{.cq = {1}, .wait_ms = 0});
    CHECK(desk.answered() == Calls{1});
}

TEST_CASE("desk: a call that waits holds up nobody", "[dut]") {
    Desk desk;
    desk.submit(1, Poll{.cq = {1}, .wait_ms = 100});
    desk.submit(2, Ping{});
    CHECK(desk.answered() == Calls{2});
    CHECK(desk.desk.waiting());
    CHECK(desk.desk.next_deadline() == start + 100ms);
}

TEST_CASE("desk: a wait ends with the first completion", "[dut]") {
    Desk desk;
    desk.submit(1, Poll{.cq = {1}, .wait_ms = 100});
    desk.submit(2, Poll{.cq = {1}, .wait_ms = 50});
    desk.queue.completions = {{.id = 77}};
    desk.desk.advance(desk.queue, start + 10ms);
    const auto reply = desk.desk.take();
    REQUIRE(reply);
    CHECK(reply->call == CallId{1}); // the oldest is asked first
    CHECK(std::get<Polled>(*reply->answer).completions.at(0).id == 77);
    CHECK(desk.answered().empty());
    CHECK(desk.desk.next_deadline() == start + 50ms);
}

TEST_CASE("desk: a wait ends at its time, empty, and not before", "[dut]") {
    Desk desk;
    desk.queue.overrun = true; // known without a completion: told when the wait ends
    desk.submit(1, Poll{.cq = {1}, .wait_ms = 100});
    desk.submit(2, Events{.wait_ms = 100});
    desk.desk.advance(desk.queue, start + 100ms - 1ns);
    CHECK(desk.answered().empty());
    desk.desk.advance(desk.queue, start + 100ms);
    const auto reply = desk.desk.take();
    REQUIRE(reply);
    CHECK(reply->answer == Answer(Polled{.overrun = true}));
    CHECK(desk.answered() == Calls{2});
    CHECK_FALSE(desk.desk.next_deadline());
}

TEST_CASE("desk: cancel ends one wait, and answers before itself", "[dut]") {
    Desk desk;
    desk.submit(1, Poll{.cq = {1}, .wait_ms = 100});
    desk.submit(2, Poll{.cq = {1}, .wait_ms = 100});
    desk.submit(3, Cancel{.id = {2}});
    CHECK(desk.answered() == Calls{2, 3});
    desk.submit(4, Cancel{.id = {2}}); // ended already: no error
    desk.submit(5, Cancel{.id = {99}});
    CHECK(desk.answered() == Calls{4, 5});
    CHECK(desk.desk.waiting());
}

TEST_CASE("desk: reset ends all waits", "[dut]") {
    Desk desk;
    desk.submit(1, Poll{.cq = {1}, .wait_ms = 100});
    desk.submit(2, Events{.wait_ms = 100});
    desk.submit(3, Reset{});
    CHECK(desk.answered() == Calls{1, 2, 3});
    CHECK_FALSE(desk.desk.waiting());
}

TEST_CASE("desk: waits have a longest time and a largest number", "[dut]") {
    Desk desk;
    desk.submit(1, Poll{.cq = {1}, .wait_ms = 60'001});
    auto reply = desk.desk.take();
    REQUIRE(reply);
    REQUIRE_FALSE(reply->answer);
    CHECK(reply->answer.error() == invalid("wait_ms: at most 60000, not 60001"));

    for (std::uint64_t call = 0; call < CallDesk::max_parked; ++call)
        desk.submit(call, Poll{.cq = {1}, .wait_ms = 60'000});
    CHECK(desk.answered().empty());
    desk.submit(5000, Poll{.cq = {1}, .wait_ms = 1});
    reply = desk.desk.take();
    REQUIRE(reply);
    REQUIRE_FALSE(reply->answer);
    CHECK(reply->answer.error().errno_name == "EAGAIN");
}
