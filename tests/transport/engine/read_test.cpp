// The requester's READs and atomics: responses placed, gaps asked for again, errors.
#include "tests/transport/engine/requests.hpp"

#include <algorithm>

using namespace veriroce;
using namespace veriroce::engine;
using namespace veriroce::engine::test;

TEST_CASE("requester: READ responses are placed, and acknowledge what stands before",
          "[engine][REQ-26][N-36]") {
    Lab lab;
    post(lab, WrOpcode::Send, 4, 1);
    post(lab, WrOpcode::RdmaRead, 2500, 2, 0x4000);
    post(lab, WrOpcode::Send, 4, 3);
    const auto sent = lab.drain();
    CHECK(psns(sent) == Psns{2000, 2001, 2004});
    CHECK(sent[1].name() == "RDMA_READ_REQUEST");
    CHECK(sent[1].packet.reth.dma_length == 2500);
    CHECK(sent[1].packet.body.empty());
    const auto data = pattern(2500, 9);
    const wire::Bytes bytes(data);
    lab.receive(response(lab, "RDMA_READ_RESPONSE_FIRST", 1, 2), bytes.first(1024));
    CHECK(lab.sends().size() == 1);
    lab.receive(response(lab, "RDMA_READ_RESPONSE_MIDDLE", 2, 2), bytes.subspan(1024, 1024));
    lab.receive(response(lab, "RDMA_READ_RESPONSE_MIDDLE", 2, 2), pattern(1024, 5)); // N-38
    lab.receive(response(lab, "RDMA_READ_RESPONSE_LAST", 3, 2), bytes.subspan(2048));
    const auto done = lab.sends();
    REQUIRE(done.size() == 1);
    CHECK(done[0].id == 2);
    CHECK(done[0].opcode == WcOpcode::RdmaRead);
    CHECK(done[0].byte_len == 2500);
    CHECK(std::ranges::equal(lab.memory(0x4000, 2500), data));
}

TEST_CASE("requester: a gap in READ responses is asked for again, once",
          "[engine][REQ-09][REQ-10][RDR-06]") {
    const auto restart = GENERATE(ReadRestart::FirstMissing, ReadRestart::WholeRead);
    LabOptions options;
    options.config.behaviour.read_restart = restart;
    Lab lab(options);
    post(lab, WrOpcode::RdmaRead, 4096, 1, 0x4000);
    CHECK(lab.drain().size() == 1);
    const auto data = pattern(4096, 9);
    const wire::Bytes bytes(data);
    lab.receive(response(lab, "RDMA_READ_RESPONSE_FIRST", 0, 1), bytes.first(1024));
    lab.receive(response(lab, "RDMA_READ_RESPONSE_MIDDLE", 2, 1), bytes.subspan(2048, 1024));
    lab.receive(response(lab, "RDMA_READ_RESPONSE_LAST", 3, 1), bytes.subspan(3072));
    const Sent again = lab.one();
    const bool rest = restart == ReadRestart::FirstMissing;
    CHECK(again.psn() == (rest ? 2001 : 2000));
    CHECK(again.packet.reth.virtual_address == remote + (rest ? 1024 : 0));
    CHECK(again.packet.reth.dma_length == (rest ? 3072 : 4096));
    if (rest) { // it may begin again at the requested place
        lab.receive(response(lab, "RDMA_READ_RESPONSE_FIRST", 1, 1), bytes.subspan(1024, 1024));
    } else {
        lab.receive(response(lab, "RDMA_READ_RESPONSE_FIRST", 0, 1), bytes.first(1024));
        lab.receive(response(lab, "RDMA_READ_RESPONSE_MIDDLE", 1, 1), bytes.subspan(1024, 1024));
    }
    lab.receive(response(lab, "RDMA_READ_RESPONSE_MIDDLE", 2, 1), bytes.subspan(2048, 1024));
    lab.receive(response(lab, "RDMA_READ_RESPONSE_LAST", 3, 1), bytes.subspan(3072));
    CHECK(lab.sends().size() == 1);
    CHECK(std::ranges::equal(lab.memory(0x4000, 4096), data));
    CHECK(lab.drain().empty());
}

TEST_CASE("requester: an ACK behind an unanswered READ is an implied NAK",
          "[engine][REQ-08][N-11][N-12][N-20]") {
    const auto when = GENERATE(ImpliedNak::AtOnce, ImpliedNak::OnTimeout);
    const int syndrome = GENERATE(0x1F, 0x60, 0x62);
    LabOptions options;
    options.config.behaviour.implied_nak = when;
    Lab lab(options);
    post(lab, WrOpcode::RdmaRead, 8, 1, 0x4000);
    post(lab, WrOpcode::Send, 4, 2);
    CHECK(lab.drain().size() == 2);
    lab.receive(lab.ack(sq_psn + 1, 2, static_cast<std::uint8_t>(syndrome)));
    CHECK(lab.sends().empty());
    if (when == ImpliedNak::OnTimeout) {
        CHECK(lab.drain().empty());
        lab.next_deadline();
    }
    CHECK(psns(lab.drain()) == Psns{2000, 2001});
    lab.receive(response(lab, "RDMA_READ_RESPONSE_ONLY", 0, 1), pattern(8));
    lab.receive(lab.ack(sq_psn + 1, 2));
    const auto done = lab.sends();
    REQUIRE(done.size() == 2);
    CHECK(done[0].id == 1);
    CHECK(done[1].id == 2);
}

