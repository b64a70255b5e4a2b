// The requester: what it sends, and what it takes for an answer.
#include "tests/transport/engine/requests.hpp"

#include <algorithm>

using namespace veriroce;
using namespace veriroce::engine;
using namespace veriroce::engine::test;

TEST_CASE("requester: a SEND is cut at the path MTU", "[engine][LEN-10][REQ-01][BTH-09][BTH-14]") {
    Lab lab;
    Work work(lab, WrOpcode::SendWithImm, 2050);
    work.request.imm = 0x01020304;
    post(lab, work, {.solicited = true});
    const auto sent = lab.drain();
    REQUIRE(sent.size() == 3);
    CHECK(sent[0].name() == "SEND_FIRST");
    CHECK(sent[1].name() == "SEND_MIDDLE");
    CHECK(sent[2].name() == "SEND_LAST_WITH_IMM");
    CHECK(psns(sent) == Psns{2000, 2001, 2002});
    CHECK(sent[2].packet.imm.value == 0x01020304);
    CHECK(sent[2].packet.payload().size() == 2);
    CHECK(sent[2].packet.bth.pad == 2);
    CHECK(sent[2].packet.bth.solicited);
    CHECK_FALSE(sent[0].packet.bth.solicited);
    CHECK(sent[2].packet.bth.ack_request);
    CHECK_FALSE(sent[1].packet.bth.ack_request);
    std::vector<std::byte> data;
    for (const Sent& packet : sent) {
        const auto payload = packet.packet.payload();
        data.insert(data.end(), payload.begin(), payload.end());
    }
    CHECK(std::ranges::equal(data, lab.memory(0, 2050)));
    lab.receive(lab.ack(sq_psn + 2, 1));
    const auto done = lab.sends();
    REQUIRE(done.size() == 1);
    CHECK(done[0].opcode == WcOpcode::Send);
    CHECK(done[0].queue == Queue::Send);
    CHECK_FALSE(lab.engine.next_timeout());
}

TEST_CASE("requester: several pieces of memory become one payload", "[engine][REQ-31]") {
    Lab lab;
    const std::array pieces{lab.sge(100, 10), lab.sge(500, 0), lab.sge(900, 30)};
    lab.post({.id = 1,
              .opcode = WrOpcode::RdmaWrite,
              .sges = pieces,
              .remote_address = remote,
              .rkey = remote_key});
    const Sent sent = lab.one();
    CHECK(sent.packet.reth.dma_length == 40);
    CHECK(sent.packet.reth.virtual_address == remote);
    CHECK(sent.packet.reth.rkey == remote_key);
    CHECK(std::ranges::equal(sent.packet.payload().first(10), lab.memory(100, 10)));
    CHECK(std::ranges::equal(sent.packet.payload().subspan(10), lab.memory(900, 30)));
}

TEST_CASE("requester: inline bytes are those of the moment of posting", "[engine]") {
    Lab lab;
    const auto data = std::vector(lab.memory(0, 20).begin(), lab.memory(0, 20).end());
    post(lab, Work(lab, WrOpcode::Send, 20), {.inline_data = true});
    std::ranges::fill(lab.memory(0, 20), std::byte{0});
    CHECK(std::ranges::equal(lab.one().packet.payload(), data));
    const std::array piece{lab.sge(0, 65)};
    const SendRequest request{.sges = piece, .flags = {.inline_data = true}};
    CHECK(lab.engine.post_send(lab.qp, std::span(&request, 1), lab.now).refused ==
          VerbError::InvalidArgument);
}

TEST_CASE("requester: one ACK completes all before it, unsignalled ones in silence",
          "[engine][REQ-03][REQ-04][REQ-06][REQ-07]") {
    Lab lab;
    post(lab, WrOpcode::Send, 4, 1);
    post(lab, Work(lab, WrOpcode::RdmaWrite, 4, 2), {.signaled = false});
    post(lab, WrOpcode::Send, 2000, 3);
    CHECK(lab.drain().size() == 4);
    lab.receive(lab.ack(sq_psn + 4, 9)); // REQ-07: never sent
    lab.receive(lab.ack(sq_psn - 1, 0)); // REQ-06
    CHECK(lab.sends().empty());
    lab.receive(lab.ack(sq_psn + 2, 2)); // in the middle of the third
    auto done = lab.sends();
    REQUIRE(done.size() == 1);
    CHECK(done[0].id == 1);
    lab.receive(lab.ack(sq_psn + 3, 3));
    done = lab.sends();
    REQUIRE(done.size() == 1);
    CHECK(done[0].id == 3);
    CHECK(lab.drain().empty());
}

TEST_CASE("requester: reserved NAK codes and kinds, and misshapen responses say nothing",
          "[engine][REQ-17][REQ-20][REQ-24][REQ-25][N-19]") {
    Lab lab;
    post(lab, WrOpcode::Send, 4, 1);
    post(lab, WrOpcode::RdmaRead, 100, 2);
    CHECK(lab.drain().size() == 2);
    for (int code = 0x64; code < 0x80; ++code)
        lab.receive(lab.ack(sq_psn, 0, static_cast<std::uint8_t>(code)));
    for (int code = 0x40; code < 0x60; ++code)
        lab.receive(lab.ack(sq_psn, 0, static_cast<std::uint8_t>(code)));
    lab.receive(lab.ack(sq_psn, 1), pattern(4));                 // an ACK with a body
    lab.receive(response(lab, "RDMA_READ_RESPONSE_ONLY", 0, 1)); // for a SEND
    lab.receive(response(lab, "ATOMIC_ACKNOWLEDGE", 0, 1));      // for a SEND
    wire::Packet nak = response(lab, "RDMA_READ_RESPONSE_ONLY", 1, 2);
    nak.aeth.syndrome = {0x61};
    lab.receive(nak, pattern(100));
    CHECK(lab.sends().empty());
    lab.receive(lab.ack(sq_psn + 1, 2)); // REQ-20: no answer to the READ, but the SEND arrived
    lab.receive(response(lab, "ATOMIC_ACKNOWLEDGE", 1, 2));
    const auto done = lab.sends();
    REQUIRE(done.size() == 1);
    CHECK(done[0].id == 1);
    CHECK(lab.state() == QpState::Rts);
    CHECK(lab.drain().empty());
}

