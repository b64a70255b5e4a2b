// What only a caller's assumptions makes certain: the content of READs, CNPs, the upper
// bound of the timeout, what a NAK can have been drawn by.
#include <catch2/catch.hpp>

#include "tests/conformance/judge/history.hpp"

namespace veriroce::judge::test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using wire::NakCode;

constexpr std::uint8_t kUcSendFirst = 0x20;
constexpr std::uint8_t kUcSendLast = 0x22;
constexpr std::uint8_t kUdSendOnly = 0x64;

Assumptions at(const wire::IpAddress& address, flow::Attributes a = {}) {
    auto assumptions = connected(a);
    assumptions.recorded_at = {address};
    assumptions.patience = milliseconds(1);
    return assumptions;
}

flow::Packet with_body(flow::Packet packet, const std::vector<std::byte>& body) {
    packet.transport.body = wire::Bytes(body).first(packet.body_bytes);
    return packet;
}

} // namespace

TEST_CASE("judge RDR-05: a READ that is asked for again brings the same", "[judge][RDR-05]") {
    Wire wire;
    const std::vector<std::byte> ones(16, std::byte{1});
    const auto read = wire.read(100, 16);
    const auto first = wire.answer(100, 1, wire::Syndrome::ack(31), kReadOnly, 16);
    const auto write = wire.from_a(kWriteOnly, 101, 8);
    const auto again = wire.read(100, 16);
    const auto same = wire.answer(100, 1, wire::Syndrome::ack(31), kReadOnly, 16);
    const auto other = with_body(same, ones);
    auto assumptions = connected();
    CHECK(judged(assumptions, {read, first, again, other}) ==
          kNothing); // its owner may have written
    assumptions.memory_at_rest = {kB};
    CHECK(judged(assumptions, {read, first, again, same}) == kNothing);
    CHECK(judged(assumptions, {read, first, again, other}) == certain("RDR-05"));
    CHECK(judged(assumptions, {read, first, write, again, other}) == kNothing);
    assumptions.complete = false;
    CHECK(judged(assumptions, {read, first, again, other}) == possible("RDR-05"));
}

TEST_CASE("judge CNP-01: a CE mark draws a CNP", "[judge][CNP-01]") {
    Wire wire;
    const auto ack_of = [&](std::uint32_t psn, std::uint32_t msn) { return wire.ack(psn, msn); };
    auto marked = wire.from_a(kSendOnly, 100, 8);
    marked.ecn = wire::kCongestionExperienced;
    auto cnp = wire.from_b(kCnp, 0, 16);
    cnp.transport.bth.becn = true;
    const auto first = ack_of(100, 1);
    wire.wait(milliseconds(2));
    auto second = wire.from_a(kSendOnly, 101, 8);
    second.ecn = wire::kCongestionExperienced;
    wire.wait(milliseconds(2));
    const auto alive = wire.from_b(kSendOnly, 5000);
    auto assumptions = at(kB);
    CHECK(judged(assumptions, {marked, first, alive}) == kNothing); // no notification point
    assumptions.notification_points = {{kB, milliseconds(50)}};
    CHECK(judged(assumptions, {marked, first, alive}) == certain("CNP-01"));
    CHECK(judged(assumptions, {marked, cnp, first, alive}) == kNothing);
    CHECK(judged(assumptions, {marked, cnp, first, second, alive}) ==
          kNothing); // one violation covers both
    CHECK(judged(assumptions, {marked, first}) == kNothing);
    assumptions.notification_points = {{kB, microseconds(100)}};
    CHECK(judged(assumptions, {marked, cnp, first, second, alive}) == certain("CNP-01"));
}

TEST_CASE("judge TMO-01: the timeout is at most four times as long", "[judge][TMO-01]") {
    Wire wire;
    auto send = wire.from_a(kSendOnly, 100);
    send.transport.bth.ack_request = true;
    wire.wait(microseconds(4 * 1049 - 100)); // T is 1.049 ms
    const auto in_time = wire.from_a(kSendOnly, 100);
    wire.wait(microseconds(300));
    const auto late = wire.from_a(kSendOnly, 100);
    const auto alive = wire.from_a(kSendOnly, 101);
    const auto assumptions = at(kA, {.timeout = 8});
    CHECK(judged(assumptions, {send, alive}) == certain("TMO-01"));
    CHECK(judged(assumptions, {send, in_time}) == kNothing);
    CHECK(judged(assumptions, {send, late}) == certain("TMO-01"));
    CHECK(judged(at(kA), {send, late}) == kNothing); // not known
    Judge judge(assumptions);
    judge.observe(send);
    judge.finish(*send.time + milliseconds(5));
    CHECK(found_by(judge) == possible("TMO-01")); // the QP may have been closed
}

