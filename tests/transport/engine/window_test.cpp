// Memory windows and the revoking of keys: bound by verb and by work request, used and misused from
// afar, revoked at home and by a SEND.
#include "tests/transport/engine/requests.hpp"

using namespace veriroce;
using namespace veriroce::engine;
using namespace veriroce::engine::test;

namespace {

constexpr Access bindable{.local_write = true, .mw_bind = true};
constexpr Access writable{.remote_write = true};
constexpr Access readable{.remote_read = true};
constexpr std::uint64_t window_offset = 0x1000;
constexpr std::uint64_t window_bytes = 0x100;

// A region that may be bound to and grants nothing by itself.
LabOptions with_bindable_region() {
    LabOptions options;
    options.region_access = bindable;
    return options;
}

BindInfo part(const Lab& lab, Access access, std::uint64_t length = window_bytes) {
    return {.mr = lab.region.mr,
            .address = region_address + window_offset,
            .length = length,
            .access = access};
}

wire::Rkey variant(wire::Rkey key, std::uint32_t step = 1) {
    return {(key.value & ~0xFFU) | ((key.value + step) & 0xFFU)};
}

SendRequest bind_request(const Engine::Window& window, wire::Rkey key, const BindInfo& what) {
    return {.id = 7, .opcode = WrOpcode::BindMw, .rkey = key, .mw = window.mw, .bind = what};
}

void check_done(Lab& lab, WcOpcode opcode, WcStatus status = WcStatus::Success) {
    const auto done = lab.sends();
    REQUIRE(done.size() == 1);
    CHECK(done[0].id == 7);
    CHECK(done[0].status == status);
    if (status == WcStatus::Success) CHECK(done[0].opcode == opcode);
    CHECK(lab.state() == (status == WcStatus::Success ? QpState::Rts : QpState::Err));
}

// A window of type 2 that the lab's QP has bound.
struct Bound {
    Engine::Window window;
    wire::Rkey key;

    Bound(Lab& lab, const BindInfo& what)
        : window(lab.engine.allocate_window(lab.pd, WindowType::Type2).value()),
          key(variant(window.rkey)) {
        lab.post(bind_request(window, key, what));
        CHECK(lab.drain().empty()); // nothing goes out
        check_done(lab, WcOpcode::BindMw);
    }
};

// The syndrome that answers a WRITE of 8 bytes.
std::uint8_t answer_to_write(Lab& lab, wire::Rkey key, std::uint64_t address, int n = 0) {
    wire::Packet write = lab.packet("RDMA_WRITE_ONLY", rq_psn + n);
    write.reth = {.virtual_address = address, .rkey = key, .dma_length = 8};
    lab.receive(write, pattern(8, 3));
    return lab.one().syndrome();
}

constexpr std::uint8_t acked = 0x1F;
constexpr std::uint8_t access_nak = 0x62;

} // namespace

TEST_CASE("window: type 1 is bound by the verb and opens its part of the region alone",
          "[engine][KEY-09]") {
    Lab lab(with_bindable_region());
    const auto window = lab.engine.allocate_window(lab.pd, WindowType::Type1).value();
    const auto key = lab.engine.bind_window(lab.qp, window.mw, part(lab, writable), 7);
    REQUIRE(key);
    CHECK(*key == variant(window.rkey));
    CHECK(lab.drain().empty());
    check_done(lab, WcOpcode::BindMw);
    const std::uint64_t address = region_address + window_offset;
    CHECK(answer_to_write(lab, *key, address) == acked);
    CHECK(std::ranges::equal(lab.memory(window_offset, 8), pattern(8, 3)));
    CHECK(answer_to_write(lab, *key, address + window_bytes - 8, 1) == acked);
    CHECK(answer_to_write(lab, *key, address + window_bytes - 7, 2) == access_nak);
}

TEST_CASE("window: what no bind has opened stays shut", "[engine][KEY-08][KEY-09]") {
    const std::uint64_t address = region_address + window_offset;
    for (const WindowType type : {WindowType::Type1, WindowType::Type2}) {
        Lab lab(with_bindable_region());
        const auto window = lab.engine.allocate_window(lab.pd, type).value();
        CHECK(answer_to_write(lab, window.rkey, address) == access_nak);
    }
    { // the key before the bind is stale
        Lab lab(with_bindable_region());
        const Bound bound(lab, part(lab, writable));
        CHECK(answer_to_write(lab, bound.window.rkey, address) == access_nak);
    }
    { // a right that the bind did not give, and one that the QP has and the window not
        Lab lab(with_bindable_region());
        const Bound bound(lab, part(lab, readable));
        CHECK(answer_to_write(lab, bound.key, address) == access_nak);
    }
    { // freed
        Lab lab(with_bindable_region());
        const Bound bound(lab, part(lab, writable));
        REQUIRE(lab.engine.free_window(bound.window.mw));
        CHECK(answer_to_write(lab, bound.key, address) == access_nak);
    }
}

