// UC: what is lost is lost in silence, and nothing waits for an answer.
#include <algorithm>

#include "tests/transport/engine/windows.hpp"

using namespace veriroce;
using namespace veriroce::engine;
using namespace veriroce::engine::test;

namespace {

LabOptions uc(QpState state = QpState::Rts) {
    LabOptions options;
    options.type = QpType::Uc;
    options.state = state;
    return options;
}

std::vector<std::uint64_t> ids(const std::vector<Completion>& all) {
    std::vector<std::uint64_t> result;
    for (const Completion& completion : all) {
        CHECK(completion.status == WcStatus::Success);
        result.push_back(completion.id);
    }
    return result;
}

using Ids = std::vector<std::uint64_t>;

// A SEND of two packets, or what the caller leaves of it.
void send_first(Lab& lab, wire::Psn psn) {
    lab.receive(lab.packet("SEND_FIRST", psn), pattern(1024, 1));
}
void send_last(Lab& lab, wire::Psn psn) {
    lab.receive(lab.packet("SEND_LAST", psn), pattern(10, 2));
}
void send_only(Lab& lab, wire::Psn psn) {
    lab.receive(lab.packet("SEND_ONLY", psn), pattern(7, 3));
}

} // namespace

TEST_CASE("uc requester: a message is complete when its last packet is sent", "[engine][EXT-06]") {
    Lab lab(uc());
    post(lab, WrOpcode::Send, 2500);
    const auto all = lab.drain();
    REQUIRE(all.size() == 3);
    CHECK(psns(all) == Psns{2000, 2001, 2002});
    CHECK(all[0].packet.info().title == "UC Send First");
    CHECK(all[1].packet.info().title == "UC Send Middle");
    CHECK(all[2].packet.info().title == "UC Send Last");
    for (const Sent& sent : all)
        CHECK_FALSE(sent.packet.bth.ack_request);
    CHECK(std::ranges::equal(all[2].packet.payload(), lab.memory(2048, 452)));
    CHECK(ids(lab.sends()) == Ids{1});
    CHECK_FALSE(lab.engine.next_timeout()); // no timer waits for an ACK
}

TEST_CASE("uc requester: WRITE and immediate data", "[engine][EXT-06]") {
    Lab lab(uc());
    Work work(lab, WrOpcode::RdmaWriteWithImm, 1500);
    work.request.imm = 0xCAFE;
    post(lab, work, {.solicited = true});
    const auto all = lab.drain();
    REQUIRE(all.size() == 2);
    CHECK(all[0].packet.info().title == "UC RDMA Write First");
    CHECK(all[0].packet.reth == wire::Reth{remote, remote_key, 1500});
    CHECK_FALSE(all[0].packet.bth.solicited);
    CHECK(all[1].packet.info().title == "UC RDMA Write Last Immediate");
    CHECK(all[1].packet.imm.value == 0xCAFE);
    CHECK(all[1].packet.bth.solicited);
    CHECK(ids(lab.sends()) == Ids{1});
}

TEST_CASE("uc requester: READ and atomics are refused", "[engine][EXT-06]") {
    Lab lab(uc());
    for (const WrOpcode opcode :
         {WrOpcode::RdmaRead, WrOpcode::AtomicCmpAndSwp, WrOpcode::AtomicFetchAndAdd}) {
        Work work(lab, opcode, 8);
        work.request.sges = work.sges;
        const auto posted = lab.engine.post_send(lab.qp, std::span(&work.request, 1), lab.now);
        CHECK(posted.refused == VerbError::NotSupported);
    }
}

