// The responder: what it answers, what it does to memory and queues, and what it says nothing to.
#include "tests/transport/engine/lab.hpp"

#include <algorithm>
#include <cstring>

using namespace veriroce;
using namespace veriroce::engine;
using namespace veriroce::engine::test;

namespace {

void check_ack(const Sent& sent, std::uint32_t psn, std::uint32_t msn) {
    CHECK(sent.name() == "ACKNOWLEDGE");
    CHECK(sent.psn() == psn);
    CHECK(sent.syndrome() == 0x1F);
    CHECK(sent.msn() == msn);
}

void check_nak(const Sent& sent, std::uint32_t psn, std::uint8_t syndrome, std::uint32_t msn) {
    CHECK(sent.name() == "ACKNOWLEDGE");
    CHECK(sent.psn() == psn);
    CHECK(int{sent.syndrome()} == int{syndrome});
    CHECK(sent.msn() == msn);
}

bool equal(wire::Bytes a, wire::Bytes b) {
    return std::ranges::equal(a, b);
}

// The peer writes `size` bytes with a WRITE_ONLY at this PSN.
void write_only(Lab& lab, wire::Psn psn, std::size_t size = 8) {
    wire::Packet write = lab.packet("RDMA_WRITE_ONLY", psn);
    write.reth.dma_length = static_cast<std::uint32_t>(size);
    lab.receive(write, pattern(size));
}

wire::Packet read_request(const Lab& lab, wire::Psn psn, std::uint32_t length,
                          std::uint64_t offset = 0) {
    wire::Packet read = lab.packet("RDMA_READ_REQUEST", psn);
    read.reth.virtual_address += offset;
    read.reth.dma_length = length;
    return read;
}

// The opcode of the i-th of this many READ responses.
std::string_view response_name(std::size_t i, std::size_t packets) {
    if (packets == 1) return "RDMA_READ_RESPONSE_ONLY";
    if (i == 0) return "RDMA_READ_RESPONSE_FIRST";
    return i + 1 == packets ? "RDMA_READ_RESPONSE_LAST" : "RDMA_READ_RESPONSE_MIDDLE";
}

} // namespace

TEST_CASE("responder: a SEND is placed, completed and acknowledged", "[engine][RSP-01]") {
    Lab lab;
    lab.post_receive(77, 100);
    const auto data = pattern(33);
    lab.receive(lab.packet("SEND_ONLY", rq_psn), data);
    const Sent ack = lab.one();
    check_ack(ack, 1000, 1);
    CHECK_FALSE(ack.packet.bth.ack_request); // BTH-19
    CHECK(ack.envelope.source == our_address);
    CHECK(ack.envelope.destination == peer_address);
    CHECK(ack.envelope.destination_port == 4791);
    const auto done = lab.receives();
    REQUIRE(done.size() == 1);
    CHECK(done[0].id == 77);
    CHECK(done[0].status == WcStatus::Success);
    CHECK(done[0].opcode == WcOpcode::Recv);
    CHECK(done[0].byte_len == 33);
    CHECK_FALSE(done[0].imm);
    CHECK(equal(lab.memory(0x8000, 33), data));
}

TEST_CASE("responder: a SEND of three packets with immediate data over two pieces of memory",
          "[engine][REQ-34]") {
    Lab lab;
    const std::array pieces{lab.sge(0x8000, 1500), lab.sge(0xA000, 1500)};
    const ReceiveRequest request{.id = 5, .sges = pieces};
    REQUIRE_FALSE(lab.engine.post_receive(lab.qp, std::span(&request, 1)).refused);
    const auto data = pattern(2048 + 10);
    const wire::Bytes bytes(data);
    lab.receive(lab.packet("SEND_FIRST", rq_psn), bytes.first(1024));
    lab.receive(lab.packet("SEND_MIDDLE", rq_psn + 1), bytes.subspan(1024, 1024));
    wire::Packet last = lab.packet("SEND_LAST_WITH_IMM", rq_psn + 2);
    last.imm.value = 0xCAFEF00D;
    lab.receive(last, bytes.subspan(2048));
    const auto acks = lab.drain();
    REQUIRE(acks.size() == 3);
    check_ack(acks[0], 1000, 0); // REQ-04, ACK-08: a part of a message does not count
    check_ack(acks[1], 1001, 0);
    check_ack(acks[2], 1002, 1);
    const auto done = lab.receives();
    REQUIRE(done.size() == 1);
    CHECK(done[0].byte_len == 2058);
    CHECK(done[0].imm == 0xCAFEF00D);
    CHECK(equal(lab.memory(0x8000, 1500), bytes.first(1500)));
    CHECK(equal(lab.memory(0xA000, 558), bytes.subspan(1500)));
}

