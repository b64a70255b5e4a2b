// The requester: what it sends, what it takes for an answer, when it tries again and when it stops.
#include "tests/transport/engine/lab.hpp"

#include <algorithm>
#include <cstring>

using namespace veriroce;
using namespace veriroce::engine;
using namespace veriroce::engine::test;

namespace {

constexpr std::uint64_t remote = 0x777000;
constexpr wire::Rkey remote_key{0xBEEF01};

struct Work {
    std::array<Sge, 1> sges;
    SendRequest request;

    Work(const Lab& lab, WrOpcode opcode, std::uint32_t length, std::uint64_t id = 1,
         std::uint64_t offset = 0)
        : sges{lab.sge(offset, length)},
          request{.id = id, .opcode = opcode, .remote_address = remote, .rkey = remote_key} {}
};

void post(Lab& lab, Work work, SendFlags flags = {}) {
    work.request.sges = work.sges;
    work.request.flags = flags;
    lab.post(work.request);
}

void post(Lab& lab, WrOpcode opcode, std::uint32_t length, std::uint64_t id = 1,
          std::uint64_t offset = 0) {
    post(lab, Work(lab, opcode, length, id, offset));
}

std::vector<std::uint32_t> psns(const std::vector<Sent>& all) {
    std::vector<std::uint32_t> result;
    result.reserve(all.size());
    for (const Sent& sent : all)
        result.push_back(sent.psn());
    return result;
}

using Psns = std::vector<std::uint32_t>;

wire::Packet response(const Lab& lab, std::string_view opcode, int n, std::uint32_t msn) {
    wire::Packet packet = lab.packet(opcode, sq_psn + n);
    packet.bth.ack_request = false;
    packet.aeth.msn = {msn};
    return packet;
}

void check_failed(Lab& lab, std::uint64_t id, WcStatus status) {
    const auto done = lab.sends();
    REQUIRE_FALSE(done.empty());
    CHECK(done[0].id == id);
    CHECK(done[0].status == status);
    for (std::size_t i = 1; i < done.size(); ++i)
        CHECK(done[i].status == WcStatus::WrFlushErr);
    CHECK(lab.state() == QpState::Err);
    CHECK(lab.drain().empty());
    CHECK_FALSE(lab.engine.next_timeout());
}

} // namespace

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

TEST_CASE("requester: a sequence NAK goes back to its PSN", "[engine][REQ-11][REQ-15][REQ-18]") {
    Lab lab;
    for (std::uint64_t i = 0; i < 5; ++i)
        post(lab, WrOpcode::Send, 4, i);
    CHECK(lab.drain().size() == 5);
    lab.receive(lab.ack(sq_psn + 9, 2, 0x60)); // REQ-18
    CHECK(lab.drain().empty());
    lab.receive(lab.ack(sq_psn + 2, 2, 0x60));
    lab.receive(lab.ack(sq_psn + 2, 2, 0x60)); // REQ-15: nothing was sent in between
    CHECK(lab.sends().size() == 2);
    CHECK(psns(lab.drain()) == Psns{2002, 2003, 2004});
    lab.receive(lab.ack(sq_psn + 4, 5));
    CHECK(lab.sends().size() == 3);
}

TEST_CASE("requester: a late ACK ends a resend that is under way", "[engine][REQ-33]") {
    Lab lab;
    post(lab, WrOpcode::Send, 3000, 1);
    post(lab, WrOpcode::Send, 4, 2);
    CHECK(lab.drain().size() == 4);
    lab.receive(lab.ack(sq_psn, 0, 0x60));
    REQUIRE(lab.engine.poll_transmit(lab.now)); // 2000 again
    lab.receive(lab.ack(sq_psn + 2, 1));
    CHECK(psns(lab.drain()) == Psns{2003});
    CHECK(lab.sends().size() == 1);
}