TEST_CASE("uc requester: a local fault ends the send queue in SQE, and RTS starts it again",
          "[engine][STA-08]") {
    Lab lab(uc());
    post(lab, WrOpcode::Send, 10, 1);
    Work bad(lab, WrOpcode::Send, 10, 2);
    bad.sges[0].lkey.value ^= 1;
    post(lab, bad);
    post(lab, WrOpcode::Send, 10, 3);
    CHECK(lab.drain().size() == 1);
    const auto done = lab.sends();
    REQUIRE(done.size() == 3);
    CHECK(done[0].status == WcStatus::Success);
    CHECK(done[1].status == WcStatus::LocProtErr);
    CHECK(done[2].status == WcStatus::WrFlushErr);
    CHECK(lab.state() == QpState::Sqe);
    // What is posted now is flushed; what comes in is still taken.
    post(lab, WrOpcode::Send, 10, 4);
    CHECK(lab.sends().front().status == WcStatus::WrFlushErr);
    lab.post_receive(5, 100);
    send_only(lab, rq_psn);
    CHECK(ids(lab.receives()) == Ids{5});
    REQUIRE(lab.engine.modify_qp(lab.qp, {.state = QpState::Rts}, lab.now));
    post(lab, WrOpcode::Send, 10, 6);
    CHECK(psns(lab.drain()) == Psns{2001});
    CHECK(ids(lab.sends()) == Ids{6});
}

TEST_CASE("uc requester: in SQD the message that has begun is finished", "[engine][STA-06]") {
    Lab lab(uc());
    post(lab, WrOpcode::Send, 2000, 1);
    post(lab, WrOpcode::Send, 10, 2);
    REQUIRE(lab.engine.poll_transmit(lab.now));
    REQUIRE(
        lab.engine.modify_qp(lab.qp, {.state = QpState::Sqd, .sqd_async_notify = true}, lab.now));
    CHECK(lab.events().empty());
    CHECK(psns(lab.drain()) == Psns{2001});
    CHECK(lab.events().size() == 1);
    CHECK(ids(lab.sends()) == Ids{1});
    REQUIRE(lab.engine.modify_qp(lab.qp, {.state = QpState::Rts}, lab.now));
    CHECK(psns(lab.drain()) == Psns{2002});
}

TEST_CASE("uc responder: messages arrive, and nothing is answered", "[engine][EXT-06]") {
    Lab lab(uc());
    lab.post_receive(1, 2000);
    lab.post_receive(2, 2000);
    send_first(lab, rq_psn);
    send_last(lab, rq_psn + 1);
    wire::Packet write = lab.packet("RDMA_WRITE_ONLY_WITH_IMM", rq_psn + 2);
    write.reth.dma_length = 8;
    write.imm.value = 77;
    lab.receive(write, pattern(8));
    CHECK(lab.drain().empty());
    const auto done = lab.receives();
    REQUIRE(done.size() == 2);
    CHECK(done[0].byte_len == 1034);
    CHECK(done[1].opcode == WcOpcode::RecvRdmaWithImm);
    CHECK(done[1].imm == 77);
    CHECK(std::ranges::equal(lab.memory(0, 8), pattern(8)));
    CHECK(std::ranges::equal(lab.memory(0x8000, 1024), pattern(1024, 1)));
}

TEST_CASE("uc responder: a lost packet takes its message with it, in silence", "[engine][EXT-06]") {
    Lab lab(uc());
    lab.post_receive(1, 3000);
    send_first(lab, rq_psn);
    lab.receive(lab.packet("SEND_LAST", rq_psn + 2), pattern(10)); // 1001 is lost
    CHECK(lab.receives().empty());
    send_last(lab, rq_psn + 3);
    CHECK(lab.receives().empty());
    send_only(lab, rq_psn + 50); // with any PSN, and with the same receive
    CHECK(ids(lab.receives()) == Ids{1});
    CHECK(lab.drain().empty());
    CHECK(lab.state() == QpState::Rts);
    CHECK(lab.engine.query_qp(lab.qp).value().attributes.rq_psn == rq_psn + 51);
}