TEST_CASE("requester: a READ response of the wrong size is an error, and stays inside",
          "[engine][REQ-21][REQ-22]") {
    const std::size_t size = GENERATE(96U, 104U, 1024U);
    Lab lab;
    post(lab, WrOpcode::RdmaRead, 100, 1, 0x4000);
    post(lab, WrOpcode::Send, 4, 2);
    CHECK(lab.drain().size() == 2);
    const auto before =
        std::vector(lab.memory(0x4000, 2048).begin(), lab.memory(0x4000, 2048).end());
    lab.receive(response(lab, "RDMA_READ_RESPONSE_ONLY", 0, 1), pattern(size));
    check_failed(lab, 1, WcStatus::LocLenErr);
    CHECK(std::ranges::equal(lab.memory(0x4000, 2048), before));
}

TEST_CASE("requester: READ responses out of their order are not taken", "[engine][REQ-23]") {
    Lab lab;
    post(lab, WrOpcode::RdmaRead, 3072, 1, 0x4000);
    CHECK(lab.drain().size() == 1);
    for (const std::string_view wrong :
         {"RDMA_READ_RESPONSE_MIDDLE", "RDMA_READ_RESPONSE_LAST", "RDMA_READ_RESPONSE_ONLY"}) {
        lab.receive(response(lab, wrong, 0, 1), pattern(1024));
    }
    lab.receive(response(lab, "RDMA_READ_RESPONSE_FIRST", 0, 1), pattern(1024));
    lab.receive(response(lab, "RDMA_READ_RESPONSE_FIRST", 1, 1), pattern(1024));
    lab.receive(response(lab, "RDMA_READ_RESPONSE_LAST", 1, 1), pattern(1024));
    CHECK(lab.sends().empty());
    CHECK(lab.drain().empty());
    CHECK(lab.state() == QpState::Rts);
    lab.next_deadline();
    CHECK(psns(lab.drain()) == Psns{2001}); // REQ-09
}

TEST_CASE("requester: a region that goes away under a READ is not written", "[engine][N-22]") {
    Lab lab;
    post(lab, WrOpcode::RdmaRead, 8, 1, 0x4000);
    CHECK(lab.drain().size() == 1);
    const auto before = lab.number(0x4000);
    REQUIRE(lab.engine.deregister_region(lab.region.mr));
    lab.receive(response(lab, "RDMA_READ_RESPONSE_ONLY", 0, 1), pattern(8));
    check_failed(lab, 1, WcStatus::LocProtErr);
    CHECK(lab.number(0x4000) == before);
}

TEST_CASE("requester: atomics bring their result home", "[engine][ATM-01][ATM-11]") {
    Lab lab;
    Work swap(lab, WrOpcode::AtomicCmpAndSwp, 8, 1, 0x4000);
    swap.request.compare_or_add = 5;
    swap.request.swap = 6;
    post(lab, swap);
    Work add(lab, WrOpcode::AtomicFetchAndAdd, 8, 2, 0x4008);
    add.request.compare_or_add = 7;
    post(lab, add);
    const auto sent = lab.drain();
    REQUIRE(sent.size() == 2);
    CHECK(sent[0].name() == "COMPARE_SWAP");
    CHECK(sent[0].packet.atomic.compare == 5);
    CHECK(sent[0].packet.atomic.swap_or_add == 6);
    CHECK(sent[1].name() == "FETCH_ADD");
    CHECK(sent[1].packet.atomic.swap_or_add == 7);
    wire::Packet second = response(lab, "ATOMIC_ACKNOWLEDGE", 1, 2);
    lab.receive(second); // the first is missing: an implied NAK
    CHECK(psns(lab.drain()) == Psns{2000, 2001});
    wire::Packet first = response(lab, "ATOMIC_ACKNOWLEDGE", 0, 1);
    first.atomic_ack.original = 0x0102030405060708;
    second.atomic_ack.original = 99;
    lab.receive(first);
    lab.receive(second);
    const auto done = lab.sends();
    REQUIRE(done.size() == 2);
    CHECK(done[0].opcode == WcOpcode::CompSwap);
    CHECK(done[1].opcode == WcOpcode::FetchAdd);
    CHECK(done[1].byte_len == 8);
    CHECK(lab.number(0x4000) == 0x0102030405060708);
    CHECK(lab.number(0x4008) == 99);
}

TEST_CASE("requester: no more READs and atomics than max_rd_atomic", "[engine][REQ-27]") {
    LabOptions options;
    options.max_rd_atomic = 3;
    Lab lab(options);
    for (std::uint64_t i = 0; i < 5; ++i)
        post(lab, WrOpcode::RdmaRead, 8, i, 0x4000);
    CHECK(psns(lab.drain()) == Psns{2000, 2001, 2002});
    lab.receive(response(lab, "RDMA_READ_RESPONSE_ONLY", 0, 1), pattern(8));
    CHECK(psns(lab.drain()) == Psns{2003});
}

TEST_CASE("requester: a fence waits for READs", "[engine][REQ-28]") {
    Lab lab;
    post(lab, WrOpcode::RdmaRead, 8, 1, 0x4000);
    post(lab, WrOpcode::Send, 4, 2);
    post(lab, Work(lab, WrOpcode::Send, 4, 3), {.fence = true});
    CHECK(psns(lab.drain()) == Psns{2000, 2001});
    lab.receive(response(lab, "RDMA_READ_RESPONSE_ONLY", 0, 1), pattern(8));
    CHECK(psns(lab.drain()) == Psns{2002});
}