TEST_CASE("responder: without AckReq it is silent, or acknowledges the message's end by option",
          "[engine][ACK-02]") {
    for (const AckPolicy policy : {AckPolicy::EveryRequest, AckPolicy::LastOfMessage}) {
        LabOptions options;
        options.config.behaviour.ack_policy = policy;
        Lab lab(options);
        wire::Packet write = lab.packet("RDMA_WRITE_ONLY", rq_psn);
        write.bth.ack_request = false;
        write.reth.dma_length = 4;
        lab.receive(write, pattern(4));
        CHECK(lab.drain().size() == (policy == AckPolicy::LastOfMessage ? 1 : 0));
        CHECK(equal(lab.memory(0, 4), pattern(4)));
    }
}

TEST_CASE("responder: coalesced acknowledges are one, for the newest request", "[engine][ACK-03]") {
    LabOptions options;
    options.config.behaviour.ack_policy = AckPolicy::Coalesced;
    Lab lab(options);
    for (int i = 0; i < 5; ++i)
        write_only(lab, rq_psn + i);
    check_ack(lab.one(), 1004, 5);
}

TEST_CASE("responder: a WRITE with immediate data takes its receive at its end",
          "[engine][N-15][RNR-02]") {
    Lab lab;
    wire::Packet first = lab.packet("RDMA_WRITE_FIRST", rq_psn);
    first.reth.dma_length = 1025;
    const auto data = pattern(1025);
    lab.receive(first, wire::Bytes(data).first(1024));
    check_ack(lab.one(), 1000, 0);
    wire::Packet last = lab.packet("RDMA_WRITE_LAST_WITH_IMM", rq_psn + 1);
    last.imm.value = 9;
    lab.receive(last, wire::Bytes(data).subspan(1024));
    check_nak(lab.one(), 1001, 0x20 | 12, 0);
    lab.post_receive(1, 0);
    lab.receive(last, wire::Bytes(data).subspan(1024));
    check_ack(lab.one(), 1001, 1);
    const auto done = lab.receives();
    REQUIRE(done.size() == 1);
    CHECK(done[0].opcode == WcOpcode::RecvRdmaWithImm);
    CHECK(done[0].byte_len == 1025);
    CHECK(done[0].imm == 9);
    CHECK(equal(lab.memory(0, 1025), data));
}

TEST_CASE("responder: one sequence NAK until the expected PSN arrives",
          "[engine][RSP-02][RSP-03][RSP-05][RSP-06]") {
    Lab lab;
    write_only(lab, rq_psn);
    check_ack(lab.one(), 1000, 1);
    for (const int gap : {1, 2, 100, 1 << 22})
        write_only(lab, rq_psn + 1 + gap);
    check_nak(lab.one(), 1001, 0x60, 1); // RSP-02: at the expected PSN, once
    wire::Packet bad = lab.packet("RDMA_WRITE_ONLY", rq_psn + 5);
    bad.reth = {.rkey = {0xBAD00}, .dma_length = 4};
    lab.receive(bad, pattern(4));
    CHECK(lab.drain().empty()); // RSP-05
    write_only(lab, rq_psn);    // RSP-04: duplicates are still answered
    check_ack(lab.one(), 1000, 1);
    write_only(lab, rq_psn + 1);
    check_ack(lab.one(), 1001, 2);
    write_only(lab, rq_psn + 3);
    check_nak(lab.one(), 1002, 0x60, 2); // RSP-06
    CHECK(lab.engine.counters().out_of_sequence == 2);
    CHECK(lab.state() == QpState::Rts);
}

