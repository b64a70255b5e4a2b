#include "conformance/dut/pending_calls.hpp"

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

struct Caller {
    Queue queue;
    PendingCalls pending;

    void submit(std::uint64_t call, const Request& request, wire::Instant now = start) {
        pending.submit(CallId{call}, request, queue, now);
    }
    // The calls that are answered now, in order.
    std::vector<std::uint64_t> answered() {
        std::vector<std::uint64_t> calls;
        while (const auto reply = pending.take())
            calls.push_back(reply->call.value);
        return calls;
    }
};

using Calls = std::vector<std::uint64_t>;

} // namespace

TEST_CASE("pending calls: a poll without a wait is answered at once, though it has nothing",
          "[dut]") {
    Caller caller;
    caller.submit(1, Poll{.cq = {1}, .wait_ms = 0});
    CHECK(caller.answered() == Calls{1});
}

TEST_CASE("pending calls: a call that waits holds up nobody", "[dut]") {
    Caller caller;
    caller.submit(1, Poll{.cq = {1}, .wait_ms = 100});
    caller.submit(2, Ping{});
    CHECK(caller.answered() == Calls{2});
    CHECK(caller.pending.waiting());
    CHECK(caller.pending.next_deadline() == start + 100ms);
}

TEST_CASE("pending calls: a wait ends with the first completion", "[dut]") {
    Caller caller;
    caller.submit(1, Poll{.cq = {1}, .wait_ms = 100});
    caller.submit(2, Poll{.cq = {1}, .wait_ms = 50});
    caller.queue.completions = {{.id = 77}};
    caller.pending.advance(caller.queue, start + 10ms);
    const auto reply = caller.pending.take();
    REQUIRE(reply);
    CHECK(reply->call == CallId{1}); // the oldest is asked first
    CHECK(std::get<Polled>(*reply->answer).completions.at(0).id == 77);
    CHECK(caller.answered().empty());
    CHECK(caller.pending.next_deadline() == start + 50ms);
}

TEST_CASE("pending calls: a wait ends at its time, empty, and not before", "[dut]") {
    Caller caller;
    caller.queue.overrun = true; // known without a completion: told when the wait ends
    caller.submit(1, Poll{.cq = {1}, .wait_ms = 100});
    caller.submit(2, Events{.wait_ms = 100});
    caller.pending.advance(caller.queue, start + 100ms - 1ns);
    CHECK(caller.answered().empty());
    caller.pending.advance(caller.queue, start + 100ms);
    const auto reply = caller.pending.take();
    REQUIRE(reply);
    CHECK(reply->answer == Answer(Polled{.overrun = true}));
    CHECK(caller.answered() == Calls{2});
    CHECK_FALSE(caller.pending.next_deadline());
}

TEST_CASE("pending calls: cancel ends one wait, and answers before itself", "[dut]") {
    Caller caller;
    caller.submit(1, Poll{.cq = {1}, .wait_ms = 100});
    caller.submit(2, Poll{.cq = {1}, .wait_ms = 100});
    caller.submit(3, Cancel{.id = {2}});
    CHECK(caller.answered() == Calls{2, 3});
    caller.submit(4, Cancel{.id = {2}}); // ended already: no error
    caller.submit(5, Cancel{.id = {99}});
    CHECK(caller.answered() == Calls{4, 5});
    CHECK(caller.pending.waiting());
}

TEST_CASE("pending calls: reset ends all waits", "[dut]") {
    Caller caller;
    caller.submit(1, Poll{.cq = {1}, .wait_ms = 100});
    caller.submit(2, Events{.wait_ms = 100});
    caller.submit(3, Reset{});
    CHECK(caller.answered() == Calls{1, 2, 3});
    CHECK_FALSE(caller.pending.waiting());
}

TEST_CASE("pending calls: waits have a longest time and a largest number", "[dut]") {
    Caller caller;
    caller.submit(1, Poll{.cq = {1}, .wait_ms = 60'001});
    auto reply = caller.pending.take();
    REQUIRE(reply);
    REQUIRE_FALSE(reply->answer);
    CHECK(reply->answer.error() == invalid("wait_ms: expected at most 60000, got 60001"));

    for (std::uint64_t call = 0; call < PendingCalls::max_waiting; ++call)
        caller.submit(call, Poll{.cq = {1}, .wait_ms = 60'000});
    CHECK(caller.answered().empty());
    caller.submit(5000, Poll{.cq = {1}, .wait_ms = 1});
    reply = caller.pending.take();
    REQUIRE(reply);
    REQUIRE_FALSE(reply->answer);
    CHECK(reply->answer.error().errno_name == "EAGAIN");
}