TEST_CASE("uc responder: a new message ends one that is not complete", "[engine][EXT-06]") {
    Lab lab(uc());
    lab.post_receive(1, 3000);
    lab.post_receive(2, 3000);
    send_first(lab, rq_psn);
    send_only(lab, rq_psn + 1); // in sequence, but the message before has no end
    CHECK(ids(lab.receives()) == Ids{1});
    send_first(lab, rq_psn + 2);
    lab.receive(lab.packet("RDMA_WRITE_LAST", rq_psn + 3), pattern(10));
    send_last(lab, rq_psn + 4);
    CHECK(lab.receives().empty());
    send_first(lab, rq_psn + 4); // a PSN that was used before is not a duplicate here
    send_last(lab, rq_psn + 5);
    CHECK(ids(lab.receives()) == Ids{2});
}

TEST_CASE("uc responder: without a receive the whole message is dropped", "[engine][EXT-06]") {
    Lab lab(uc());
    send_first(lab, rq_psn);
    lab.post_receive(1, 3000);
    send_last(lab, rq_psn + 1);
    CHECK(lab.receives().empty());
    send_only(lab, rq_psn + 2);
    CHECK(ids(lab.receives()) == Ids{1});
    CHECK(lab.drain().empty());
}

TEST_CASE("uc responder: faults are silent and leave the QP as it is", "[engine][EXT-06]") {
    Lab lab(uc());
    const auto before = std::vector(lab.memory(0, 64).begin(), lab.memory(0, 64).end());
    wire::Packet write = lab.packet("RDMA_WRITE_ONLY", rq_psn);
    write.reth.dma_length = 8;
    write.reth.rkey.value ^= 1; // KEY-08
    lab.receive(write, pattern(8));
    write = lab.packet("RDMA_WRITE_ONLY", rq_psn + 1);
    write.reth.dma_length = 9; // LEN-04
    lab.receive(write, pattern(8));
    lab.receive(lab.packet("SEND_FIRST", rq_psn + 2), pattern(100)); // LEN-01
    lab.post_receive(1, 4);
    send_only(lab, rq_psn + 3); // LEN-06: 7 bytes
    wire::Packet read = lab.packet("SEND_ONLY", rq_psn + 4);
    read.bth.opcode = 0x2C; // READ does not exist
    lab.receive(read);
    CHECK(std::ranges::equal(lab.memory(0, 64), before));
    CHECK(lab.drain().empty());
    CHECK(lab.receives().empty());
    CHECK(lab.state() == QpState::Rts);
    CHECK(lab.engine.counters().dropped == 5);
    lab.receive(lab.packet("SEND_ONLY", rq_psn + 5), pattern(4));
    CHECK(ids(lab.receives()) == Ids{1});
}

TEST_CASE("uc responder: rights of the QP hold", "[engine][KEY-01]") {
    LabOptions options = uc();
    options.qp_access = {.local_write = true};
    Lab lab(options);
    wire::Packet write = lab.packet("RDMA_WRITE_ONLY", rq_psn);
    write.reth.dma_length = 8;
    lab.receive(write, pattern(8));
    CHECK_FALSE(std::ranges::equal(lab.memory(0, 8), pattern(8)));
    CHECK(lab.state() == QpState::Rts);
}

TEST_CASE("uc responder: a receive that names bad memory ends the QP", "[engine][KEY-12]") {
    Lab lab(uc());
    Sge piece = lab.sge(0, 100);
    piece.lkey.value ^= 1;
    const ReceiveRequest request{.id = 9, .sges = std::span(&piece, 1)};
    REQUIRE_FALSE(lab.engine.post_receive(lab.qp, std::span(&request, 1)).refused);
    send_only(lab, rq_psn);
    const auto done = lab.receives();
    REQUIRE(done.size() == 1);
    CHECK(done[0].status == WcStatus::LocProtErr);
    CHECK(lab.state() == QpState::Err);
    CHECK(lab.drain().empty());
}