TEST_CASE("requester: NAKs use up the retries, progress gives them back",
          "[engine][REQ-12][REQ-14]") {
    Lab lab;
    post(lab, WrOpcode::Send, 4, 1);
    post(lab, WrOpcode::Send, 4, 2);
    CHECK(lab.drain().size() == 2);
    for (int i = 0; i < 3; ++i) {
        lab.receive(lab.ack(sq_psn, 0, 0x60));
        CHECK(lab.drain().size() == 2);
    }
    lab.receive(lab.ack(sq_psn + 1, 1, 0x60)); // the first arrived: three tries more
    CHECK(psns(lab.drain()) == Psns{2001});
    for (int i = 0; i < 2; ++i) {
        lab.receive(lab.ack(sq_psn + 1, 1, 0x60));
        CHECK(psns(lab.drain()) == Psns{2001});
    }
    CHECK(lab.sends().size() == 1);
    lab.receive(lab.ack(sq_psn + 1, 1, 0x60));
    check_failed(lab, 2, WcStatus::RetryExcErr);
}

TEST_CASE("requester: without an answer it sends retry_count and one times",
          "[engine][TMO-01][TMO-03][REQ-13]") {
    const int retries = GENERATE(0, 1, 7);
    LabOptions options;
    options.retry_count = static_cast<std::uint8_t>(retries);
    options.timeout = 8; // 1.048576 ms
    Lab lab(options);
    post(lab, WrOpcode::Send, 4, 1);
    post(lab, WrOpcode::Send, 4, 2);
    const auto nominal = wire::ack_timeout(8).value();
    for (int i = 0; i <= retries; ++i) {
        CHECK(psns(lab.drain()) == Psns{2000, 2001});
        const auto sent_at = lab.now;
        lab.next_deadline();
        CHECK(lab.now - sent_at >= nominal);
        CHECK(lab.now - sent_at <= 4 * nominal);
    }
    CHECK(lab.engine.counters().local_ack_timeout == static_cast<std::uint64_t>(retries) + 1);
    check_failed(lab, 1, WcStatus::RetryExcErr);
}

TEST_CASE("requester: timeout code 0 is never", "[engine][TMO-02]") {
    LabOptions options;
    options.timeout = 0;
    Lab lab(options);
    post(lab, WrOpcode::Send, 4);
    CHECK(lab.drain().size() == 1);
    CHECK_FALSE(lab.engine.next_timeout());
}

TEST_CASE("requester: an answer winds the timer up again", "[engine][TMO-04][N-27]") {
    Lab lab;
    for (std::uint64_t i = 0; i < 6; ++i)
        post(lab, WrOpcode::Send, 4, i);
    CHECK(lab.drain().size() == 6);
    const auto nominal = wire::ack_timeout(14).value();
    for (int i = 0; i < 6; ++i) {
        lab.pass(nominal * 9 / 10);
        CHECK(lab.drain().empty());
        lab.receive(lab.ack(sq_psn + i, static_cast<std::uint32_t>(i) + 1));
    }
    CHECK(lab.sends().size() == 6);
    CHECK(lab.engine.counters().local_ack_timeout == 0);
}

