// Keys that are revoked: at home by LOCAL_INV, from afar by a SEND.
#include "tests/transport/engine/windows.hpp"

using namespace veriroce;
using namespace veriroce::engine;
using namespace veriroce::engine::test;

TEST_CASE("invalidate: LOCAL_INV shuts a window of type 2, and nothing else", "[engine][KEY-11]") {
    Lab lab(with_bindable_region());
    const Bound bound(lab, part(lab, writable));
    lab.post({.id = 7, .opcode = WrOpcode::LocalInv, .invalidate_rkey = bound.key});
    CHECK(lab.drain().empty());
    check_done(lab, WcOpcode::LocalInv);
    CHECK(answer_to_write(lab, bound.key, region_address + window_offset) == access_nak);

    const auto fails = [](auto key_of) {
        Lab other(with_bindable_region());
        const Bound there(other, part(other, writable));
        other.post(
            {.id = 7, .opcode = WrOpcode::LocalInv, .invalidate_rkey = key_of(other, there)});
        CHECK(other.drain().empty());
        check_done(other, WcOpcode::LocalInv, WcStatus::LocQpOpErr);
    };
    fails([](Lab&, const Bound& b) { return b.window.rkey; }); // stale
    fails([](Lab& l, const Bound&) { return l.region.rkey; }); // registered by the verb
    fails([](Lab&, const Bound&) { return wire::Rkey{0}; });
    fails([](Lab& l, const Bound&) { // bound to nothing
        return l.engine.allocate_window(l.pd, WindowType::Type2)->rkey;
    });
}

TEST_CASE("invalidate: local work waits its turn and completes in order",
          "[engine][KEY-11][N-20]") {
    Lab lab(with_bindable_region());
    const Bound bound(lab, part(lab, writable));
    post(lab, WrOpcode::RdmaWrite, 100, 1);
    lab.post({.id = 2, .opcode = WrOpcode::LocalInv, .invalidate_rkey = bound.key});
    lab.post(bind_request(bound.window, variant(bound.key), part(lab, writable)));
    post(lab, WrOpcode::RdmaWrite, 100, 4);
    CHECK(psns(lab.drain()) == Psns{2000, 2001}); // it takes no PSN
    CHECK(lab.sends().empty());
    // The first is lost: both go again, and the key is not revoked twice.
    lab.next_deadline();
    CHECK(psns(lab.drain()) == Psns{2000, 2001});
    lab.receive(lab.ack(sq_psn, 1));
    const auto first = lab.sends();
    REQUIRE(first.size() == 3);
    CHECK(first[0].id == 1);
    CHECK(first[1].opcode == WcOpcode::LocalInv);
    CHECK(first[2].opcode == WcOpcode::BindMw);
    lab.receive(lab.ack(sq_psn + 1, 2));
    CHECK(lab.sends().size() == 1);
    CHECK_FALSE(lab.engine.next_timeout());
    CHECK(answer_to_write(lab, variant(bound.key), region_address + window_offset) == acked);
}

TEST_CASE("invalidate: a fence holds local work back until the READ is answered",
          "[engine][KEY-11][REQ-28]") {
    Lab lab(with_bindable_region());
    const Bound bound(lab, part(lab, writable));
    post(lab, WrOpcode::RdmaRead, 8, 1);
    lab.post({.id = 2,
              .opcode = WrOpcode::LocalInv,
              .invalidate_rkey = bound.key,
              .flags = {.fence = true}});
    lab.drain();
    CHECK(lab.engine.deregister_region(lab.region.mr).error() == VerbError::Busy);
    lab.receive(response(lab, "RDMA_READ_RESPONSE_ONLY", 0, 1), pattern(8));
    lab.drain();
    CHECK(lab.sends().size() == 2);
    CHECK(lab.engine.deregister_region(lab.region.mr));
}

TEST_CASE("invalidate: a failing LOCAL_INV waits for what was posted before it",
          "[engine][KEY-11][N-20]") {
    Lab lab;
    post(lab, WrOpcode::RdmaWrite, 8, 1);
    lab.post({.id = 2, .opcode = WrOpcode::LocalInv, .invalidate_rkey = {0x99}});
    post(lab, WrOpcode::RdmaWrite, 8, 3);
    CHECK(psns(lab.drain()) == Psns{2000});
    CHECK(lab.sends().empty());
    lab.receive(lab.ack(sq_psn, 1));
    const auto done = lab.sends();
    REQUIRE(done.size() == 3);
    CHECK(done[0].status == WcStatus::Success);
    CHECK(done[1].status == WcStatus::LocQpOpErr);
    CHECK(done[2].status == WcStatus::WrFlushErr);
}