TEST_CASE("window: one that grants reading needs no right of the region but to bind",
          "[engine][KEY-09]") {
    LabOptions options;
    options.region_access = {.mw_bind = true};
    Lab lab(options);
    const Bound bound(lab, part(lab, readable));
    wire::Packet read = lab.packet("RDMA_READ_REQUEST", rq_psn);
    read.reth = {.virtual_address = region_address + window_offset,
                 .rkey = bound.key,
                 .dma_length = window_bytes};
    lab.receive(read);
    const Sent answer = lab.one();
    CHECK(answer.name() == "RDMA_READ_RESPONSE_ONLY");
    CHECK(std::ranges::equal(answer.packet.payload(), lab.memory(window_offset, window_bytes)));
}

TEST_CASE("window: an atomic through a window, and a window that counts from zero",
          "[engine][KEY-09]") {
    Lab lab(with_bindable_region());
    const Bound bound(lab, part(lab, {.remote_atomic = true, .zero_based = true}));
    wire::Packet add = lab.packet("FETCH_ADD", rq_psn);
    add.atomic = {.virtual_address = 16, .rkey = bound.key, .swap_or_add = 5};
    const std::uint64_t before = lab.number(window_offset + 16);
    lab.receive(add);
    CHECK(lab.one().packet.atomic_ack.original == before);
    CHECK(lab.number(window_offset + 16) == before + 5);
    // The region's own addresses mean nothing to it.
    CHECK(answer_to_write(lab, bound.key, region_address + window_offset, 1) == access_nak);
}

TEST_CASE("window: type 2 serves the QP that bound it and no other", "[engine][KEY-09]") {
    Lab lab(with_bindable_region());
    const Bound bound(lab, part(lab, writable));
    const QpId other =
        lab.another({.pd = lab.pd, .send_cq = lab.send_cq, .recv_cq = lab.receive_cq});
    wire::Packet write = lab.packet("RDMA_WRITE_ONLY", rq_psn);
    write.bth.dest_qp = lab.engine.query_qp(other)->qpn;
    write.reth = {
        .virtual_address = region_address + window_offset, .rkey = bound.key, .dma_length = 8};
    lab.receive(write, pattern(8));
    CHECK(lab.one().syndrome() == access_nak);
    CHECK(lab.engine.query_qp(other)->state == QpState::Err);
    CHECK(answer_to_write(lab, bound.key, region_address + window_offset) == acked);

    // It goes with its QP, and the region is free again.
    CHECK(lab.engine.deregister_region(lab.region.mr).error() == VerbError::Busy);
    REQUIRE(lab.engine.destroy_qp(lab.qp));
    CHECK(lab.engine.deregister_region(lab.region.mr));
}

TEST_CASE("window: its key is no lkey", "[engine][KEY-09][KEY-12]") {
    Lab lab(with_bindable_region());
    const Bound bound(lab, part(lab, writable));
    Work work(lab, WrOpcode::RdmaWrite, 8, 7);
    work.sges[0].address = region_address + window_offset;
    work.sges[0].lkey = {bound.key.value};
    post(lab, work);
    CHECK(lab.drain().empty());
    check_done(lab, WcOpcode::RdmaWrite, WcStatus::LocProtErr);
}

TEST_CASE("window: what may not be bound fails with MW_BIND_ERR and ends the QP",
          "[engine][KEY-09]") {
    const auto fails = [](const LabOptions& options, auto change) {
        Lab lab(options);
        const auto window = lab.engine.allocate_window(lab.pd, WindowType::Type2).value();
        SendRequest request = bind_request(window, variant(window.rkey), part(lab, writable));
        change(lab, request);
        lab.post(request);
        CHECK(lab.drain().empty());
        check_done(lab, WcOpcode::BindMw, WcStatus::MwBindErr);
        CHECK(lab.engine.deregister_region(lab.region.mr)); // nothing is bound to it
    };
    const LabOptions good = with_bindable_region();
    fails(good, [](Lab&, SendRequest& r) { r.bind->length = region_bytes; });
    fails(good, [](Lab&, SendRequest& r) { r.bind->length = 0; });
    fails(good, [](Lab&, SendRequest& r) { r.bind->address = region_address - 1; });
    fails(good, [](Lab&, SendRequest& r) { r.bind->mr = MrId{99}; });
    fails(good, [](Lab&, SendRequest& r) { r.rkey.value += 0x100; });
    fails(good, [](Lab& lab, SendRequest& r) { // another domain's window
        const auto window =
            lab.engine.allocate_window(lab.engine.create_pd().value(), WindowType::Type2).value();
        r.mw = window.mw;
        r.rkey = variant(window.rkey);
    });
    LabOptions no_bind;
    fails(no_bind, [](Lab&, SendRequest&) {});
    LabOptions not_writable;
    not_writable.region_access = {.mw_bind = true};
    fails(not_writable, [](Lab&, SendRequest&) {});
    LabOptions zero_based = good;
    zero_based.region_access.zero_based = true;
    fails(zero_based, [](Lab&, SendRequest& r) { r.bind->address = window_offset; });
}