TEST_CASE("responder: PSNs go round", "[engine][RSP-09]") {
    LabOptions options;
    options.rq = wire::Psn(0xFFFFFF);
    Lab lab(options);
    write_only(lab, wire::Psn(0xFFFFFF));
    check_ack(lab.one(), 0xFFFFFF, 1);
    write_only(lab, wire::Psn(1));
    check_nak(lab.one(), 0, 0x60, 1);
    lab.receive(read_request(lab, wire::Psn(0), 3000));
    const auto responses = lab.drain();
    REQUIRE(responses.size() == 3);
    CHECK(responses[2].psn() == 2);
    write_only(lab, wire::Psn(0xFFFFFF)); // a duplicate from before the wrap
    CHECK(lab.one().psn() == 0xFFFFFF);
}

TEST_CASE("responder: READ responses have the shape of their place",
          "[engine][RDR-01][RDR-02][RDR-03][LEN-07]") {
    Lab lab;
    const auto sizes = GENERATE(0U, 1U, 1023U, 1024U, 1025U, 2048U, 4000U);
    lab.receive(read_request(lab, rq_psn, sizes, 10));
    const auto responses = lab.drain();
    const std::size_t packets = sizes == 0 ? 1 : (sizes + 1023) / 1024;
    REQUIRE(responses.size() == packets);
    std::vector<std::byte> data;
    for (std::size_t i = 0; i < packets; ++i) {
        const std::string_view expected = response_name(i, packets);
        CHECK(responses[i].name() == expected);
        CHECK(responses[i].psn() == 1000 + i);
        if (responses[i].packet.headers.has(wire::Header::Aeth)) CHECK(responses[i].msn() == 1);
        const auto payload = responses[i].packet.payload();
        data.insert(data.end(), payload.begin(), payload.end());
    }
    CHECK(equal(data, lab.memory(10, sizes)));
    write_only(lab, rq_psn + static_cast<std::int64_t>(packets)); // RSP-01
    check_ack(lab.one(), 1000 + static_cast<std::uint32_t>(packets), 2);
}

TEST_CASE("responder: a repeated READ is read again, its tail by option",
          "[engine][RDR-04][RDR-05][RDR-06]") {
    LabOptions options;
    const bool anew = GENERATE(true, false);
    options.config.behaviour.partial_read_reply =
        anew ? PartialReadReply::FirstOrOnly : PartialReadReply::MiddleOrLast;
    Lab lab(options);
    lab.receive(read_request(lab, rq_psn, 3000));
    CHECK(lab.drain().size() == 3);
    std::ranges::fill(lab.memory(0, 3000), std::byte{0xEE});
    lab.receive(read_request(lab, rq_psn, 3000));
    const auto whole = lab.drain();
    REQUIRE(whole.size() == 3);
    CHECK(whole[0].packet.payload()[0] == std::byte{0xEE});
    CHECK(whole[0].name() == "RDMA_READ_RESPONSE_FIRST");
    lab.receive(read_request(lab, rq_psn + 1, 3000 - 1024, 1024));
    const auto tail = lab.drain();
    REQUIRE(tail.size() == 2);
    CHECK(tail[0].psn() == 1001);
    CHECK(tail[1].psn() == 1002);
    CHECK(tail[0].name() == (anew ? "RDMA_READ_RESPONSE_FIRST" : "RDMA_READ_RESPONSE_MIDDLE"));
    CHECK(tail[1].name() == "RDMA_READ_RESPONSE_LAST");
    CHECK(tail[1].packet.payload().size() == 3000 - 2048);
    write_only(lab, rq_psn + 3); // RSP-13
    check_ack(lab.one(), 1003, 2);
}

