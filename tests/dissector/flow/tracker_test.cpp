// What single packets are, by hand.
#include <catch2/catch.hpp>

#include "tests/dissector/flow/captured.hpp"

namespace veriroce::flow::test {
namespace {

constexpr std::uint8_t kSendFirst = 0x00;
constexpr std::uint8_t kSendMiddle = 0x01;
constexpr std::uint8_t kSendLast = 0x02;
constexpr std::uint8_t kSendOnly = 0x04;
constexpr std::uint8_t kReadFirst = 0x0D;
constexpr std::uint8_t kReadMiddle = 0x0E;
constexpr std::uint8_t kReadLast = 0x0F;
constexpr std::uint8_t kFetchAdd = 0x14;
constexpr std::uint8_t kAtomicAck = 0x12;

// The first connection's, of the end that spoke first.
const Stream& stream_of_a(const Tracker& tracker) {
    return tracker.connection(0).ends[0].stream;
}

} // namespace

TEST_CASE("tracker: a first response pairs the two QPs that PSNs connect", "[flow]") {
    Wire wire;
    Tracker tracker;
    const auto asked = tracker.feed(wire.from_a(kSendOnly, 100, 64));
    CHECK(asked.role == Role::Requester);
    CHECK(asked.kind == Class::New);
    const auto answered = tracker.feed(wire.ack(100, 1));
    CHECK(answered.role == Role::Responder);
    CHECK(answered.connection == asked.connection);
    CHECK(answered.kind == Class::New);
    REQUIRE(tracker.finished().size() == 1);
    CHECK(tracker.finished().front().bytes == 64);
    CHECK(tracker.finished().front().latency() == std::chrono::microseconds(1));
    const Connection& connection = tracker.connection(*asked.connection);
    CHECK(connection.pairing == Pairing::Inferred);
    CHECK(connection.ends[0].qpn == wire::Qpn{0x11});
    CHECK(tracker.connections().size() == 1);
}

TEST_CASE("tracker: two QPs that ask for the same PSN are not told apart by it", "[flow]") {
    Wire wire;
    Tracker tracker;
    tracker.feed(wire.from_a(kSendOnly, 100));
    Packet other = wire.from_a(kSendOnly, 100);
    other.transport.bth.dest_qp = {0x33};
    tracker.feed(other);
    CHECK(tracker.feed(wire.ack(100, 1)).kind == Class::Unpaired);
    tracker.feed(wire.from_a(kSendOnly, 101));
    CHECK(tracker.feed(wire.ack(101, 2)).kind == Class::New);
}

TEST_CASE("tracker: packets between other addresses change nothing", "[flow]") {
    // Pairs of hosts with two connections each. All ask before any is answered.
    constexpr std::uint32_t pairs = 300;
    std::vector<Packet> packets;
    Wire wire;
    for (std::uint32_t round = 0; round < 20; ++round) {
        for (std::uint32_t pair = 0; pair < pairs; ++pair) {
            for (const std::uint32_t qpn : {0x33U, 0x44U}) {
                Packet asking = wire.from_a(kSendOnly, pair * 7 + qpn * 1000 + round);
                asking.source = wire::IpAddress::from_v4(0x0A010000 + pair);
                asking.transport.bth.dest_qp = {qpn};
                packets.push_back(asking);
                if (round < 10) continue;
                Packet answer = wire.ack(pair * 7 + qpn * 1000 + round - 10, 1);
                answer.destination = asking.source;
                answer.transport.bth.dest_qp = {qpn + 0x100};
                packets.push_back(answer);
            }
        }
    }
    Tracker together;
    std::vector<Tracker> apart(pairs);
    std::size_t unlike = 0;
    std::size_t paired = 0;
    for (const Packet& packet : packets) {
        const auto& host = packet.info().response() ? packet.destination : packet.source;
        const Classified all = together.feed(packet);
        const Classified alone = apart[host.low32() & 0xFFFF].feed(packet);
        if (all.kind != alone.kind || all.message != alone.message) ++unlike;
        if (all.role == Role::Responder && all.kind == Class::New) ++paired;
    }
    CHECK(unlike == 0);
    CHECK(paired == std::size_t{pairs} * 2 * 10);
    CHECK_FALSE(together.limited());
    CHECK(together.connections().size() == std::size_t{pairs} * 2);
}

TEST_CASE("tracker: both directions of a connection have PSNs of their own", "[flow]") {
    Wire wire;
    Tracker tracker;
    tracker.feed(wire.from_a(kSendOnly, 100));
    tracker.feed(wire.ack(100, 1));
    const auto back = tracker.feed(wire.from_b(kSendOnly, 5'000'000));
    CHECK(back.kind == Class::New);
    CHECK(back.from == 1);
    CHECK(tracker.feed(wire.from_a(kSendOnly, 101)).kind == Class::New);
}

TEST_CASE("tracker: PSNs go on across the wrap", "[flow][RSP-09]") {
    Wire wire;
    Tracker tracker;
    tracker.feed(wire.from_a(kSendFirst, 0xFFFFFF, 1024));
    CHECK(tracker.feed(wire.from_a(kSendMiddle, 0, 1024)).kind == Class::New);
    CHECK(tracker.feed(wire.from_a(kSendLast, 1, 5)).kind == Class::New);
    tracker.feed(wire.ack(1, 1));
    REQUIRE(tracker.finished().size() == 1);
    CHECK(tracker.finished().front().bytes == 2053);
}

TEST_CASE("tracker: a READ takes the PSNs of its responses", "[flow][N-36]") {
    Wire wire;
    Tracker tracker;
    tracker.feed(wire.from_a(kSendFirst, 98, 1024)); // shows the path MTU
    tracker.feed(wire.from_a(kSendLast, 99, 1024));
    tracker.feed(wire.read(100, 3000));
    CHECK(tracker.feed(wire.from_a(kSendOnly, 103)).kind == Class::New);
    tracker.feed(wire.answer(100, 1, wire::Syndrome::ack(31), kReadFirst, 1024));
    tracker.feed(wire.from_b(kReadMiddle, 101, 1024));
    CHECK(tracker.finished().empty());
    tracker.feed(wire.answer(102, 2, wire::Syndrome::ack(31), kReadLast, 952));
    REQUIRE(tracker.finished().size() == 1);
    CHECK(tracker.finished().front().bytes == 3000);
}

TEST_CASE("tracker: a READ before the path MTU is known takes what fits", "[flow][N-36]") {
    Wire wire;
    Tracker tracker;
    tracker.feed(wire.read(100, 3000));
    CHECK(tracker.feed(wire.from_a(kSendOnly, 103)).kind == Class::New);
    CHECK_FALSE(stream_of_a(tracker).mtu()); // something between the two may have been lost
    CHECK_FALSE(stream_of_a(tracker).extents()[0].span_known);
    tracker.feed(wire.answer(100, 1, wire::Syndrome::ack(31), kReadFirst, 1024));
    CHECK(stream_of_a(tracker).mtu() == wire::Mtu::B1024);
    CHECK(stream_of_a(tracker).extents()[0].span_known);
}

TEST_CASE("tracker: a wrong guess of a READ's PSNs is found out", "[flow][N-36]") {
    Wire wire;
    Tracker tracker;
    tracker.feed(wire.read(100, 4096));
    tracker.feed(wire.read(108, 4096)); // 512 bytes a packet, or a READ of 1024 was lost
    tracker.feed(wire.answer(100, 1, wire::Syndrome::ack(31), kReadFirst, 1024));
    const Stream& stream = tracker.connection(0).ends[0].stream;
    CHECK(stream.mtu() == wire::Mtu::B1024);
    CHECK_FALSE(stream.extents()[0].span_known);
    CHECK(stream.extents()[1].span_known);
    CHECK(stream.ended_before(wire::Psn(108))->high == 8);
}

TEST_CASE("tracker: a gap that is sent later was lost in the network", "[flow][REQ-11]") {
    Wire wire;
    Tracker tracker;
    tracker.feed(wire.from_a(kSendOnly, 100));
    tracker.feed(wire.ack(100, 1));
    const auto ahead = tracker.feed(wire.from_a(kSendOnly, 102));
    CHECK(ahead.kind == Class::BeyondGap);
    CHECK(ahead.skipped == 1);
    tracker.feed(wire.nak(101, 1, wire::NakCode::PsnSequence));
    const auto resent = tracker.feed(wire.from_a(kSendOnly, 101));
    CHECK(resent.kind == Class::Retransmission);
    CHECK(resent.cause == Cause::SequenceNak);
    CHECK(tracker.feed(wire.from_a(kSendOnly, 102)).kind == Class::Retransmission);
    tracker.feed(wire.ack(102, 3));
    const Counters& counters = tracker.connection(0).ends[0].stream.counters();
    CHECK(counters.lost_in_network == 1);
    CHECK(counters.lost_by_capture == 0);
    CHECK(counters.messages == 3);
}

TEST_CASE("tracker: a gap that is acknowledged and never sent was lost by the capture", "[flow]") {
    Wire wire;
    Tracker tracker;
    tracker.feed(wire.from_a(kSendOnly, 100));
    tracker.feed(wire.from_a(kSendOnly, 103));
    tracker.feed(wire.ack(103, 4));
    const Counters& counters = tracker.connection(0).ends[0].stream.counters();
    CHECK(counters.lost_by_capture == 2);
    CHECK(counters.lost_in_network == 0);
}

TEST_CASE("tracker: a packet that comes late without being asked for was overtaken", "[flow]") {
    Wire wire;
    Tracker tracker;
    tracker.feed(wire.from_a(kSendOnly, 100));
    tracker.feed(wire.from_a(kSendOnly, 102));
    CHECK(tracker.feed(wire.from_a(kSendOnly, 101)).kind == Class::Reordered);
    CHECK(tracker.feed(wire.from_a(kSendOnly, 103)).kind == Class::New);
}

TEST_CASE("tracker: the first packet that was seen need not be the first that was sent", "[flow]") {
    Wire wire;
    Tracker tracker;
    tracker.feed(wire.from_a(kSendLast, 102, 4));
    tracker.feed(wire.from_a(kSendFirst, 100, 1024));
    tracker.feed(wire.from_a(kSendMiddle, 101, 1024));
    tracker.feed(wire.ack(102, 1));
    REQUIRE(tracker.finished().size() == 1);
    CHECK(tracker.finished().front().bytes == 2052);
}

TEST_CASE("tracker: a copy at once is the network's, one after a silence the sender's", "[flow]") {
    Wire wire;
    Tracker tracker;
    tracker.feed(wire.from_a(kSendOnly, 100));
    CHECK(tracker.feed(wire.from_a(kSendOnly, 100)).kind == Class::Duplicate);
    wire.wait(std::chrono::milliseconds(1));
    const auto again = tracker.feed(wire.from_a(kSendOnly, 100));
    CHECK(again.kind == Class::Retransmission);
    CHECK(again.cause == Cause::Timeout);
}

TEST_CASE("tracker: a response behind an unanswered atomic asks for its retry", "[flow][REQ-08]") {
    Wire wire;
    Tracker tracker;
    tracker.feed(wire.from_a(kFetchAdd, 100));
    tracker.feed(wire.from_a(kSendOnly, 101));
    tracker.feed(wire.ack(101, 2));
    CHECK(tracker.finished().size() == 1); // the SEND, not the atomic
    const auto again = tracker.feed(wire.from_a(kFetchAdd, 100));
    CHECK(again.cause == Cause::Implied);
    tracker.feed(wire.answer(100, 2, wire::Syndrome::ack(31), kAtomicAck));
    CHECK(tracker.finished().size() == 1);
}

TEST_CASE("tracker: a gap tells damaged packets from missing ones", "[flow][CRC-07]") {
    Wire wire;
    Tracker tracker;
    tracker.feed(wire.from_a(kSendOnly, 100));
    tracker.feed(wire.ack(100, 1));
    for (const std::uint32_t psn : {104U, 102U, 102U}) {
        Packet damaged = wire.from_a(kSendOnly, psn);
        damaged.integrity = Integrity::Bad;
        CHECK(tracker.feed(damaged).kind == Class::Damaged);
    }
    const auto beyond = tracker.feed(wire.from_a(kSendOnly, 106));
    CHECK(beyond.kind == Class::BeyondGap);
    CHECK(beyond.skipped == 5);
    const auto& stream = stream_of_a(tracker);
    const auto index = stream.index_of(wire::Psn(101));
    REQUIRE(index);
    CHECK(stream.extents()[*index].missing);
    CHECK(stream.extents()[*index].span == 5); // a READ may fill all of it
    CHECK(stream.extents()[*index].damaged);
    tracker.feed(wire.ack(106, 7));
    CHECK(stream.counters().lost_by_capture == 4); // one at least is in the capture
    // Later gaps know nothing of it.
    tracker.feed(wire.from_a(kSendOnly, 109));
    const auto later = stream.index_of(wire::Psn(107));
    REQUIRE(later);
    CHECK_FALSE(stream.extents()[*later].damaged);
}

TEST_CASE("tracker: a damaged packet has no effect", "[flow][CRC-07]") {
    Wire wire;
    Tracker tracker;
    tracker.feed(wire.from_a(kSendOnly, 100));
    Packet bad = wire.from_a(kSendOnly, 101);
    bad.integrity = Integrity::Bad;
    CHECK(tracker.feed(bad).kind == Class::Damaged);
    CHECK(tracker.feed(wire.from_a(kSendOnly, 101)).kind == Class::New);
}

TEST_CASE("tracker: a transport version that nobody knows has no effect", "[flow][BTH-01]") {
    Wire wire;
    Tracker tracker;
    tracker.feed(wire.from_a(kSendOnly, 100));
    Packet other = wire.from_a(kSendOnly, 101);
    other.transport.bth.version = 1;
    CHECK(tracker.feed(other).kind == Class::Damaged);
    CHECK(tracker.feed(wire.from_a(kSendOnly, 101)).kind == Class::New);
}

TEST_CASE("tracker: an introduced QP drops packets of another service", "[flow][BTH-05]") {
    Wire wire;
    Tracker tracker;
    const Packet example = wire.from_a(kSendOnly, 0);
    tracker.introduce(
        {example.source, {0x11}, {.first_psn = wire::Psn(100)}, wire::Service::Rc},
        {example.destination, {0x22}, {.first_psn = wire::Psn(7)}, wire::Service::Rc});
    Packet other = wire.from_a(kSendOnly, 100);
    other.transport.bth.opcode =
        *wire::opcode_of(wire::Service::Uc, wire::Operation::Send, wire::Position::First);
    CHECK(tracker.feed(other).kind == Class::Damaged);
    CHECK(tracker.feed(wire.from_a(kSendOnly, 100)).kind == Class::New);
}

TEST_CASE("tracker: what a QP connected anew would do is remembered", "[flow]") {
    const auto doubts = [](auto then) {
        Wire wire;
        Tracker tracker;
        tracker.feed(wire.from_a(kSendOnly, 100, 8));
        tracker.feed(wire.ack(100, 1));
        tracker.feed(wire.from_a(kSendOnly, 101, 8));
        then(tracker, wire);
        return stream_of_a(tracker).maybe_restarted();
    };
    const auto pause = [](Wire& wire) { wire.wait(std::chrono::milliseconds(2)); };
    CHECK_FALSE(doubts([](Tracker& tracker, Wire& wire) {
        tracker.feed(wire.from_a(kSendOnly, 105, 8)); // a loss
    }));
    CHECK_FALSE(doubts([&](Tracker& tracker, Wire& wire) {
        pause(wire);
        tracker.feed(wire.from_a(kSendOnly, 101, 8)); // a timeout
        tracker.feed(wire.from_a(kSendOnly, 102, 8));
    }));
    CHECK(doubts([&](Tracker& tracker, Wire& wire) {
        pause(wire);
        tracker.feed(wire.from_a(kSendOnly, 105, 8));
    }));
    CHECK(
        doubts([](Tracker& tracker, Wire& wire) { tracker.feed(wire.from_a(kSendOnly, 101, 4)); }));
    CHECK(doubts([](Tracker& tracker, Wire& wire) {
        tracker.feed(wire.from_a(kSendOnly, 100, 8)); // where it began, and acknowledged
    }));
}

TEST_CASE("tracker: what has no place is neither history nor a new connection", "[flow]") {
    Wire wire;
    Tracker tracker;
    tracker.feed(wire.from_a(kSendOnly, 100));
    CHECK(tracker.feed(wire.from_a(kSendOnly, 0x500000)).kind == Class::Forgotten);
    CHECK(tracker.feed(wire.from_a(kSendOnly, 101)).kind == Class::New);
    CHECK(tracker.feed(wire.ack(0x600000, 5)).kind == Class::Unpaired);
    CHECK(tracker.feed(wire.ack(101, 2)).kind == Class::New);
    CHECK(tracker.feed(wire.ack(500, 5)).kind == Class::Unsolicited);
}

TEST_CASE("tracker: two packets in a row far off are a new life of the QP", "[flow]") {
    Wire wire;
    Tracker tracker;
    tracker.feed(wire.from_a(kSendOnly, 100));
    tracker.feed(wire.ack(100, 1));
    CHECK(tracker.feed(wire.from_a(kSendOnly, 0x500000)).kind == Class::Forgotten);
    CHECK(tracker.connection(0).ends[0].stream.maybe_restarted());
    CHECK(tracker.feed(wire.from_a(kSendOnly, 0x500001)).kind == Class::New);
    CHECK(tracker.feed(wire.ack(0x500001, 1)).kind == Class::New);
}

TEST_CASE("tracker: an introduced connection keeps its PSNs whatever comes", "[flow]") {
    Wire wire;
    Tracker tracker;
    const Packet example = wire.from_a(kSendOnly, 0);
    tracker.introduce({example.source, {0x11}, {.first_psn = wire::Psn(100)}},
                      {example.destination, {0x22}, {.first_psn = wire::Psn(7)}});
    CHECK(tracker.feed(wire.from_a(kSendOnly, 101)).kind == Class::BeyondGap);
    CHECK(tracker.feed(wire.from_a(kSendOnly, 0x500000)).kind == Class::Forgotten);
    CHECK(tracker.feed(wire.from_a(kSendOnly, 0x500001)).kind == Class::Forgotten);
    CHECK(tracker.feed(wire.from_b(kSendOnly, 7)).kind == Class::New);
    CHECK(tracker.connection(0).pairing == Pairing::Known);
}

TEST_CASE("tracker: connections beyond the limit push out the one unused longest", "[flow]") {
    Wire wire;
    Tracker tracker(Limits{.connections = 16, .extents = 1000});
    for (std::uint32_t qpn = 2; qpn < 100; ++qpn) {
        Packet packet = wire.from_a(kSendOnly, qpn);
        packet.transport.bth.dest_qp = {qpn};
        CHECK(tracker.feed(packet).kind == Class::New);
    }
    CHECK(tracker.connections().size() == 16);
    CHECK(tracker.evicted() == 82);
    CHECK(tracker.connection(tracker.connections().front()).ends[1].qpn == wire::Qpn{84});
}

TEST_CASE("tracker: a history that may not grow forgets its oldest part", "[flow]") {
    Wire wire;
    Tracker tracker(Limits{.connections = 4, .extents = 16});
    for (std::uint32_t psn = 0; psn < 1000; ++psn)
        tracker.feed(wire.from_a(kSendOnly, psn));
    CHECK(tracker.connection(0).ends[0].stream.extents().size() == 16);
    CHECK(tracker.feed(wire.from_a(kSendOnly, 10)).kind == Class::Forgotten);
    CHECK(tracker.feed(wire.from_a(kSendOnly, 995)).kind != Class::Forgotten);
    tracker.feed(wire.ack(999, 1000));
    const auto bounds = tracker.connection(0).ends[0].stream.ended_before(wire::Psn(1000));
    REQUIRE(bounds);
    CHECK(bounds->low == 1000);
    CHECK(bounds->high == 1000);
}

TEST_CASE("tracker: ended messages are counted between bounds where PSNs were not seen", "[flow]") {
    Wire wire;
    Tracker tracker;
    tracker.feed(wire.from_a(kSendOnly, 100));
    tracker.feed(wire.from_a(kSendOnly, 104));
    const Stream& stream = tracker.connection(0).ends[0].stream;
    CHECK(stream.ended_before(wire::Psn(101))->high == 1);
    CHECK(stream.ended_before(wire::Psn(103))->low == 1);
    CHECK(stream.ended_before(wire::Psn(103))->high == 3);
    CHECK(stream.ended_before(wire::Psn(105))->low == 2);
    CHECK(stream.ended_before(wire::Psn(105))->high == 5);
}

} // namespace veriroce::flow::test