TEST_CASE("window: type 2 is revoked before it is bound again, type 1 is not", "[engine][KEY-09]") {
    {
        Lab lab(with_bindable_region());
        const Bound bound(lab, part(lab, writable));
        lab.post(bind_request(bound.window, variant(bound.key), part(lab, writable)));
        lab.drain();
        check_done(lab, WcOpcode::BindMw, WcStatus::MwBindErr);
    }
    Lab lab(with_bindable_region());
    const auto window = lab.engine.allocate_window(lab.pd, WindowType::Type1).value();
    const auto first = lab.engine.bind_window(lab.qp, window.mw, part(lab, writable), 1).value();
    const auto second = lab.engine.bind_window(lab.qp, window.mw, part(lab, writable), 2).value();
    CHECK(second == variant(first));
    CHECK(lab.engine.deregister_region(lab.region.mr)); // neither bind was carried out yet
    CHECK(lab.drain().empty());
    CHECK(lab.sends()[0].status == WcStatus::MwBindErr);
}

TEST_CASE("window: type 1 bound to no bytes opens nothing and holds nothing", "[engine][KEY-09]") {
    Lab lab(with_bindable_region());
    const auto window = lab.engine.allocate_window(lab.pd, WindowType::Type1).value();
    (void)lab.engine.bind_window(lab.qp, window.mw, part(lab, writable), 1);
    lab.drain();
    CHECK(lab.engine.deregister_region(lab.region.mr).error() == VerbError::Busy);
    const auto key = lab.engine.bind_window(lab.qp, window.mw, part(lab, writable, 0), 2).value();
    lab.drain();
    REQUIRE(lab.sends().size() == 2);
    CHECK(answer_to_write(lab, key, region_address + window_offset) == access_nak);
    CHECK(lab.engine.deregister_region(lab.region.mr));
}

TEST_CASE("window: verbs refuse what is not theirs", "[engine][KEY-09]") {
    Config config;
    config.limits.windows = 2;
    LabOptions options = with_bindable_region();
    options.config = config;
    Lab lab(options);
    const auto one = lab.engine.allocate_window(lab.pd, WindowType::Type1).value();
    const auto two = lab.engine.allocate_window(lab.pd, WindowType::Type2).value();
    CHECK(lab.engine.allocate_window(lab.pd, WindowType::Type2).error() == VerbError::NoMemory);
    CHECK(lab.engine.allocate_window(PdId{9}, WindowType::Type1).error() == VerbError::NotFound);
    const BindInfo what = part(lab, writable);
    CHECK(lab.engine.bind_window(lab.qp, two.mw, what, 1).error() == VerbError::InvalidArgument);
    CHECK(lab.engine.bind_window(lab.qp, MwId{9}, what, 1).error() == VerbError::NotFound);
    CHECK(lab.engine.bind_window(QpId{9}, one.mw, what, 1).error() == VerbError::NotFound);
    const auto refusal = [&lab](const SendRequest& request) {
        return lab.engine.post_send(lab.qp, std::span(&request, 1), lab.now).refused;
    };
    CHECK(refusal(bind_request(one, one.rkey, what)) == VerbError::InvalidArgument);
    CHECK(refusal(bind_request({.mw = MwId{9}}, one.rkey, what)) == VerbError::NotFound);
    CHECK(refusal({.opcode = WrOpcode::BindMw}) == VerbError::InvalidArgument);
    CHECK(lab.engine.free_window(MwId{9}).error() == VerbError::NotFound);
    REQUIRE(lab.engine.free_window(one.mw));
    CHECK(lab.engine.free_window(one.mw).error() == VerbError::NotFound);
    // A domain with a window left in it stays.
    REQUIRE(lab.engine.destroy_qp(lab.qp));
    REQUIRE(lab.engine.deregister_region(lab.region.mr));
    CHECK(lab.engine.destroy_pd(lab.pd).error() == VerbError::Busy);
    REQUIRE(lab.engine.free_window(two.mw));
    CHECK(lab.engine.destroy_pd(lab.pd));
}

TEST_CASE("window: a key that was promised is not given to the next one", "[engine][KEY-08]") {
    Lab lab(with_bindable_region());
    const auto window = lab.engine.allocate_window(lab.pd, WindowType::Type1).value();
    const auto key = lab.engine.bind_window(lab.qp, window.mw, part(lab, writable), 1).value();
    REQUIRE(lab.engine.free_window(window.mw));
    const auto next = lab.engine.allocate_window(lab.pd, WindowType::Type1).value();
    CHECK(next.rkey == variant(key));
}

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