TEST_CASE("responder: a repeated READ that asks for something else is met with silence",
          "[engine][RDR-07][RDR-08][RSP-12]") {
    Lab lab;
    lab.receive(read_request(lab, rq_psn, 2000));
    CHECK(lab.drain().size() == 2);
    lab.receive(read_request(lab, rq_psn, 2001));           // longer
    lab.receive(read_request(lab, rq_psn, 2000, 8));        // elsewhere
    lab.receive(read_request(lab, rq_psn + 1, 2000, 1024)); // a tail beyond the end
    wire::Packet other = read_request(lab, rq_psn, 2000);
    other.reth.rkey.value ^= 1U;
    lab.receive(other);
    lab.receive(read_request(lab, rq_psn - 50, 100)); // not remembered
    CHECK(lab.drain().empty());
    REQUIRE(lab.engine.deregister_region(lab.region.mr));
    lab.receive(read_request(lab, rq_psn, 2000));
    CHECK(lab.drain().empty()); // RSP-12: a duplicate is never NAKed
    CHECK(lab.state() == QpState::Rts);
}

TEST_CASE("responder: an earlier duplicate is answered before what is being answered",
          "[engine][N-02][RDR-15]") {
    Lab lab;
    lab.receive(read_request(lab, rq_psn, 2048));
    CHECK(lab.drain().size() == 2);
    lab.receive(read_request(lab, rq_psn + 2, 3072));
    REQUIRE(lab.engine.poll_transmit(lab.now)); // the first of three
    lab.receive(read_request(lab, rq_psn, 2048));
    const auto rest = lab.drain();
    REQUIRE(rest.size() == 4);
    CHECK(rest[0].psn() == 1000);
    CHECK(rest[1].psn() == 1001);
    CHECK(rest[2].psn() == 1003);
    CHECK(rest[2].name() == "RDMA_READ_RESPONSE_MIDDLE");
    CHECK(rest[3].psn() == 1004);
}

TEST_CASE("responder: a key that goes away in the middle of a READ ends it with a NAK",
          "[engine][RDR-13][RDR-14][N-23]") {
    Lab lab;
    lab.receive(read_request(lab, rq_psn, 3072));
    REQUIRE(lab.engine.poll_transmit(lab.now));
    REQUIRE(lab.engine.deregister_region(lab.region.mr));
    check_nak(lab.one(), 1001, 0x62, 1);
    CHECK(lab.state() == QpState::Err);
}

TEST_CASE("responder: atomics are carried out once and replayed from what was saved",
          "[engine][ATM-01][ATM-04][ATM-05][ATM-08][ATM-10]") {
    Lab lab;
    const std::uint64_t start = ~std::uint64_t{0};
    std::memcpy(lab.memory(16, 8).data(), &start, 8);
    wire::Packet add = lab.packet("FETCH_ADD", rq_psn);
    add.atomic.virtual_address += 16;
    add.atomic.swap_or_add = 3;
    lab.receive(add);
    const Sent first = lab.one();
    CHECK(first.name() == "ATOMIC_ACKNOWLEDGE");
    CHECK(first.packet.atomic_ack.original == start);
    CHECK(first.msn() == 1);
    CHECK(lab.number(16) == 2);

    lab.receive(add);
    const Sent again = lab.one();
    CHECK(again.packet.atomic_ack.original == start);
    CHECK(again.psn() == 1000);
    CHECK(lab.number(16) == 2);

    wire::Packet other = add;
    other.atomic.swap_or_add = 4;
    lab.receive(other);
    CHECK(lab.drain().empty());
    CHECK(lab.number(16) == 2);

    wire::Packet swap = lab.packet("COMPARE_SWAP", rq_psn + 1);
    swap.atomic.virtual_address += 16;
    swap.atomic.compare = 2;
    swap.atomic.swap_or_add = 0x1122334455667788;
    lab.receive(swap);
    CHECK(lab.one().packet.atomic_ack.original == 2);
    CHECK(lab.number(16) == 0x1122334455667788);
    swap.bth.psn = rq_psn + 2;
    lab.receive(swap); // it compares unequal now
    CHECK(lab.one().packet.atomic_ack.original == 0x1122334455667788);
    CHECK(lab.number(16) == 0x1122334455667788);
}

