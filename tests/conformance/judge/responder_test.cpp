// The responder's rules: a history that breaks each, and lawful ones beside it.
#include <catch2/catch.hpp>

#include "tests/conformance/judge/history.hpp"

namespace veriroce::judge::test {
namespace {

using wire::NakCode;

Assumptions lossy() {
    auto assumptions = connected();
    assumptions.complete = false;
    return assumptions;
}

} // namespace

TEST_CASE("judge ACK-04: an ACK ahead of what was sent", "[judge][ACK-04]") {
    Wire wire;
    const auto first = wire.from_a(kSendOnly, 100);
    CHECK(judged(connected(), {first, wire.ack(101, 1)}) == certain("ACK-04"));
    CHECK(judged(lossy(), {first, wire.ack(101, 1)}) == possible("ACK-04"));
    CHECK(judged(connected(), {first, wire.ack(100, 1)}) == kNothing);
}

TEST_CASE("judge ACK-04: what a responder says of a reserved opcode is no ACK of the unsent",
          "[judge][ACK-04][BTH-06]") {
    constexpr std::uint8_t kReserved = 0x1F;
    Wire wire;
    const auto one = wire.from_a(kSendOnly, 100);
    const auto ack = wire.ack(100, 1);
    const auto odd = wire.from_a(kReserved, 101);
    const auto nak = wire.nak(101, 1, NakCode::InvalidRequest);
    CHECK(judged(at_both(), {one, ack, odd, nak}) == kNothing);
    // Without the odd packet there is nothing that it could refuse.
    CHECK(judged(at_both(), {one, ack, nak}) == certain("ACK-04"));
}

TEST_CASE("judge ACK-04: an ACK of what did not arrive", "[judge][ACK-04]") {
    Wire wire;
    const auto first = wire.from_a(kSendOnly, 100);
    const auto third = wire.from_a(kSendOnly, 102);
    CHECK(judged(connected(), {first, wire.ack(100, 1), third, wire.ack(102, 2)}) ==
          certain("ACK-04"));
    CHECK(judged(lossy(), {first, wire.ack(100, 1), third, wire.ack(102, 3)}) ==
          possible("ACK-04"));
    CHECK(judged(connected(), {first, wire.ack(100, 1), third, wire.from_a(kSendOnly, 101),
                               wire.ack(102, 3)}) == kNothing);
}

TEST_CASE("judge CRC-07: an ACK of what arrived with a wrong ICRC only", "[judge][CRC-07]") {
    Wire wire;
    const auto first = wire.from_a(kSendOnly, 100);
    auto bad = wire.from_a(kSendOnly, 101);
    bad.integrity = flow::Integrity::Bad;
    const auto third = wire.from_a(kSendOnly, 102);
    const auto good = wire.from_a(kSendOnly, 101);
    const auto ack = wire.ack(100, 1);
    const auto all = wire.ack(102, 3);
    CHECK(judged(connected(), {first, ack, bad, third, bad, all}) == certain("CRC-07"));
    CHECK(judged(connected(), {first, ack, bad, third, good, all}) == kNothing);
}

TEST_CASE("judge ACK-04: ACKs do not go back without a duplicate", "[judge][ACK-04]") {
    Wire wire;
    const std::vector packets{wire.from_a(kSendOnly, 100), wire.from_a(kSendOnly, 101),
                              wire.from_a(kSendOnly, 102), wire.ack(102, 3), wire.ack(100, 3)};
    CHECK(judged(connected(), packets) == certain("ACK-04"));
    CHECK(judged(nothing(), packets) == possible("ACK-04"));
    auto repeated = packets;
    repeated.insert(repeated.begin() + 4, wire.from_a(kSendOnly, 100));
    CHECK(judged(connected(), repeated) == kNothing);
    auto ghost = packets;
    ghost.back() = wire.ack(102, 3); // says the last again, with new credits perhaps
    CHECK(judged(connected(), ghost) == kNothing);
}

TEST_CASE("judge ACK-04: a duplicate may be older than the history", "[judge][ACK-04]") {
    const auto found = [](bool repeated) {
        Wire wire;
        std::vector<flow::Packet> packets;
        constexpr std::uint32_t kSends = 4000;
        for (std::uint32_t i = 0; i < kSends; ++i) {
            packets.push_back(wire.from_a(kSendOnly, 100 + i));
            packets.push_back(wire.ack(100 + i, i + 1));
        }
        if (repeated) packets.push_back(wire.from_a(kSendOnly, 100));
        packets.push_back(wire.ack(100 + kSends - 2, kSends));
        return judged(connected(), std::move(packets));
    };
    CHECK(found(true) == kNothing);
    CHECK(found(false) == certain("ACK-04"));
}

TEST_CASE("judge ACK-06: only defined syndromes", "[judge][ACK-06]") {
    Wire wire;
    const auto first = wire.from_a(kSendOnly, 100);
    for (const unsigned syndrome : {0x40U, 0x5FU, 0x80U, 0xFFU, 0x65U, 0x7FU}) {
        const wire::Syndrome value{static_cast<std::uint8_t>(syndrome)};
        const auto found = judged(nothing(), {first, wire.answer(100, 1, value)});
        INFO(syndrome);
        REQUIRE_FALSE(found.empty());
        CHECK(found.front() == certain("ACK-06").front());
    }
    for (const unsigned syndrome : {0x00U, 0x1FU, 0x20U, 0x3FU, 0x61U, 0x62U, 0x63U}) {
        const wire::Syndrome value{static_cast<std::uint8_t>(syndrome)};
        const std::uint32_t msn = syndrome < 0x20 ? 1 : 0;
        CHECK(judged(nothing(), {first, wire.answer(100, msn, value)}) == kNothing);
    }
}

TEST_CASE("judge ACK-07: the MSN counts messages, from 0", "[judge][ACK-07][ACK-09]") {
    Wire wire;
    const auto one = wire.from_a(kWriteOnly, 100, 4);
    CHECK(judged(connected(), {one, wire.ack(100, 1)}) == kNothing);
    CHECK(judged(connected(), {one, wire.ack(100, 0)}) == certain("ACK-07"));
    CHECK(judged(connected(), {one, wire.ack(100, 2)}) == certain("ACK-07"));
    // Without its beginning only differences count.
    const auto two = wire.from_a(kWriteOnly, 101, 4);
    const auto three = wire.from_a(kWriteOnly, 102, 4);
    const auto from = [&](std::uint32_t msn, std::uint32_t second, std::uint32_t third) {
        return judged(nothing(), {one, wire.ack(100, msn), two, wire.ack(101, second), three,
                                  wire.ack(102, third)});
    };
    CHECK(from(77, 78, 79) == kNothing);
    CHECK(from(0xFFFFFF, 0, 1) == kNothing);
    CHECK(from(77, 78, 80) == possible("ACK-07")); // the capture may lack a message
    CHECK(from(77, 78, 78) == possible("ACK-07"));
    auto complete = nothing();
    complete.complete = complete.ordered = true;
    CHECK(judged(complete, {one, wire.ack(100, 77), two, wire.ack(101, 78), three,
                            wire.ack(102, 78)}) == possible("ACK-07")); // the pair is a guess
}

TEST_CASE("judge ACK-07: a SEND whose key cannot be invalidated need not count",
          "[judge][KEY-11]") {
    constexpr std::uint8_t send_only_with_invalidate = 0x17;
    Wire wire;
    const auto one = wire.from_a(send_only_with_invalidate, 100, 4);
    CHECK(judged(connected(), {one, wire.ack(100, 1)}) == kNothing);
    CHECK(judged(connected(), {one, wire.ack(100, 0)}) == kNothing);
    CHECK(judged(connected(), {one, wire.ack(100, 2)}) == certain("ACK-07"));
}

TEST_CASE("judge ACK-07: a late ACK may count what came after its PSN", "[judge][ACK-07]") {
    Wire wire;
    const auto one = wire.from_a(kSendOnly, 100);
    const auto two = wire.from_a(kSendOnly, 101);
    CHECK(judged(connected(), {one, two, wire.ack(100, 2), wire.ack(101, 2)}) == kNothing);
    CHECK(judged(connected(), {one, two, wire.ack(100, 3)}) == certain("ACK-07"));
}

TEST_CASE("judge ACK-08: an unfinished or refused message does not count", "[judge][ACK-08]") {
    Wire wire;
    const auto first = wire.from_a(kSendFirst, 100, 1024);
    CHECK(judged(connected(), {first, wire.ack(100, 1)}) == certain("ACK-07"));
    CHECK(judged(connected(), {first, wire.ack(100, 0)}) == kNothing);
    const auto only = wire.from_a(kSendOnly, 100, 8);
    CHECK(judged(connected(), {only, wire.answer(100, 1, wire::Syndrome::rnr(1))}) ==
          certain("ACK-08"));
    CHECK(judged(connected(), {only, wire.answer(100, 0, wire::Syndrome::rnr(1))}) == kNothing);
    CHECK(judged(connected(), {only, wire.nak(100, 1, NakCode::InvalidRequest)}) ==
          certain("ACK-08"));
    // A READ that failed after it was accepted may count (RDR-13).
    const auto read = wire.read(100, 3000);
    CHECK(judged(connected(), {read, wire.nak(101, 1, NakCode::RemoteAccess)}) == kNothing);
    CHECK(judged(connected(), {read, wire.nak(101, 0, NakCode::RemoteAccess)}) == kNothing);
}

TEST_CASE("judge ACK-07: PSNs that were not seen may have ended messages or not", "[judge]") {
    Wire wire;
    const auto one = wire.from_a(kSendOnly, 100);
    const auto four = wire.from_a(kSendOnly, 103);
    for (const std::uint32_t msn : {2U, 3U, 4U}) {
        CHECK(judged(lossy(), {one, wire.ack(100, 1), four, wire.ack(103, msn)}) ==
              possible("ACK-04")); // the gap itself, never the MSN
    }
    const auto found = judged(lossy(), {one, wire.ack(100, 1), four, wire.ack(103, 1)});
    REQUIRE_FALSE(found.empty());
    CHECK(std::ranges::find(found, certain("ACK-07").front()) != found.end());
}

TEST_CASE("judge RSP-02: the PSN of a sequence NAK", "[judge][RSP-02]") {
    Wire wire;
    const auto one = wire.from_a(kSendOnly, 100);
    const auto two = wire.from_a(kSendOnly, 101);
    const auto four = wire.from_a(kSendOnly, 103);
    const auto nak = [&](std::uint32_t psn, std::uint32_t msn) {
        return wire.nak(psn, msn, NakCode::PsnSequence);
    };
    CHECK(judged(connected(), {one, two, four, nak(102, 2)}) == kNothing);
    CHECK(judged(connected(), {one, two, four, nak(101, 1)}) == kNothing); // lost behind us
    CHECK(judged(connected(), {one, two, wire.ack(101, 2), four, nak(101, 1)}) ==
          certain("RSP-02"));
    CHECK(judged(nothing(), {one, two, wire.ack(101, 2), four, nak(101, 1)}) == possible("RSP-02"));
    CHECK(judged(connected(), {one, nak(101, 1)}) == certain("RSP-02")); // nothing is ahead
    CHECK(judged(connected(), {one, nak(100, 0)}) == certain("RSP-02"));
    CHECK(judged(connected(), {one, two, nak(110, 2)}) == certain("RSP-02"));
}

TEST_CASE("judge RSP-03, RSP-07: one sequence NAK", "[judge][RSP-03][RSP-07]") {
    Wire wire;
    const auto one = wire.from_a(kSendOnly, 100);
    const auto ack = wire.ack(100, 1);
    const auto three = wire.from_a(kSendOnly, 102);
    const auto four = wire.from_a(kSendOnly, 103);
    const auto nak = wire.nak(101, 1, NakCode::PsnSequence);
    const auto second = wire.nak(101, 1, NakCode::PsnSequence);
    const auto two = wire.from_a(kSendOnly, 101);
    CHECK(judged(connected(), {one, ack, three, nak, four, second}) == certain("RSP-03"));
    CHECK(judged(lossy(), {one, ack, three, nak, four, second}) == possible("RSP-03"));
    CHECK(judged(connected(), {one, ack, three, nak, two, three, second}) == certain("RSP-07"));
    // A device that answered a duplicate in between may NAK once more.
    CHECK(judged(connected(), {one, ack, three, nak, one, four, second}) == kNothing);
    // It may have come before the first NAK left, and others behind it.
    const auto before = wire.from_a(kSendOnly, 99);
    CHECK(judged(connected(), {before, one, ack, three, before, three, two, nak, second}) ==
          kNothing);
    // Another gap draws another NAK (RSP-06).
    CHECK(judged(connected(), {one, ack, three, nak, two, four,
                               wire.nak(102, 2, NakCode::PsnSequence)}) == kNothing);
}

TEST_CASE("judge RSP-12: what was acknowledged is not refused", "[judge][RSP-12]") {
    Wire wire;
    const auto one = wire.from_a(kSendOnly, 100);
    const auto again = wire.from_a(kSendOnly, 100);
    const auto refused = wire.nak(100, 0, NakCode::RemoteAccess);
    CHECK(judged(connected(), {one, wire.ack(100, 1), again, refused}) == certain("RSP-12"));
    CHECK(judged(connected(), {one, refused}) == kNothing);
}

TEST_CASE("judge N-07: after a fatal NAK the QP is silent", "[judge][N-07]") {
    Wire wire;
    const auto one = wire.from_a(kSendOnly, 100);
    const auto two = wire.from_a(kSendOnly, 101);
    const auto refused = wire.nak(100, 0, NakCode::InvalidRequest);
    CHECK(judged(connected(), {one, two, refused, wire.ack(101, 2)}) == certain("N-07"));
    CHECK(judged(nothing(), {one, two, refused, wire.ack(101, 2)}) == possible("N-07"));
    CHECK(judged(connected(), {one, two, refused}) == kNothing);
    // READ responses may be on their way.
    const auto read = wire.read(100, 8);
    CHECK(judged(connected(), {read, two, wire.nak(101, 1, NakCode::InvalidRequest),
                               wire.answer(100, 1, wire::Syndrome::ack(31), kReadOnly, 8)}) ==
          kNothing);
}

TEST_CASE("judge RNR-01: an RNR NAK for what was not sent", "[judge][RNR-01]") {
    Wire wire;
    const auto one = wire.from_a(kSendOnly, 100);
    CHECK(judged(connected(), {one, wire.answer(103, 0, wire::Syndrome::rnr(4))}) ==
          certain("RNR-01"));
}

TEST_CASE("judge BTH-19: flags of responses", "[judge][BTH-19]") {
    Wire wire;
    auto ack = wire.ack(100, 1);
    ack.transport.bth.ack_request = true;
    CHECK(judged(connected(), {wire.from_a(kSendOnly, 100), ack}) == certain("BTH-19"));
}

TEST_CASE("judge CNP-02: the fields of a CNP", "[judge][CNP-02]") {
    Wire wire;
    auto cnp = wire.from_b(kCnp, 0, 16);
    cnp.transport.bth.becn = true;
    CHECK(judged(nothing(), {cnp}) == kNothing);
    cnp.transport.bth.pkey = {0x8001}; // that of the marked packet
    CHECK(judged(nothing(), {cnp}) == kNothing);
    auto numbered = cnp;
    numbered.transport.bth.psn = wire::Psn(7);
    CHECK(judged(nothing(), {numbered}) == certain("CNP-02"));
    cnp.transport.bth.becn = false;
    CHECK(judged(nothing(), {cnp}) == kNothing);          // the network may write there
    CHECK(judged(at_both(), {cnp}) == certain("CNP-02")); // a SHOULD
}

TEST_CASE("judge: requests that must be refused are not acknowledged", "[judge]") {
    Wire wire;
    struct Row {
        const char* rule;
        std::vector<flow::Packet> requests;
        std::uint32_t msn;
    };
    auto misaligned = wire.from_a(kFetchAdd, 100);
    misaligned.transport.atomic.virtual_address = 0x1004;
    auto shorter = wire.from_a(kWriteOnly, 100, 64);
    shorter.transport.reth.dma_length = 100;
    auto huge = wire.read(100, 0x80000001);
    const std::vector<Row> rows{
        {"OPC-03", {wire.from_a(kSendOnly, 100), wire.from_a(kSendLast, 101, 4)}, 2},
        {"OPC-04", {wire.from_a(kSendFirst, 100, 1024), wire.read(101, 4)}, 1},
        {"OPC-05", {wire.from_a(kSendFirst, 100, 1024), wire.from_a(kWriteLast, 101, 4)}, 1},
        {"OPC-10", {wire.from_a(kSendFirst, 100, 1024), wire.from_a(kSendFirst, 101, 1024)}, 0},
        {"LEN-01", {wire.from_a(kSendFirst, 100, 512)}, 0},
        {"LEN-02", {wire.from_a(kSendFirst, 100, 1024), wire.from_a(kSendLast, 101, 0)}, 1},
        {"LEN-03", {wire.from_a(kSendOnly, 100, 1028)}, 1},
        {"LEN-04", {shorter}, 1},
    };
    auto assumptions = connected();
    assumptions.not_judged = {kA};
    for (const Row& row : rows) {
        INFO(row.rule);
        const wire::Psn last = row.requests.back().psn();
        auto accepted = row.requests;
        accepted.push_back(wire.ack(last.value(), row.msn));
        CHECK(judged(assumptions, accepted) == certain(row.rule));
        auto refused = row.requests;
        const auto ended = static_cast<std::uint32_t>(std::ranges::count_if(
            row.requests.begin(), row.requests.end() - 1,
            [](const flow::Packet& packet) { return packet.info().ends_message(); }));
        refused.push_back(wire.nak(last.value(), ended, NakCode::InvalidRequest));
        CHECK(judged(assumptions, refused) == kNothing);
    }
    const auto value = wire.answer(100, 1, wire::Syndrome::ack(31), kAtomicAck);
    CHECK(judged(assumptions, {misaligned, value}) == certain("ATM-02"));
    CHECK(judged(assumptions, {huge, wire.nak(100, 0, NakCode::InvalidRequest)}) == kNothing);
}

} // namespace veriroce::judge::test