TEST_CASE("invalidate: the requester's SEND brings the key with its last packet",
          "[engine][KEY-11]") {
    Lab lab;
    for (const std::uint32_t length : {0U, 100U, 2500U}) {
        INFO(length);
        Work work(lab, WrOpcode::SendWithInv, length, length);
        work.request.invalidate_rkey = {0xABCD1234};
        post(lab, work, {.solicited = true});
        const auto sent = lab.drain();
        const Sent& last = sent.back();
        const auto decoded = wire::decode_packet(last.bytes).value();
        CHECK(decoded.info().name == (length > 1024 ? "SEND_LAST_WITH_INV" : "SEND_ONLY_WITH_INV"));
        CHECK(decoded.ieth.rkey.value == 0xABCD1234);
        CHECK(decoded.bth.solicited);
        CHECK(sent.size() == (length > 1024 ? 3 : 1));
        lab.receive(lab.ack(decoded.bth.psn, 1));
        const auto done = lab.sends();
        REQUIRE(done.size() == 1);
        CHECK(done[0].opcode == WcOpcode::Send);
    }
}

TEST_CASE("invalidate: a SEND revokes the key after its data and tells the host",
          "[engine][KEY-11]") {
    Lab lab(with_bindable_region());
    const Bound bound(lab, part(lab, writable));
    lab.post_receive(3, 2048);
    wire::Packet first = lab.packet("SEND_FIRST", rq_psn);
    lab.receive(first, pattern(1024, 5));
    CHECK(lab.one().syndrome() == acked);
    wire::Packet last = lab.packet("SEND_LAST_WITH_INV", rq_psn + 1);
    last.ieth.rkey = bound.key;
    lab.receive(last, pattern(8, 6));
    const Sent ack = lab.one();
    CHECK(ack.syndrome() == acked);
    CHECK(ack.msn() == 1);
    const auto got = lab.receives();
    REQUIRE(got.size() == 1);
    CHECK(got[0].status == WcStatus::Success);
    CHECK(got[0].opcode == WcOpcode::Recv);
    CHECK(got[0].byte_len == 1032);
    CHECK(got[0].invalidated_rkey == bound.key);
    CHECK_FALSE(got[0].imm);
    CHECK(std::ranges::equal(lab.memory(0x8400, 8), pattern(8, 6)));
    // Its duplicate is acknowledged and revokes nothing: the key is gone already.
    lab.receive(last, pattern(8, 6));
    CHECK(lab.one().syndrome() == acked);
    CHECK(lab.state() == QpState::Rts);
    CHECK(answer_to_write(lab, bound.key, region_address + window_offset, 2) == access_nak);
}

TEST_CASE("invalidate: a key that may not be revoked ends the QP without a word",
          "[engine][KEY-11][N-07]") {
    const auto dies = [](auto key_of) {
        Lab lab(with_bindable_region());
        const Bound bound(lab, part(lab, writable));
        lab.post_receive(3, 64);
        lab.post_receive(4, 64);
        wire::Packet send = lab.packet("SEND_ONLY_WITH_INV", rq_psn);
        send.ieth.rkey = key_of(lab, bound);
        lab.receive(send, pattern(8));
        CHECK(lab.drain().empty()); // class J: no NAK
        CHECK(lab.state() == QpState::Err);
        const auto got = lab.receives();
        REQUIRE(got.size() == 2);
        CHECK(got[0].id == 3);
        CHECK(got[0].status == WcStatus::LocQpOpErr);
        CHECK_FALSE(got[0].invalidated_rkey);
        CHECK(got[1].status == WcStatus::WrFlushErr);
        lab.receive(send, pattern(8));
        CHECK(lab.drain().empty());
    };
    dies([](Lab&, const Bound&) { return wire::Rkey{0}; });
    dies([](Lab&, const Bound& bound) { return bound.window.rkey; });
    dies([](Lab& lab, const Bound&) { return lab.region.rkey; });
    dies([](Lab& lab, const Bound&) { // a window of type 1
        const auto window = lab.engine.allocate_window(lab.pd, WindowType::Type1).value();
        const auto key = lab.engine.bind_window(lab.qp, window.mw, part(lab, writable), 1).value();
        lab.drain();
        return key;
    });
}

TEST_CASE("invalidate: a READ whose window is revoked is not answered on",
          "[engine][N-23][RDR-13]") {
    LabOptions options = with_bindable_region();
    options.mtu = wire::Mtu::B256;
    Lab lab(options);
    const Bound bound(lab, part(lab, readable, 0x400));
    wire::Packet read = lab.packet("RDMA_READ_REQUEST", rq_psn);
    read.reth = {
        .virtual_address = region_address + window_offset, .rkey = bound.key, .dma_length = 0x400};
    lab.receive(read);
    REQUIRE(lab.engine.poll_transmit(lab.now));
    lab.post_receive(3, 64);
    wire::Packet send = lab.packet("SEND_ONLY_WITH_INV", rq_psn + 4);
    send.ieth.rkey = bound.key;
    lab.receive(send, pattern(8));
    const Sent nak = lab.one();
    CHECK(nak.syndrome() == access_nak);
    CHECK(nak.psn() == 1001);
}

TEST_CASE("invalidate: a SEND that revokes goes again like any other", "[engine][KEY-11][REQ-34]") {
    Lab lab;
    Work work(lab, WrOpcode::SendWithInv, 8, 1);
    work.request.invalidate_rkey = {0xABCD1234};
    post(lab, work);
    const auto before = lab.one().bytes;
    lab.next_deadline();
    CHECK(lab.one().bytes == before);
}
