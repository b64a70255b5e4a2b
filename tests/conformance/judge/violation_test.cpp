// A violation as data: what was measured, what is allowed, and the one sentence made of both.
#include <catch2/catch.hpp>

#include "conformance/judge/phrase.hpp"
#include "tests/conformance/judge/history.hpp"

namespace veriroce::judge::test {
namespace {

// The only violation of these packets.
Violation violation_of(const Assumptions& assumptions, std::vector<flow::Packet> packets) {
    Judge judge(assumptions);
    std::uint64_t number = 0;
    for (flow::Packet& packet : packets) {
        packet.number = ++number;
        judge.observe(packet);
    }
    judge.finish();
    REQUIRE(judge.violations().size() == 1);
    return judge.violations().front();
}

} // namespace

TEST_CASE("judge violation: an MSN is measured, and the one that is allowed named",
          "[judge][ACK-07]") {
    Wire wire;
    const auto one = wire.from_a(kWriteOnly, 100, 4);
    const Violation low = violation_of(connected(), {one, wire.ack(100, 0)});
    CHECK(low.rule == "ACK-07");
    CHECK(low.measured == "MSN is 0");
    CHECK(low.allowed == "MSN must be 1");
    CHECK(text_of(low) == "MSN is 0; MSN must be 1");
    CHECK(violation_of(connected(), {one, wire.ack(100, 7)}).allowed == "MSN must be 1");
    // Two messages were sent, and the ACK of the first may count both.
    const auto two = wire.from_a(kWriteOnly, 101, 4);
    CHECK(violation_of(connected(), {one, two, wire.ack(100, 0)}).allowed == "MSN must be 1 to 2");
}

TEST_CASE("judge violation: a limit is named beside what was counted", "[judge][REQ-27]") {
    Wire wire;
    const auto read = [&](std::uint32_t psn) { return wire.read(psn, 64); };
    const Violation violation =
        violation_of(connected({.max_rd_atomic = 1}), {read(100), read(101)});
    CHECK(violation.rule == "REQ-27");
    CHECK(violation.measured == "2 READs/atomics outstanding");
    CHECK(violation.allowed == "the negotiated limit is 1");
}

TEST_CASE("judge phrase: values are written in one way", "[judge]") {
    CHECK(phrase({}).empty());
    CHECK(phrase({"the NAK expects ", wire::Psn(4711)}) == "the NAK expects PSN 4711");
    CHECK(phrase({Hex{0}, " ", Hex{0x80010000}, " ", 5U}) == "0x0 0x80010000 5");
    CHECK(phrase({"after ", wire::Duration(std::chrono::microseconds(1500))}) == "after 1.5 ms");
}

} // namespace veriroce::judge::test