TEST_CASE("responder: a duplicate SEND is acknowledged again and not executed",
          "[engine][RSP-10][RSP-14][RSP-15]") {
    const auto answer = GENERATE(DuplicateAnswer::LastAck, DuplicateAnswer::ResendReadResponse,
                                 DuplicateAnswer::LatestPsn);
    LabOptions options;
    options.config.behaviour.duplicate_answer = answer;
    Lab lab(options);
    lab.post_receive(1, 64);
    lab.post_receive(2, 64);
    lab.receive(lab.packet("SEND_ONLY", rq_psn), pattern(8));
    lab.receive(read_request(lab, rq_psn + 1, 1500));
    CHECK(lab.drain().size() == 3);
    CHECK(lab.receives().size() == 1);
    std::ranges::fill(lab.memory(0x8000, 8), std::byte{0});
    lab.receive(lab.packet("SEND_ONLY", rq_psn), pattern(8));
    const auto answers = lab.drain();
    switch (answer) {
    case DuplicateAnswer::LastAck:
        REQUIRE(answers.size() == 1);
        check_ack(answers[0], 1000, 2);
        break;
    case DuplicateAnswer::ResendReadResponse:
        REQUIRE(answers.size() == 2);
        CHECK(answers[0].name() == "RDMA_READ_RESPONSE_FIRST");
        CHECK(answers[0].psn() == 1001);
        break;
    case DuplicateAnswer::LatestPsn:
        REQUIRE(answers.size() == 1);
        check_ack(answers[0], 1002, 2);
        break;
    }
    CHECK(lab.receives().empty());
    CHECK(lab.memory(0x8000, 1)[0] == std::byte{0});
    CHECK(lab.engine.counters().duplicate_request == 1);
}

TEST_CASE("responder: a duplicate in the middle of a message does not disturb it",
          "[engine][RSP-13]") {
    Lab lab;
    lab.receive(read_request(lab, rq_psn, 100));
    wire::Packet first = lab.packet("RDMA_WRITE_FIRST", rq_psn + 1);
    first.reth.dma_length = 2049;
    const auto data = pattern(2049, 3);
    const wire::Bytes bytes(data);
    lab.receive(first, bytes.first(1024));
    CHECK(lab.drain().size() == 2);
    lab.receive(read_request(lab, rq_psn, 100));
    CHECK(lab.one().psn() == 1000);
    lab.receive(first, bytes.first(1024));
    check_ack(lab.one(), 1001, 1);
    lab.receive(lab.packet("RDMA_WRITE_MIDDLE", rq_psn + 2), bytes.subspan(1024, 1024));
    lab.receive(lab.packet("RDMA_WRITE_LAST", rq_psn + 3), bytes.subspan(2048));
    const auto acks = lab.drain();
    REQUIRE(acks.size() == 2);
    check_ack(acks[1], 1003, 2);
    CHECK(equal(lab.memory(0, 2049), data));
}

TEST_CASE("responder: no receive is RNR, and nothing behind it is NAKed",
          "[engine][RNR-01][RNR-04][RNR-06][N-08]") {
    Lab lab;
    for (int i = 0; i < 8; ++i)
        lab.receive(lab.packet("SEND_ONLY", rq_psn + i), pattern(4));
    check_nak(lab.one(), 1000, 0x20 | 12, 0);
    lab.receive(lab.packet("SEND_ONLY", rq_psn + 1), pattern(4)); // 1000 is lost again
    CHECK(lab.drain().empty());
    lab.post_receive(3, 64);
    lab.receive(lab.packet("SEND_ONLY", rq_psn), pattern(4));
    check_ack(lab.one(), 1000, 1);
    lab.receive(lab.packet("SEND_ONLY", rq_psn + 2), pattern(4));
    check_nak(lab.one(), 1001, 0x60, 1);
    lab.receive(lab.packet("SEND_ONLY", rq_psn + 1), pattern(4)); // N-09: gap first, RNR later
    check_nak(lab.one(), 1001, 0x20 | 12, 1);
    CHECK(lab.engine.counters().rnr_nak_sent == 2);
    CHECK(lab.state() == QpState::Rts);
}

