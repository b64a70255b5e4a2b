// Memory windows: bound by verb and by work request, used and misused from afar.
#include "tests/transport/engine/windows.hpp"

using namespace veriroce;
using namespace veriroce::engine;
using namespace veriroce::engine::test;

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