TEST_CASE("requester: a work with a bad lkey fails in its turn", "[engine]") {
    Lab lab;
    post(lab, WrOpcode::Send, 4, 1);
    Work bad(lab, WrOpcode::Send, 4, 2);
    bad.sges[0].lkey.value ^= 0xFFU;
    post(lab, bad);
    post(lab, WrOpcode::Send, 4, 3);
    CHECK(lab.drain().size() == 1);
    CHECK(lab.sends().empty());
    lab.receive(lab.ack(sq_psn, 1));
    const auto done = lab.sends();
    REQUIRE(done.size() == 3);
    CHECK(done[0].status == WcStatus::Success);
    CHECK(done[1].status == WcStatus::LocProtErr);
    CHECK(done[2].status == WcStatus::WrFlushErr);
    CHECK(lab.state() == QpState::Err);
}

TEST_CASE("requester: the window is kept, and its last packet asks for an ACK",
          "[engine][REQ-02][N-18][BTH-18]") {
    LabOptions options;
    options.config.behaviour.max_unacked_packets = 8;
    options.config.behaviour.ack_request_every = 5;
    Lab lab(options);
    post(lab, WrOpcode::RdmaWrite, 20 * 1024, 1);
    auto sent = lab.drain();
    REQUIRE(sent.size() == 8);
    CHECK(sent[4].packet.bth.ack_request);
    CHECK(sent[7].packet.bth.ack_request);
    CHECK_FALSE(sent[6].packet.bth.ack_request);
    lab.receive(lab.ack(sq_psn + 4, 0));
    CHECK(lab.drain().size() == 5);
    lab.next_deadline();
    CHECK(lab.drain().size() == 8); // all that is out, once more
    lab.receive(lab.ack(sq_psn + 12, 0));
    CHECK(lab.drain().size() == 7);
    lab.receive(lab.ack(sq_psn + 19, 1));
    CHECK(lab.sends().size() == 1);
}

TEST_CASE("requester: PSNs go round", "[engine][RSP-09][REQ-01]") {
    LabOptions options;
    options.sq = wire::Psn(0xFFFFFE);
    Lab lab(options);
    post(lab, WrOpcode::RdmaRead, 4000, 1, 0x4000);
    post(lab, WrOpcode::Send, 4, 2);
    CHECK(psns(lab.drain()) == Psns{0xFFFFFE, 2});
    const auto data = pattern(4000);
    for (int i = 0; i < 4; ++i) {
        constexpr std::array<std::string_view, 4> opcodes{
            "RDMA_READ_RESPONSE_FIRST", "RDMA_READ_RESPONSE_MIDDLE", "RDMA_READ_RESPONSE_MIDDLE",
            "RDMA_READ_RESPONSE_LAST"};
        const std::string_view opcode = opcodes.at(static_cast<std::size_t>(i));
        const auto piece = wire::Bytes(data).subspan(static_cast<std::size_t>(i) * 1024,
                                                     i == 3 ? 4000 - 3072 : 1024);
        lab.receive(lab.packet(opcode, wire::Psn(0xFFFFFE) + i), piece);
    }
    lab.receive(lab.ack(wire::Psn(2), 2));
    CHECK(lab.sends().size() == 2);
    CHECK(std::ranges::equal(lab.memory(0x4000, 4000), data));
}

TEST_CASE("requester: bounded, and it says what it refuses", "[engine]") {
    LabOptions options;
    options.capacity = {.max_send = 2, .max_recv = 1, .max_sge = 1, .max_inline = 0};
    Lab lab(options);
    const std::array piece{lab.sge(0, 4)};
    const std::array two{lab.sge(0, 4), lab.sge(8, 4)};
    const SendRequest good{.sges = piece};
    const auto refusal = [&lab](const SendRequest& request) {
        return lab.engine.post_send(lab.qp, std::span(&request, 1), lab.now).refused;
    };
    CHECK(refusal({.sges = two}) == VerbError::InvalidArgument);
    CHECK(refusal({.opcode = WrOpcode::AtomicFetchAndAdd, .sges = piece}) ==
          VerbError::InvalidArgument);
    CHECK(refusal({.opcode = WrOpcode::SendWithInv, .sges = two}) == VerbError::InvalidArgument);
    const std::array chain{good, good, good};
    const auto posted = lab.engine.post_send(lab.qp, chain, lab.now);
    CHECK(posted.posted == 2);
    CHECK(posted.refused == VerbError::NoMemory);
    CHECK(lab.engine.post_send(QpId{99}, chain, lab.now).refused == VerbError::NotFound);
    lab.post_receive(1, 4);
    const ReceiveRequest receive{.sges = piece};
    CHECK(lab.engine.post_receive(lab.qp, std::span(&receive, 1)).refused == VerbError::NoMemory);
}