TEST_CASE("responder: WRITE, READ and atomics need no receive", "[engine][RNR-03]") {
    Lab lab;
    write_only(lab, rq_psn);
    lab.receive(read_request(lab, rq_psn + 1, 4));
    lab.receive(lab.packet("FETCH_ADD", rq_psn + 2));
    const auto answers = lab.drain();
    REQUIRE(answers.size() == 3);
    CHECK(answers[2].msn() == 3);
}

TEST_CASE("responder: more READs than were agreed upon are an invalid request",
          "[engine][RDR-09][RDR-10]") {
    LabOptions options;
    options.max_dest_rd_atomic = 2;
    Lab lab(options);
    lab.receive(read_request(lab, rq_psn, 4));
    lab.receive(read_request(lab, rq_psn + 1, 4));
    CHECK(lab.drain().size() == 2); // answered: they do not count any more
    lab.receive(read_request(lab, rq_psn + 2, 4));
    lab.receive(read_request(lab, rq_psn + 3, 4));
    lab.receive(read_request(lab, rq_psn + 4, 4));
    const auto answers = lab.drain();
    REQUIRE(answers.size() == 3);
    check_nak(answers[2], 1004, 0x61, 4);
    CHECK(lab.state() == QpState::Err);
}

TEST_CASE("responder: the first good packet in RTR is COMM_EST", "[engine][STA-03][STA-04]") {
    LabOptions options;
    options.state = QpState::Rtr;
    Lab lab(options);
    write_only(lab, rq_psn + 7); // out of sequence: not good
    CHECK(lab.events().empty());
    write_only(lab, rq_psn);
    write_only(lab, rq_psn + 1);
    CHECK(lab.drain().size() == 3);
    const auto events = lab.events();
    REQUIRE(events.size() == 1);
    CHECK(events[0].type == EventType::CommEst);
    CHECK(events[0].qp == lab.qp);
}

TEST_CASE("responder: a full CQ is the end of the QP, without a NAK", "[engine][KEY-13]") {
    LabOptions options;
    options.cq_depth = 1;
    Lab lab(options);
    for (std::uint64_t i = 0; i < 3; ++i)
        lab.post_receive(i, 64);
    lab.receive(lab.packet("SEND_ONLY", rq_psn), pattern(4));
    lab.receive(lab.packet("SEND_ONLY", rq_psn + 1), pattern(4));
    check_ack(lab.one(), 1000, 1);
    CHECK(lab.engine.overrun(lab.receive_cq));
    CHECK(lab.state() == QpState::Err);
    const auto events = lab.events();
    REQUIRE(events.size() == 2);
    CHECK(events[0].type == EventType::CqErr);
    CHECK(events[0].cq == lab.receive_cq);
    CHECK(events[1].type == EventType::QpFatal);
}

TEST_CASE("responder: credits say how many receives are posted, by option", "[engine][ACK-10]") {
    LabOptions options;
    options.config.behaviour.credits = true;
    Lab lab(options);
    for (std::uint64_t i = 0; i < 7; ++i)
        lab.post_receive(i, 64);
    lab.receive(lab.packet("SEND_ONLY", rq_psn), pattern(4));
    CHECK(int{lab.one().syndrome()} == 5); // code 5: 6 credits
    write_only(lab, rq_psn + 1);
    CHECK(int{lab.one().syndrome()} == 5);
}
