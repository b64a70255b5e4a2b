// How a requester reacts to a loss that it was told of; duplicates without an answer.
#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/conformance/judge/history.hpp"

namespace veriroce::judge::test {
namespace {

using std::chrono::milliseconds;
using wire::NakCode;

Assumptions at_a() {
    auto assumptions = connected({.timeout = 8}); // 1.05 ms
    assumptions.recorded_at = {kA};
    return assumptions;
}

} // namespace

TEST_CASE("judge REQ-11: a sequence NAK is answered from its PSN", "[judge][REQ-11]") {
    Wire wire;
    const auto send = [&](std::uint32_t psn) { return wire.from_a(kSendOnly, psn, 8); };
    const std::vector told{send(100), send(101), send(102), send(103),
                           wire.nak(101, 1, NakCode::PsnSequence)};
    const auto then = [&](std::vector<std::uint32_t> psns) {
        auto packets = told;
        for (const std::uint32_t psn : psns)
            packets.push_back(send(psn));
        return judged(at_a(), packets);
    };
    CHECK(then({101, 102, 103}) == kNothing);
    CHECK(then({104, 101, 102}) == kNothing); // it was on its way
    CHECK(then({102, 103}) == certain("REQ-11"));
    CHECK(then({100, 101}) == kNothing);
    auto packets = told;
    packets.push_back(send(102));
    CHECK(judged(connected(), packets) == kNothing); // the first resend may have been lost
    // Late: it is acknowledged by now.
    packets.insert(packets.end() - 1, wire.ack(103, 4));
    CHECK(judged(at_a(), packets) == kNothing);
    // A resend that nothing shows a cause for was under way when the NAK came, and goes on.
    CHECK(judged(at_a(), {send(100), send(101), send(102), send(101),
                          wire.nak(101, 1, NakCode::PsnSequence), send(102)}) == kNothing);
    // The connection begins at 100: nothing before it was asked, so nothing is sent again for it.
    const auto too_early = wire.nak(99, 0, NakCode::PsnSequence);
    const auto found = judged(at_a(), {send(100), send(101), too_early, send(100), send(101)});
    CHECK(std::ranges::find(found, certain("REQ-11").front()) == found.end());
}

TEST_CASE("judge REQ-08: an unanswered READ is not forgotten", "[judge][REQ-08]") {
    Wire wire;
    const auto read = wire.read(100, 8);
    const auto send = wire.from_a(kSendOnly, 101);
    const auto ack = wire.ack(101, 2);
    const auto soon = wire.from_a(kSendOnly, 102);
    wire.wait(milliseconds(5));
    const auto late = wire.from_a(kSendOnly, 103);
    CHECK(judged(at_a(), {read, send, ack, soon, late}) == certain("REQ-08"));
    CHECK(judged(at_a(), {read, send, ack, soon}) == kNothing);
    CHECK(judged(at_a(), {read, send, ack, soon, read, send, late}) == kNothing);
    const auto answer = wire.answer(100, 1, kAck, kReadOnly, 8);
    CHECK(judged(at_a(), {read, send, answer, ack, soon, late}) == kNothing);
    CHECK(judged(connected({.timeout = 8}), {read, send, ack, soon, late}) == kNothing);
}

TEST_CASE("judge REQ-09: a hole in a READ's answer is asked for again", "[judge][REQ-09]") {
    Wire wire;
    const auto read = wire.read(100, 3000);
    const auto first = wire.answer(100, 1, kAck, kReadFirst, 1024);
    const auto middle = wire.from_b(kReadMiddle, 101, 1024);
    const auto last = wire.answer(102, 1, kAck, kReadLast, 952);
    const auto tail = wire.read(101, 3000 - 1024, 0x1000 + 1024);
    wire.wait(milliseconds(5));
    const auto late = wire.from_a(kSendOnly, 103);
    CHECK(judged(at_a(), {read, first, last, late}) == certain("REQ-09"));
    CHECK(judged(at_a(), {read, first, middle, last, late}) == kNothing);
    CHECK(judged(at_a(), {read, first, last, tail, middle, last, late}) == kNothing);
    CHECK(judged(at_a(), {read, first, last, read, first, middle, last, late}) == kNothing);
}

TEST_CASE("judge RSP-10: a duplicate is answered within three repeats", "[judge][RSP-10]") {
    Wire wire;
    auto assumptions = connected();
    assumptions.recorded_at = {kB};
    assumptions.patience = milliseconds(1);
    auto packets = std::vector{wire.from_a(kSendOnly, 100), wire.ack(100, 1)};
    for (int repeat = 0; repeat < 4; ++repeat) {
        wire.wait(milliseconds(2));
        auto again = wire.from_a(kSendOnly, 100);
        again.transport.bth.ack_request = true;
        packets.push_back(again);
    }
    wire.wait(milliseconds(2));
    const auto alive = wire.from_b(kSendOnly, 5000);
    CHECK(judged(assumptions, packets) == kNothing); // the last one may still be answered
    packets.push_back(alive);
    CHECK(judged(assumptions, packets) == certain("RSP-10"));
    auto answered = packets;
    answered.insert(answered.begin() + 4, wire.ack(100, 1));
    CHECK(judged(assumptions, answered) == kNothing);
    for (auto& packet : packets)
        packet.transport.bth.ack_request = false; // then it may be ignored (RSP-11)
    CHECK(judged(assumptions, packets) == kNothing);
}

TEST_CASE("judge RSP-02: a NAK names the first PSN that is missing", "[judge][RSP-02]") {
    Wire wire;
    const auto one = wire.from_a(kSendOnly, 100);
    const auto ack = wire.ack(100, 1);
    const auto three = wire.from_a(kSendOnly, 102);
    const auto four = wire.from_a(kSendOnly, 103);
    CHECK(judged(connected(), {one, ack, three, four, wire.nak(102, 1, NakCode::PsnSequence)}) ==
          certain("RSP-02"));
    CHECK(judged(connected(), {one, ack, three, four, wire.nak(101, 1, NakCode::PsnSequence)}) ==
          kNothing);
}

} // namespace veriroce::judge::test