TEST_CASE("judge: what a sequence NAK cannot have been drawn by", "[judge][RSP-02]") {
    Wire wire;
    const auto one = wire.from_a(kSendOnly, 100);
    auto damaged = wire.from_a(kSendOnly, 101);
    damaged.integrity = flow::Integrity::Bad;
    const auto cnp = wire.from_a(kCnp, 0, 16);
    auto notice = cnp;
    notice.transport.bth.becn = true;
    const auto three = wire.from_a(kSendOnly, 102);
    const auto nak = wire.nak(101, 1, NakCode::PsnSequence);
    const auto late = wire.nak(101, 1, NakCode::PsnSequence);
    const auto two = wire.from_a(kSendOnly, 101);
    const auto at_b = at(kB);
    CHECK(judged(at_b, {one, nak}) == certain("RSP-02"));
    CHECK(judged(at_b, {one, damaged, nak}) == certain("CRC-07"));
    CHECK(judged(at_b, {one, damaged, three, nak}) == kNothing);
    CHECK(judged(at_b, {one, notice, nak}) == certain("CNP-12"));
    CHECK(judged(at_b, {one, two, nak}) == certain("RSP-02"));
    CHECK(judged(at_b, {one, three, two, late}) == kNothing); // it was on its way out
    auto unsure = two;
    unsure.integrity = flow::Integrity::Unchecked; // it may have been dropped (ENC-06)
    CHECK(judged(at_b, {one, unsure, three, nak}) == kNothing);
    // From afar the network may have lost what is seen here.
    CHECK(judged(at(kA), {one, two, three, nak}) == kNothing);
}

// A packet that is far ahead is a gap to the responder, though the history cannot place it.
TEST_CASE("judge: a NAK after a packet from far away and a repeated ACK", "[judge][RSP-02]") {
    Wire wire;
    const auto one = wire.from_a(kSendOnly, 100);
    const auto ack = wire.ack(100, 1);
    const auto far = wire.from_a(kSendOnly, 101 + (1U << 22U));
    const auto again = wire.ack(100, 1);
    const auto nak = wire.nak(101, 1, NakCode::PsnSequence);
    CHECK(judged(at(kB), {one, ack, far, nak}) == kNothing);
    CHECK(judged(at(kB), {one, ack, far, again, nak}) == kNothing);
    CHECK(judged(at(kB), {one, ack, again, nak}) == certain("RSP-02"));
}

// RNR-05: the retry may be taken although it came before the RNR NAK left; what came behind the
// refused request before it was dropped.
TEST_CASE("judge: a NAK after an RNR NAK that an early retry overtook", "[judge][RSP-02]") {
    Wire wire;
    const auto one = wire.from_a(kSendOnly, 100);
    const auto two = wire.from_a(kSendOnly, 101);
    const auto retry = wire.from_a(kSendOnly, 100);
    const auto three = wire.from_a(kSendOnly, 102);
    const auto refused = wire.answer(100, 0, wire::Syndrome::rnr(10));
    const auto nak = wire.nak(101, 1, NakCode::PsnSequence);
    CHECK(judged(at(kB), {one, two, retry, three, refused, nak}) == kNothing);
    CHECK(judged(at(kB), {one, two, three, refused, nak}) == certain("RSP-02"));
    CHECK(judged(at(kB), {one, retry, refused, nak}) == certain("RSP-02")); // nothing is ahead
    // An ACK of what came before them leaves the retry open.
    const auto before = wire.from_a(kSendOnly, 99);
    const std::vector packets{before,
                              one,
                              two,
                              retry,
                              three,
                              wire.ack(99, 1),
                              wire.answer(100, 1, wire::Syndrome::rnr(10)),
                              wire.nak(101, 2, NakCode::PsnSequence)};
    CHECK(judged(at(kB, {.first_psn = wire::Psn(99)}), packets) == kNothing);
    // So it does if that came again too, before the retry.
    std::vector duplicates = packets;
    duplicates.insert(duplicates.begin() + 1, wire.from_a(kSendOnly, 99));
    CHECK(judged(at(kB, {.first_psn = wire::Psn(99)}), duplicates) == kNothing);
    std::vector no_retry = duplicates;
    no_retry.erase(no_retry.begin() + 4);
    CHECK(judged(at(kB, {.first_psn = wire::Psn(99)}), no_retry) == certain("RSP-02"));
}

TEST_CASE("judge LEN-07, RSP-09: PSNs behind a READ", "[judge][LEN-07][RSP-09]") {
    Wire wire;
    const auto empty = wire.read(100, 0);
    const auto answer = wire.answer(100, 1, wire::Syndrome::ack(31), kReadOnly);
    const auto next = wire.from_a(kSendOnly, 101);
    const auto nak = wire.nak(100, 1, NakCode::PsnSequence);
    const auto found = judged(at(kB), {empty, answer, next, nak});
    CHECK(std::ranges::find(found, Found{"LEN-07", Certainty::Certain}) != found.end());
    Wire other;
    const auto wrapping = other.read(0xFFFFFE, 2000); // of two packets, which end the circle
    const auto behind = other.from_a(kSendOnly, 0);
    const auto asks = other.nak(0, 1, NakCode::PsnSequence);
    auto assumptions = connected({.first_psn = wire::Psn(0xFFFFFE)});
    assumptions.recorded_at = {kB};
    CHECK(judged(assumptions, {wrapping, behind, asks}) == certain("RSP-09"));
}

TEST_CASE("judge: UC and UD", "[judge][REQ-01][LEN-10][EXT-05]") {
    Wire wire;
    const auto first = wire.from_a(kUcSendFirst, 100, 1024);
    const auto last = wire.from_a(kUcSendLast, 102, 8);
    CHECK(judged(at(kB), {first, last}) == kNothing); // the network may have lost one
    CHECK(judged(at(kA), {first, last}) == certain("REQ-01"));
    CHECK(judged(at(kA), {wire.from_a(kUcSendFirst, 100, 512)}) == certain("LEN-10"));
    CHECK(judged(nothing(), {wire.from_a(kUdSendOnly, 7, 4096)}) == kNothing);
    CHECK(judged(nothing(), {wire.from_a(kUdSendOnly, 7, 4100)}) == certain("EXT-05"));
}

} // namespace veriroce::judge::test