TEST_CASE("uc: a window of type 2 is bound and revoked by local requests", "[engine][KEY-09]") {
    LabOptions options = with_bindable_region();
    options.type = QpType::Uc;
    Lab lab(options);
    const std::uint64_t address = region_address + window_offset;
    const auto window = lab.engine.allocate_window(lab.pd, WindowType::Type2).value();
    const wire::Rkey key = variant(window.rkey);
    const auto written = [&](std::uint32_t seed) {
        wire::Packet packet = lab.packet("RDMA_WRITE_ONLY", wire::Psn(rq_psn) + seed);
        packet.reth = {.virtual_address = address, .rkey = key, .dma_length = 8};
        lab.receive(packet, pattern(8, seed));
        return std::ranges::equal(lab.memory(window_offset, 8), pattern(8, seed));
    };
    CHECK_FALSE(written(1));
    post(lab, WrOpcode::Send, 4, 1); // in order with what is sent
    lab.post(bind_request(window, key, part(lab, writable)));
    post(lab, WrOpcode::Send, 4, 2);
    CHECK(lab.drain().size() == 2);
    CHECK(ids(lab.sends()) == Ids{1, 7, 2});
    CHECK(written(2));
    CHECK(lab.drain().empty());
    lab.post({.id = 7, .opcode = WrOpcode::LocalInv, .invalidate_rkey = key});
    CHECK(lab.drain().empty());
    check_done(lab, WcOpcode::LocalInv);
    CHECK_FALSE(written(3));
    // What cannot be revoked ends the send queue, and it alone.
    lab.post({.id = 8, .opcode = WrOpcode::LocalInv, .invalidate_rkey = key});
    post(lab, WrOpcode::Send, 4, 9);
    CHECK(lab.drain().empty());
    const auto done = lab.sends();
    REQUIRE(done.size() == 2);
    CHECK(done[0].status == WcStatus::LocQpOpErr);
    CHECK(done[1].status == WcStatus::WrFlushErr);
    CHECK(lab.state() == QpState::Sqe);
}

TEST_CASE("uc: a window of type 1 is bound by the verb, and no SEND revokes one",
          "[engine][KEY-09]") {
    LabOptions options = with_bindable_region();
    options.type = QpType::Uc;
    Lab lab(options);
    const auto window = lab.engine.allocate_window(lab.pd, WindowType::Type1).value();
    REQUIRE(lab.engine.bind_window(lab.qp, window.mw, part(lab, writable), 7));
    CHECK(lab.drain().empty());
    check_done(lab, WcOpcode::BindMw);
    Work invalidating(lab, WrOpcode::SendWithInv, 4);
    invalidating.request.sges = invalidating.sges;
    const auto posted = lab.engine.post_send(lab.qp, std::span(&invalidating.request, 1), lab.now);
    CHECK(posted.refused == VerbError::NotSupported);
}

TEST_CASE("uc: RC packets do not reach it, and the other way round", "[engine][BTH-05]") {
    Lab lab(uc());
    lab.post_receive(1, 100);
    wire::Packet packet = lab.packet("SEND_ONLY", rq_psn);
    packet.bth.opcode = 0x04;
    lab.receive(packet, pattern(4));
    CHECK(lab.receives().empty());
    Lab rc;
    rc.post_receive(1, 100);
    packet.bth.opcode = 0x24;
    rc.receive(packet, pattern(4));
    CHECK(rc.receives().empty());
    CHECK(rc.drain().empty());
}

TEST_CASE("uc: states", "[engine][STA-01][STA-02][STA-07]") {
    const auto state = GENERATE(QpState::Reset, QpState::Init, QpState::Err);
    Lab lab(uc(state));
    if (state != QpState::Reset) lab.post_receive(1, 100);
    lab.receives();
    send_only(lab, rq_psn);
    CHECK(lab.receives().empty());
    CHECK(lab.drain().empty());
    CHECK(lab.engine.counters().out_of_sequence == 0);
}