TEST_CASE("requester: an RNR NAK is waited out, and no timeout shortens it",
          "[engine][RNR-08][RNR-10][RNR-12][RNR-13]") {
    LabOptions options;
    options.timeout = 8; // 1 ms
    Lab lab(options);
    post(lab, WrOpcode::Send, 4, 1);
    post(lab, WrOpcode::Send, 4, 2);
    CHECK(lab.drain().size() == 2);
    lab.receive(lab.ack(sq_psn + 1, 1, 0x20 | 26)); // 81.92 ms
    CHECK(lab.sends().size() == 1);                 // RNR-12
    post(lab, WrOpcode::Send, 4, 3);
    CHECK(lab.drain().empty()); // RNR-13
    lab.pass(81'919us);
    CHECK(lab.drain().empty());
    lab.next_deadline();
    CHECK(lab.now == wire::Instant{81'920us});
    CHECK(psns(lab.drain()) == Psns{2001, 2002});
    lab.receive(lab.ack(sq_psn + 2, 3));
    CHECK(lab.sends().size() == 2);
}

TEST_CASE("requester: rnr_retry tries, 7 is for ever, progress gives them back",
          "[engine][RNR-09][RNR-11][N-10]") {
    LabOptions options;
    const int tries = GENERATE(0, 3, 7);
    options.rnr_retry = static_cast<std::uint8_t>(tries);
    Lab lab(options);
    post(lab, WrOpcode::Send, 4, 1);
    post(lab, WrOpcode::Send, 4, 2);
    CHECK(lab.drain().size() == 2);
    const auto rnr = [&lab](int n) {
        lab.receive(lab.ack(sq_psn + n, static_cast<std::uint32_t>(n), 0x21));
    };
    for (int i = 0; i < (tries == 7 ? 40 : tries); ++i) {
        rnr(0);
        lab.next_deadline();
        CHECK(lab.drain().size() == 2);
    }
    if (tries > 0) {
        rnr(1); // 2000 was taken
        CHECK(lab.sends().size() == 1);
        lab.next_deadline();
        CHECK(lab.drain().size() == 1);
    }
    if (tries == 7) return;
    for (int i = 1; i < tries; ++i) {
        rnr(1);
        lab.next_deadline();
        CHECK(lab.drain().size() == 1);
    }
    rnr(tries == 0 ? 0 : 1);
    check_failed(lab, tries == 0 ? 1 : 2, WcStatus::RnrRetryExcErr);
}

TEST_CASE("requester: each fatal NAK ends its own work and the QP",
          "[engine][REQ-16][REQ-19][STA-07]") {
    const auto [code, status] = GENERATE(table<int, WcStatus>({
        {0x61, WcStatus::RemInvReqErr},
        {0x62, WcStatus::RemAccessErr},
        {0x63, WcStatus::RemOpErr},
    }));
    Lab lab;
    lab.post_receive(50, 4);
    for (std::uint64_t i = 1; i <= 4; ++i)
        post(lab, Work(lab, WrOpcode::RdmaWrite, 4, i), {.signaled = i < 4});
    CHECK(lab.drain().size() == 4);
    lab.receive(lab.ack(sq_psn + 1, 1, static_cast<std::uint8_t>(code)));
    const auto done = lab.sends();
    REQUIRE(done.size() == 4);
    CHECK(done[0].status == WcStatus::Success);
    CHECK(done[1].id == 2);
    CHECK(done[1].status == status);
    CHECK(done[2].status == WcStatus::WrFlushErr);
    CHECK(done[3].status == WcStatus::WrFlushErr); // though it was not signalled
    const auto receives = lab.receives();
    REQUIRE(receives.size() == 1);
    CHECK(receives[0].status == WcStatus::WrFlushErr);
    CHECK(lab.state() == QpState::Err);
    post(lab, WrOpcode::Send, 4, 9);
    CHECK(lab.sends().at(0).status == WcStatus::WrFlushErr);
    lab.post_receive(51, 4);
    CHECK(lab.receives().at(0).id == 51);
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
    if (rest) { // it may begin anew at the place that was asked for
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
    CHECK(refusal({.opcode = WrOpcode::SendWithInv, .sges = piece}) == VerbError::NotSupported);
    CHECK(refusal({.opcode = WrOpcode::BindMw}) == VerbError::NotSupported);
    const std::array chain{good, good, good};
    const auto posted = lab.engine.post_send(lab.qp, chain, lab.now);
    CHECK(posted.posted == 2);
    CHECK(posted.refused == VerbError::NoMemory);
    CHECK(lab.engine.post_send(QpId{99}, chain, lab.now).refused == VerbError::NotFound);
    lab.post_receive(1, 4);
    const ReceiveRequest receive{.sges = piece};
    CHECK(lab.engine.post_receive(lab.qp, std::span(&receive, 1)).refused == VerbError::NoMemory);
}
