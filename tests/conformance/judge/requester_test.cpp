// The requester's rules: a history that breaks each, and lawful ones beside it.
#include <catch2/catch.hpp>

#include "tests/conformance/judge/history.hpp"

namespace veriroce::judge::test {

TEST_CASE("judge REQ-01: a PSN that was not sent", "[judge][REQ-01]") {
    Wire wire;
    const std::vector packets{wire.from_a(kSendOnly, 100), wire.from_a(kSendOnly, 102)};
    CHECK(judged(at_both(), packets) == certain("REQ-01"));
    // Anywhere else the network may have lost it.
    CHECK(judged(connected(), packets) == kNothing);
    CHECK(judged(nothing(), packets) == kNothing);
}

TEST_CASE("judge REQ-01: the agreed first PSN", "[judge][REQ-01]") {
    Wire wire;
    CHECK(judged(at_both(), {wire.from_a(kSendOnly, 101)}) == certain("REQ-01"));
    CHECK(judged(at_both(), {wire.from_a(kSendOnly, 100)}) == kNothing);
}

TEST_CASE("judge N-36: a READ keeps the PSNs of its responses", "[judge][N-36]") {
    Wire wire;
    const auto read = wire.read(100, 3000);
    CHECK(judged(at_both(), {read, wire.from_a(kSendOnly, 101)}) == certain("N-36"));
    CHECK(judged(at_both(), {read, wire.from_a(kSendOnly, 102)}) == certain("N-36"));
    CHECK(judged(at_both(), {read, wire.from_a(kSendOnly, 103)}) == kNothing);
    CHECK(judged(at_both(), {read, wire.from_a(kSendOnly, 104)}) == certain("REQ-01"));
    CHECK(judged(at_both(), {wire.read(100, 0), wire.from_a(kSendOnly, 101)}) == kNothing);
}

TEST_CASE("judge REQ-31: a retransmission repeats the packet", "[judge][REQ-31]") {
    Wire wire;
    const auto first = wire.from_a(kSendOnly, 100, 64);
    const auto next = wire.from_a(kSendOnly, 101, 64);
    const auto nak = wire.nak(100, 0, wire::NakCode::PsnSequence);
    CHECK(judged(connected(), {first, next, nak, wire.from_a(kSendOnly, 100, 60)}) ==
          certain("REQ-31"));
    CHECK(judged(connected(), {first, next, nak, wire.from_a(kWriteOnly, 100, 64)}) ==
          certain("REQ-31"));
    // AckReq and MigReq may differ.
    auto again = wire.from_a(kSendOnly, 100, 64);
    again.transport.bth.ack_request = again.transport.bth.mig_req = true;
    CHECK(judged(connected(), {first, next, nak, again}) == kNothing);
    // The content of what the capture cut short is not known.
    auto cut = wire.from_a(kSendOnly, 100, 60);
    cut.transport.body = cut.transport.body.first(8);
    CHECK(judged(connected(), {first, next, nak, cut}) == kNothing);
}

TEST_CASE("judge REQ-31: another connection with the same QPs and PSNs", "[judge][REQ-31]") {
    Wire wire;
    const auto first = wire.from_a(kSendOnly, 100, 64);
    const auto ack = wire.ack(100, 1);
    const auto other = wire.from_a(kWriteOnly, 100, 64);
    CHECK(judged(nothing(), {first, ack, other}) == possible("REQ-31"));
    CHECK(judged(connected(), {first, ack, other}) == certain("REQ-31"));
}

TEST_CASE("judge REQ-10: a READ retry lies within the original", "[judge][REQ-10]") {
    Wire wire;
    const auto read = wire.read(100, 3000, 0x1000);
    const auto retry = [&](std::uint32_t psn, std::uint32_t length, std::uint64_t address) {
        wire.wait(std::chrono::milliseconds(1));
        return judged(connected(), {read, wire.read(psn, length, address)});
    };
    CHECK(retry(100, 3000, 0x1000) == kNothing);
    CHECK(retry(101, 3000 - 1024, 0x1000 + 1024) == kNothing);
    CHECK(retry(102, 3000 - 2048, 0x1000 + 2048) == kNothing);
    CHECK(retry(100, 1024, 0x1000) == kNothing); // a piece, cut at a PSN's border
    CHECK(retry(101, 3000 - 1024, 0x1000) == certain("REQ-10"));
    CHECK(retry(101, 3000, 0x1000 + 1024) == certain("REQ-10"));
    CHECK(retry(101, 100, 0x1000 + 1024) == certain("REQ-10"));
    auto other_key = wire.read(100, 3000, 0x1000);
    other_key.transport.reth.rkey = {8};
    CHECK(judged(connected(), {read, other_key}) == certain("REQ-10"));
}

TEST_CASE("judge REQ-27: READs and atomics outstanding", "[judge][REQ-27]") {
    Wire wire;
    const flow::Attributes two{.max_rd_atomic = 2};
    const auto one = wire.read(100, 64);
    const auto atomic = wire.from_a(kFetchAdd, 101);
    const auto answer = wire.answer(100, 1, wire::Syndrome::ack(31), kReadOnly, 64);
    const auto three = wire.read(102, 64);
    CHECK(judged(connected(two), {one, atomic, three}) == certain("REQ-27"));
    CHECK(judged(connected(two), {one, atomic, answer, three}) == kNothing);
    CHECK(judged(connected(), {one, atomic, three}) == kNothing); // nothing agreed
    auto lossy = connected(two);
    lossy.complete = false;
    CHECK(judged(lossy, {one, atomic, three}) == possible("REQ-27"));
}

TEST_CASE("judge REQ-27: a number that is no power of two is a SHOULD", "[judge][REQ-27]") {
    Wire wire;
    Judge judge(connected({.max_rd_atomic = 3}));
    for (std::uint32_t psn = 100; psn < 104; ++psn)
        judge.observe(wire.read(psn, 64));
    REQUIRE(judge.violations().size() == 1);
    CHECK(judge.violations()[0].level == rules::Level::Should);
}

TEST_CASE("judge LEN-10: messages are cut at the path MTU", "[judge][LEN-10]") {
    Wire wire;
    CHECK(judged(nothing(), {wire.from_a(kSendFirst, 100, 1000)}) == certain("LEN-10"));
    CHECK(judged(nothing(), {wire.from_a(kSendFirst, 100, 512)}) == kNothing);
    CHECK(judged(connected(), {wire.from_a(kSendFirst, 100, 512)}) == certain("LEN-10"));
    CHECK(judged(connected(), {wire.from_a(kSendOnly, 100, 1028)}) == certain("LEN-10"));
    CHECK(judged(connected(), {wire.from_a(kSendOnly, 100, 1024)}) == kNothing);
    CHECK(judged(nothing(), {wire.from_a(kSendFirst, 100, 512),
                             wire.from_a(kSendMiddle, 101, 1024)}) == certain("LEN-10"));
    CHECK(judged(connected(),
                 {wire.from_a(kSendFirst, 100, 1024), wire.from_a(kSendLast, 101, 1)}) == kNothing);
}

TEST_CASE("judge RNR-08: the time that an RNR NAK names is waited out", "[judge][RNR-08]") {
    Wire wire;
    const auto rnr = [&](wire::Duration wait) {
        const auto first = wire.from_a(kSendOnly, 100, 8);
        const auto refused = wire.answer(100, 0, wire::Syndrome::rnr(14)); // 1.28 ms
        wire.wait(wait);
        return std::vector{first, refused, wire.from_a(kSendOnly, 100, 8)};
    };
    using std::chrono::microseconds;
    CHECK(judged(at_both(), rnr(microseconds(1270))) == certain("RNR-08"));
    CHECK(judged(at_both(), rnr(microseconds(1279))) == kNothing);
    CHECK(judged(at_both(), rnr(microseconds(50'000))) == kNothing);
    // Somewhere between the devices it may have been on its way already, for as long as a round
    // trip.
    CHECK(judged(connected(), rnr(microseconds(600))) == possible("RNR-08"));
    auto near = connected();
    near.round_trip = microseconds(100);
    CHECK(judged(near, rnr(microseconds(600))) == certain("RNR-08"));
    CHECK(judged(near, rnr(microseconds(50))) == possible("RNR-08"));
    // A second one comes during the wait. The requester may begin a new wait or go on with the
    // first.
    const auto twice = [&](wire::Duration between, wire::Duration rest) {
        auto packets = rnr(between);
        packets.back() = wire.answer(100, 0, wire::Syndrome::rnr(14));
        wire.wait(rest);
        packets.push_back(wire.from_a(kSendOnly, 100, 8));
        return packets;
    };
    CHECK(judged(at_both(), twice(microseconds(1000), microseconds(1270))) == kNothing);
    CHECK(judged(at_both(), twice(microseconds(1000), microseconds(280))) == kNothing);
    CHECK(judged(at_both(), twice(microseconds(1000), microseconds(200))) == certain("RNR-08"));
}

TEST_CASE("judge RNR-08: a resend under way may go on through the refused request",
          "[judge][RNR-08]") {
    Wire wire;
    auto at_requester = connected();
    at_requester.recorded_at = {kA};
    const auto send = [&](std::uint32_t psn) { return wire.from_a(kSendOnly, psn, 8); };
    const std::vector told{send(100), send(101), send(102),
                           wire.nak(100, 0, wire::NakCode::PsnSequence), send(100)};
    const auto refused = wire.answer(101, 1, wire::Syndrome::rnr(14));
    const auto then = [&](std::vector<flow::Packet> packets) {
        packets.insert(packets.begin(), told.begin(), told.end());
        return judged(at_requester, packets);
    };
    CHECK(then({refused, send(101), send(102)}) == kNothing);
    CHECK(then({send(101), refused, send(101)}) == certain("RNR-08"));
    CHECK(then({send(101), send(102), refused, send(101)}) == certain("RNR-08"));
    // Nor need one that has not begun be called back.
    const auto nak = wire.nak(101, 1, wire::NakCode::PsnSequence);
    const auto refusals = [&](std::vector<flow::Packet> packets) {
        packets.insert(packets.begin(), {send(100), send(101), send(102)});
        return judged(at_requester, packets);
    };
    CHECK(refusals({nak, refused, send(101), send(102)}) == kNothing);
    CHECK(refusals({nak, send(101), refused, send(101)}) == certain("RNR-08"));
    CHECK(refusals({refused, nak, send(101)}) == kNothing);
    CHECK(refusals({refused, send(101)}) == certain("RNR-08"));
}

TEST_CASE("judge RNR-08: a resend of the ACK timer may be under way", "[judge][RNR-08]") {
    Wire wire;
    auto near = connected({.timeout = 8}); // 1.05 ms
    near.round_trip = std::chrono::microseconds(2);
    const auto after = [&](wire::Duration before, wire::Duration since) {
        const auto first = wire.from_a(kSendOnly, 100, 8);
        wire.wait(before);
        const auto refused = wire.answer(100, 0, wire::Syndrome::rnr(14)); // 1.28 ms
        wire.wait(since);
        return judged(near, {first, refused, wire.from_a(kSendOnly, 100, 8)});
    };
    using std::chrono::microseconds;
    CHECK(after(microseconds(1020), microseconds(50)) == kNothing);
    CHECK(after(microseconds(900), microseconds(50)) == certain("RNR-08"));
    CHECK(after(microseconds(900), microseconds(160)) == certain("RNR-08"));
}

// RNR-12: the first response may have come while another one was missing, and was dropped.
TEST_CASE("judge RNR-08: no wait after a READ that was asked for again", "[judge][RNR-08]") {
    const auto resent = [](std::size_t times) {
        Wire wire;
        std::vector packets{wire.read(100, 8), wire.answer(100, 1, kAck, kReadOnly, 8)};
        for (std::size_t i = 1; i < times; ++i)
            packets.push_back(wire.read(100, 8));
        packets.push_back(wire.from_a(kSendOnly, 101, 8));
        packets.push_back(wire.answer(101, 1, wire::Syndrome::rnr(14)));
        packets.push_back(wire.from_a(kSendOnly, 101, 8));
        return judged(at_both(), packets);
    };
    CHECK(resent(1) == certain("RNR-08"));
    CHECK(resent(2) == kNothing);
}

TEST_CASE("judge REQ-02: half of all PSNs may be outstanding", "[judge][REQ-02]") {
    Wire wire;
    const auto open = [&](std::uint32_t bytes, std::size_t sends) {
        std::vector<flow::Packet> packets;
        for (std::uint32_t i = 0; i < sends; ++i)
            packets.push_back(wire.from_a(kSendOnly, 100 + i, 8));
        packets.push_back(wire.read(100 + static_cast<std::uint32_t>(sends), bytes));
        return judged(at_both({.mtu = wire::Mtu::B256}, {.mtu = wire::Mtu::B256}), packets);
    };
    constexpr std::uint32_t most = std::uint32_t{1} << 31;
    CHECK(open(most, 0) == kNothing);
    CHECK(open(most, 1) == certain("REQ-02"));
    CHECK(open(most - 256, 1) == kNothing);
    CHECK(open(most - 255, 1) == certain("REQ-02"));
}

TEST_CASE("judge TMO-01: a timeout is not shorter than the local ACK timeout", "[judge][TMO-01]") {
    Wire wire;
    const flow::Attributes timed{.timeout = 8}; // 1.05 ms
    const auto resent = [&](wire::Duration wait) {
        const auto first = wire.from_a(kSendOnly, 100, 8);
        wire.wait(wait);
        return std::vector{first, wire.from_a(kSendOnly, 100, 8)};
    };
    using std::chrono::microseconds;
    CHECK(judged(at_both(timed), resent(microseconds(900))) == certain("TMO-01"));
    CHECK(judged(at_both(timed), resent(microseconds(1100))) == kNothing);
    CHECK(judged(at_both(timed), resent(microseconds(9000))) == kNothing);
    CHECK(judged(connected(timed), resent(microseconds(900))) == kNothing); // copied on its way
    CHECK(judged(at_both(), resent(microseconds(900))) == kNothing);        // not known
}

TEST_CASE("judge TMO-01: a NAK needs no timeout", "[judge][TMO-01]") {
    Wire wire;
    const auto first = wire.from_a(kSendOnly, 100, 8);
    const auto second = wire.from_a(kSendOnly, 101, 8);
    const auto nak = wire.nak(100, 0, wire::NakCode::PsnSequence);
    wire.wait(std::chrono::microseconds(100));
    auto assumptions = connected({.timeout = 8});
    assumptions.recorded_at = {kA};
    CHECK(judged(assumptions, {first, second, nak, wire.from_a(kSendOnly, 100, 8),
                               wire.from_a(kSendOnly, 101, 8)}) == kNothing);
}

TEST_CASE("judge: what is on one packet only", "[judge][BTH-09][BTH-14][BTH-16][ROB-04]") {
    Wire wire;
    auto odd = wire.from_a(kSendOnly, 100, 8);
    odd.body_bytes = 7;
    odd.transport.body = odd.transport.body.first(7);
    CHECK(judged(nothing(), {odd}) == certain("BTH-09"));
    auto reserved = wire.from_a(kSendOnly, 100, 8);
    reserved.transport.bth.reserved7 = 1;
    CHECK(judged(nothing(), {reserved}) == certain("BTH-16"));
    auto congested = wire.from_a(kSendOnly, 100, 8);
    congested.transport.bth.reserved6 = 1; // a network may write there
    CHECK(judged(nothing(), {congested}) == possible("BTH-16"));
    CHECK(judged(at_both(), {congested}) == certain("BTH-16"));
    auto solicited = wire.from_a(kSendFirst, 100, 1024);
    solicited.transport.bth.solicited = true;
    CHECK(judged(nothing(), {solicited}) == certain("BTH-14"));
    auto last = wire.from_a(kSendOnly, 100, 8);
    last.transport.bth.solicited = true;
    CHECK(judged(nothing(), {last}) == kNothing);
    std::vector<std::byte> bytes(4, std::byte{1});
    auto stale = wire.from_a(kSendOnly, 100, 2);
    stale.transport.body = bytes;
    CHECK(judged(nothing(), {stale}) == certain("ROB-04"));
    // Of an unchecked packet the network may have changed any bit.
    reserved.integrity = flow::Integrity::Unchecked;
    CHECK(judged(nothing(), {reserved}) == possible("BTH-16"));
}

TEST_CASE("judge ENC-02, BTH-08: all packets of a QP", "[judge][ENC-02][BTH-08]") {
    Wire wire;
    const auto first = wire.from_a(kSendOnly, 100, 8);
    auto port = wire.from_a(kSendOnly, 101, 8);
    port.source_port = 50'001;
    auto pkey = wire.from_a(kSendOnly, 101, 8);
    pkey.transport.bth.pkey = {0x7FFF};
    CHECK(judged(connected(), {first, port}) == certain("ENC-02"));
    CHECK(judged(connected(), {first, pkey}) == certain("BTH-08"));
    CHECK(judged(nothing(), {first, port}) == possible("ENC-02"));
    CHECK(judged(connected(), {first, wire.from_a(kSendOnly, 101, 8)}) == kNothing);
}

TEST_CASE("judge: packets of the tester are not judged", "[judge]") {
    Wire wire;
    auto assumptions = at_both();
    assumptions.not_judged = {kA};
    CHECK(judged(assumptions, {wire.from_a(kSendOnly, 105), wire.from_a(kSendFirst, 106, 77)}) ==
          kNothing);
}

} // namespace veriroce::judge::test
