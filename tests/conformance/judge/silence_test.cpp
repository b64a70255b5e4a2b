// What a responder owes when its own port is recorded and its patience is known.
#include <catch2/catch.hpp>

#include "tests/conformance/judge/history.hpp"

namespace veriroce::judge::test {
namespace {

using std::chrono::milliseconds;

Assumptions patient() {
    auto assumptions = at_both();
    assumptions.patience = milliseconds(1);
    return assumptions;
}

flow::Packet asking(flow::Packet packet) {
    packet.transport.bth.ack_request = true;
    return packet;
}

} // namespace

TEST_CASE("judge ACK-01: a request that asks for an answer gets one", "[judge][ACK-01]") {
    Wire wire;
    const auto one = asking(wire.from_a(kSendOnly, 100));
    const auto soon = wire.ack(100, 1);
    wire.wait(milliseconds(2));
    const auto late = wire.ack(100, 1);
    const auto other = wire.from_b(kSendOnly, 5000); // only shows that time went by
    CHECK(judged(patient(), {one, soon, other}) == kNothing);
    CHECK(judged(patient(), {one, late}) == certain("ACK-01"));
    CHECK(judged(patient(), {one, other}) == certain("ACK-01"));
    CHECK(judged(patient(), {one}) == kNothing); // the capture ends before it is late
    CHECK(judged(at_both(), {one, late}) == kNothing);
    auto there = patient();
    there.recorded_at = {kA}; // whether it arrived is not known
    CHECK(judged(there, {one, late}) == kNothing);
    auto lossy = patient();
    lossy.complete = false;
    CHECK(judged(lossy, {one, late}) == possible("ACK-01"));
}

TEST_CASE("judge ACK-01: the recording went on after the last packet", "[judge][ACK-01]") {
    Wire wire;
    const auto one = asking(wire.from_a(kSendOnly, 100));
    Judge judge(patient());
    judge.observe(one);
    judge.finish(*one.time + milliseconds(2));
    CHECK(found_by(judge) == possible("ACK-01")); // nothing shows that it lives
}

TEST_CASE("judge ACK-01: what asks for no answer, and what was refused", "[judge][ACK-01]") {
    Wire wire;
    const auto quiet = wire.from_a(kSendOnly, 100);
    const auto one = asking(wire.from_a(kSendOnly, 100));
    const auto read = wire.read(100, 8);
    const auto refused = wire.answer(100, 0, wire::Syndrome::rnr(0));
    const auto dead = wire.nak(100, 0, wire::NakCode::InvalidRequest);
    const auto after = asking(wire.from_a(kSendOnly, 101));
    wire.wait(milliseconds(2));
    const auto other = wire.from_b(kSendOnly, 5000);
    CHECK(judged(patient(), {quiet, other}) == kNothing);
    CHECK(judged(patient(), {one, refused, other}) == kNothing);
    CHECK(judged(patient(), {one, dead, after, other}) == kNothing);
    CHECK(judged(patient(), {read, other}) == certain("ACK-01")); // N-17
}

TEST_CASE("judge RSP-02: a gap draws a sequence NAK", "[judge][RSP-02]") {
    Wire wire;
    auto assumptions = patient();
    assumptions.recorded_at = {kB};
    const auto one = wire.from_a(kSendOnly, 100);
    const auto three = asking(wire.from_a(kSendOnly, 102));
    const auto nak = wire.nak(101, 1, wire::NakCode::PsnSequence);
    const auto four = asking(wire.from_a(kSendOnly, 103));
    const auto two = wire.from_a(kSendOnly, 101);
    wire.wait(milliseconds(2));
    const auto other = wire.from_b(kSendOnly, 5000);
    CHECK(judged(assumptions, {one, three, other}) == certain("RSP-02"));
    CHECK(judged(assumptions, {one, three, nak, four, other}) == kNothing);
    CHECK(judged(assumptions, {one, three, two, other}) == kNothing); // overtaken, not lost
    // Lost again: no second NAK is owed (RSP-07).
    const auto again = asking(wire.from_a(kSendOnly, 102));
    CHECK(judged(assumptions, {one, three, nak, other, again, other}) == kNothing);
    // After an RNR NAK there is none either (RNR-04).
    const auto refused = wire.answer(100, 0, wire::Syndrome::rnr(0));
    CHECK(judged(assumptions, {one, refused, three, other}) == kNothing);
    // Nor where the requester need not have heard it (ENC-06), or retries a READ before it
    // (RNR-12).
    auto unsure = refused;
    unsure.integrity = flow::Integrity::Unchecked;
    CHECK(judged(assumptions, {one, unsure, three, other}) == kNothing);
    Wire second;
    const auto read = second.read(100, 8);
    const auto answer = second.answer(100, 1, wire::Syndrome::ack(31), kReadOnly, 8);
    const auto send = second.from_a(kSendOnly, 101);
    const auto not_ready = second.answer(101, 1, wire::Syndrome::rnr(0));
    const auto ahead = asking(second.from_a(kSendOnly, 103));
    second.wait(milliseconds(2));
    const auto later = second.from_b(kSendOnly, 5000);
    CHECK(judged(assumptions, {read, answer, send, not_ready, read, answer, ahead, later}) ==
          kNothing);
}

} // namespace veriroce::judge::test
