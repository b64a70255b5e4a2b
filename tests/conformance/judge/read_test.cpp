// READ responses and atomics.
#include <catch2/catch.hpp>

#include "tests/conformance/judge/history.hpp"

namespace veriroce::judge::test {

TEST_CASE("judge RDR-01: opcodes and lengths of READ responses", "[judge][RDR-01]") {
    Wire wire;
    const auto read = wire.read(100, 3000);
    const auto first = wire.answer(100, 1, kAck, kReadFirst, 1024);
    const auto middle = wire.from_b(kReadMiddle, 101, 1024);
    const auto last = wire.answer(102, 1, kAck, kReadLast, 952);
    CHECK(judged(connected(), {read, first, middle, last}) == kNothing);
    const auto with = [&](const flow::Packet& one) { return judged(connected(), {read, one}); };
    CHECK(with(wire.from_b(kReadMiddle, 100, 1024)) == certain("RDR-01"));
    CHECK(with(wire.answer(102, 1, kAck, kReadFirst, 1024)).front() == certain("RDR-01").front());
    CHECK(with(wire.answer(102, 1, kAck, kReadLast, 956)) == certain("RDR-01"));
    CHECK(with(wire.answer(100, 1, kAck, kReadFirst, 512)) == certain("RDR-01"));
    CHECK(with(wire.answer(100, 1, kAck, kReadFirst, 100)).front() == certain("RDR-01").front());
    // In the middle an answer may end or begin only where a retry was cut.
    const auto early = wire.answer(101, 1, kAck, kReadLast, 1024);
    CHECK(judged(connected(), {read, first, early}) == certain("RDR-01"));
    auto lossy = connected();
    lossy.complete = false;
    CHECK(judged(lossy, {read, first, early}) == possible("RDR-01"));
}

TEST_CASE("judge RDR-06: the answer to a partial retry begins either way", "[judge][RDR-06]") {
    Wire wire;
    const auto read = wire.read(100, 3000);
    const auto first = wire.answer(100, 1, kAck, kReadFirst, 1024);
    const auto retry = wire.read(101, 3000 - 1024, 0x1000 + 1024);
    const auto middle = wire.from_b(kReadMiddle, 101, 1024);
    const auto anew = wire.answer(101, 1, kAck, kReadFirst, 1024);
    const auto last = wire.answer(102, 1, kAck, kReadLast, 952);
    CHECK(judged(connected(), {read, first, retry, middle, last}) == kNothing);
    CHECK(judged(connected(), {read, first, retry, anew, last}) == kNothing);
    CHECK(judged(connected(), {read, first, anew, last}) == certain("RDR-01"));
    const auto piece = wire.read(101, 1024, 0x1000 + 1024);
    const auto whole_piece = wire.answer(101, 1, kAck, kReadOnly, 1024);
    CHECK(judged(connected(), {read, first, piece, whole_piece}) == kNothing);
}

TEST_CASE("judge LEN-07: a READ of zero bytes", "[judge][LEN-07]") {
    Wire wire;
    const auto read = wire.read(100, 0);
    CHECK(judged(connected(), {read, wire.answer(100, 1, kAck, kReadOnly)}) == kNothing);
    CHECK(judged(connected(), {read, wire.answer(100, 1, kAck, kReadOnly, 4)}) ==
          certain("LEN-07"));
}

TEST_CASE("judge RDR-02: READ responses count up from the request", "[judge][RDR-02]") {
    Wire wire;
    const auto send = wire.from_a(kSendOnly, 100);
    const auto read = wire.read(101, 3000);
    CHECK(judged(connected(), {send, read, wire.answer(100, 1, kAck, kReadOnly, 4)}) ==
          certain("RDR-02"));
    CHECK(judged(connected(), {send, read, wire.answer(104, 1, kAck, kReadOnly, 4)}) ==
          certain("RDR-02"));
    const auto first = wire.answer(101, 2, kAck, kReadFirst, 1024);
    const auto middle = wire.from_b(kReadMiddle, 102, 1024);
    const auto last = wire.answer(103, 2, kAck, kReadLast, 952);
    CHECK(judged(connected(), {send, read, first, middle, middle, last}) == certain("RDR-02"));
    CHECK(judged(nothing(), {send, read, first, middle, middle, last}) == possible("RDR-02"));
    // A hole: the network, or the device where it was recorded.
    CHECK(judged(connected(), {send, read, first, last}) == kNothing);
    CHECK(judged(at_both(), {send, read, first, last}) == certain("RDR-02"));
    // A retry sends them again.
    CHECK(judged(connected(), {send, read, first, middle, last, read, first, middle, last}) ==
          kNothing);
}

TEST_CASE("judge RDR-03: the MSN of READ responses", "[judge][RDR-03]") {
    Wire wire;
    const auto send = wire.from_a(kSendOnly, 100);
    const auto read = wire.read(101, 3000);
    const auto after = wire.from_a(kSendOnly, 104);
    const auto with = [&](std::uint32_t first, std::uint32_t last) {
        return judged(connected(),
                      {send, read, after, wire.answer(101, first, kAck, kReadFirst, 1024),
                       wire.from_b(kReadMiddle, 102, 1024),
                       wire.answer(103, last, kAck, kReadLast, 952)});
    };
    CHECK(with(1, 2) == kNothing); // FIRST may lack the READ
    CHECK(with(2, 2) == kNothing);
    CHECK(with(2, 3) == kNothing); // the SEND behind it was executed
    CHECK(with(0, 2) == certain("RDR-03"));
    CHECK(with(2, 1) == certain("RDR-03"));
    CHECK(with(2, 4) == certain("RDR-03"));
}

TEST_CASE("judge RDR-11: what is behind a READ is acknowledged after it", "[judge][RDR-11]") {
    Wire wire;
    const auto read = wire.read(100, 8);
    const auto send = wire.from_a(kSendOnly, 101);
    const auto answer = wire.answer(100, 1, kAck, kReadOnly, 8);
    CHECK(judged(at_both(), {read, send, wire.ack(101, 2)}) == certain("RDR-11"));
    CHECK(judged(at_both(), {read, send, answer, wire.ack(101, 2)}) == kNothing);
    CHECK(judged(connected(), {read, send, wire.ack(101, 2)}) == kNothing); // lost on its way
}

TEST_CASE("judge ATM-04: a duplicate atomic returns the saved value", "[judge][ATM-04]") {
    Wire wire;
    const auto atomic = wire.from_a(kFetchAdd, 100);
    auto answer = wire.answer(100, 1, kAck, kAtomicAck);
    answer.transport.atomic_ack.original = 5;
    auto other = wire.answer(100, 1, kAck, kAtomicAck);
    other.transport.atomic_ack.original = 6;
    CHECK(judged(connected(), {atomic, answer, atomic, other}) == certain("ATM-04"));
    CHECK(judged(nothing(), {atomic, answer, atomic, other}) == possible("ATM-04"));
    CHECK(judged(connected(), {atomic, answer, atomic, answer}) == kNothing);
}

TEST_CASE("judge ATM-10: the form of an atomic's answer", "[judge][ATM-10]") {
    Wire wire;
    const auto atomic = wire.from_a(kFetchAdd, 100);
    CHECK(judged(connected(), {atomic, wire.answer(100, 1, kAck, kAtomicAck)}) == kNothing);
    CHECK(judged(connected(), {atomic, wire.answer(100, 0, kAck, kAtomicAck)}) ==
          certain("ATM-10"));
    const auto send = wire.from_a(kSendOnly, 100);
    CHECK(judged(connected(), {send, wire.answer(100, 1, kAck, kAtomicAck)}) == certain("ATM-10"));
}

} // namespace veriroce::judge::test
