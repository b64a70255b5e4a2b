// The contract's groups and the newer work requests on our engine.
#include "tests/conformance/dut/virtual_pair.hpp"

namespace {

using namespace veriroce;
using namespace veriroce::dut;
using namespace veriroce::dut::test;

constexpr std::int32_t bad_params = -32602;

// Carried out by side 0, and done.
Completion done(Connected& both, SendRequest request) {
    both.pair.call(0, PostSend{.qp = both.sides[0].qp.qp, .requests = {std::move(request)}});
    return both.completion(0);
}

void give_receive(Connected& both, std::uint64_t id) {
    both.pair.call(
        1, PostRecv{
               .qp = both.sides[1].qp.qp,
               .requests = {{.id = id,
                             .sge = {{.mr = both.sides[1].mr.mr, .offset = 4096, .length = 64}}}}});
}

SendRequest small(const Connected& both, std::uint64_t id, engine::WrOpcode opcode) {
    auto request = both.request(id, opcode);
    request.sge[0].length = 8;
    return request;
}

std::size_t events_of(Connected& both, std::size_t side, engine::EventType type) {
    std::size_t count = 0;
    for (const auto& event : both.pair.call(side, Events{}).events)
        count += event.type == type ? 1 : 0;
    return count;
}

} // namespace

TEST_CASE("engine device: it says what it has", "[dut]") {
    Pair pair;
    const auto welcome = pair.call(0, Hello{});
    for (const auto* word : {"rc", "read", "atomics", "imm", "send_inv", "flush", "atomic_write",
                             "sqd", "events", "notify", "srq", "mw", "congestion", "e2e_credits"}) {
        INFO(word);
        CHECK(std::ranges::count(welcome.capabilities, word) == 1);
    }
    CHECK(welcome.atomic == "HCA");
}

TEST_CASE("engine device: atomics, ATOMIC_WRITE and FLUSH go through", "[dut]") {
    Connected both;
    auto add = small(both, 1, engine::WrOpcode::AtomicFetchAndAdd);
    add.add = 5;
    const auto before = both.pair.call(1, MrRead{.mr = both.sides[1].mr.mr, .length = 8}).data;
    auto result = done(both, add);
    CHECK(result.status == engine::WcStatus::Success);
    CHECK(result.opcode == engine::WcOpcode::FetchAdd);
    CHECK(both.pair.call(0, MrRead{.mr = both.sides[0].mr.mr, .length = 8}).data == before);

    result = done(both, small(both, 2, engine::WrOpcode::AtomicWrite));
    CHECK(result.status == engine::WcStatus::Success);
    CHECK(both.pair.call(1, MrRead{.mr = both.sides[1].mr.mr, .length = 8}).data == before);

    auto flush = small(both, 3, engine::WrOpcode::Flush); // as long as its SGEs
    result = done(both, flush);
    CHECK(result.status == engine::WcStatus::Success);
    CHECK(result.opcode == engine::WcOpcode::Flush);
    flush.flush_selectivity = 1;
    flush.flush_length = 99'999;
    CHECK(done(both, flush).status == engine::WcStatus::Success);
    flush.flush_placement = 2; // no region here promises to persist
    CHECK(done(both, flush).status == engine::WcStatus::RemInvReqErr);
}

TEST_CASE("engine device: a CQ tells once that something came", "[dut][N-26]") {
    Connected both;
    const auto cq = both.sides[1].cq;
    CHECK_FALSE(both.pair.call(1, CqWait{.cq = cq}).notified);
    both.pair.call(1, CqArm{.cq = cq, .solicited = true});
    const auto parked = both.pair.submit(1, CqWait{.cq = cq, .wait_ms = 1000});
    give_receive(both, 1);
    give_receive(both, 2);
    CHECK(done(both, small(both, 1, engine::WrOpcode::Send)).status == engine::WcStatus::Success);
    CHECK_FALSE(both.pair.answered(1, parked));
    auto solicited = small(both, 2, engine::WrOpcode::Send);
    solicited.flags.solicited = true;
    CHECK(done(both, solicited).status == engine::WcStatus::Success);
    const auto answer = both.pair.wait(1, parked);
    REQUIRE(answer);
    CHECK(std::get<Notified>(*answer).notified);
    CHECK_FALSE(both.pair.call(1, CqWait{.cq = cq}).notified);
    CHECK(both.pair.refusal(1, CqArm{.cq = {77}}).code == bad_params);
    CHECK(both.pair.refusal(1, CqWait{.cq = {77}}).code == bad_params);
}

TEST_CASE("engine device: a shared receive queue, its limit and the last of it",
          "[dut][N-16][RNR-14]") {
    Connected both;
    auto& pair = both.pair;
    const auto srq = pair.call(1, SrqCreate{.pd = both.sides[1].pd, .depth = 4, .limit = 1}).srq;
    auto& mine = both.sides[1];
    pair.call(1, QpDestroy{.qp = mine.qp.qp});
    mine.qp = pair.call(1, QpCreate{.pd = mine.pd,
                                    .send_cq = mine.cq,
                                    .recv_cq = mine.cq,
                                    .srq = srq,
                                    .max_send = 16,
                                    .max_recv = 16});
    connect(pair, 1, mine, both.sides[0].qp.qpn);
    pair.call(0,
              QpModify{.qp = both.sides[0].qp.qp, .attributes = {.state = engine::QpState::Reset}});
    connect(pair, 0, both.sides[0], mine.qp.qpn);

    CHECK(pair.refusal(1, PostRecv{.qp = mine.qp.qp, .requests = {{.id = 1}}}).errno_name ==
          "EINVAL");
    const ReceiveRequest receive{.id = 5,
                                 .sge = {{.mr = mine.mr.mr, .offset = 4096, .length = 64}}};
    CHECK(pair.call(1, SrqPost{.srq = srq, .requests = {receive, receive}}).posted == 2);
    CHECK(done(both, small(both, 1, engine::WrOpcode::Send)).status == engine::WcStatus::Success);
    CHECK(both.completion(1).id == 5);
    CHECK(events_of(both, 1, engine::EventType::SrqLimitReached) == 0);
    CHECK(done(both, small(both, 2, engine::WrOpcode::Send)).status == engine::WcStatus::Success);
    const auto events = pair.call(1, Events{}).events;
    REQUIRE(events.size() == 1);
    CHECK(events[0].type == engine::EventType::SrqLimitReached);
    CHECK(events[0].srq == srq);
    pair.call(1, SrqModify{.srq = srq, .limit = 2});

    // Empty: the retries are used up.
    CHECK(done(both, small(both, 3, engine::WrOpcode::Send)).status ==
          engine::WcStatus::RnrRetryExcErr);
    pair.call(1, QpModify{.qp = mine.qp.qp, .attributes = {.state = engine::QpState::Err}});
    CHECK(events_of(both, 1, engine::EventType::LastWqeReached) == 1);

    const std::vector<ReceiveRequest> five(5, receive);
    const auto full = pair.refusal(1, SrqPost{.srq = srq, .requests = five});
    CHECK(full.errno_name == "ENOMEM");
    CHECK(full.posted == 4U);
    CHECK(pair.refusal(1, SrqModify{.srq = srq, .limit = 5}).errno_name == "EINVAL");
    CHECK(pair.refusal(1, SrqDestroy{.srq = srq}).errno_name == "EBUSY");
    pair.call(1, QpDestroy{.qp = mine.qp.qp});
    pair.call(1, SrqDestroy{.srq = srq});
    CHECK(pair.refusal(1, SrqPost{.srq = srq}).code == bad_params);
    CHECK(pair.refusal(1, SrqModify{.srq = srq}).code == bad_params);
    CHECK(pair.refusal(1, SrqDestroy{.srq = srq}).code == bad_params);
    CHECK(pair.refusal(1, SrqCreate{.pd = {77}, .depth = 1}).code == bad_params);
    CHECK(
        pair.refusal(1, QpCreate{.pd = mine.pd, .send_cq = mine.cq, .recv_cq = mine.cq, .srq = srq})
            .code == bad_params);
}

TEST_CASE("engine device: windows of both types, and keys that are revoked",
          "[dut][KEY-09][KEY-11]") {
    for (const std::uint8_t type : {std::uint8_t{1}, std::uint8_t{2}}) {
        INFO(unsigned{type});
        Connected both;
        auto& pair = both.pair;
        const auto& theirs = both.sides[1];
        const auto window = pair.call(1, MwAlloc{.pd = theirs.pd, .type = type});
        const MwBind bind{.qp = theirs.qp.qp,
                          .mw = window.mw,
                          .mr = theirs.mr.mr,
                          .offset = 64,
                          .length = 64,
                          .access = {.remote_write = true},
                          .id = 9};
        const auto key = pair.call(1, bind).rkey;
        CHECK(key.value == window.rkey.value + 1);
        const auto bound = both.completion(1);
        CHECK(bound.id == 9);
        CHECK(bound.opcode == engine::WcOpcode::BindMw);
        CHECK(pair.refusal(1, MrDeregister{.mr = theirs.mr.mr}).errno_name == "EBUSY");

        auto write = small(both, 1, engine::WrOpcode::RdmaWrite);
        write.rkey = key;
        write.remote_address = theirs.mr.address + 64;
        CHECK(done(both, write).status == engine::WcStatus::Success);

        give_receive(both, 3);
        auto revoke = small(both, 2, engine::WrOpcode::SendWithInv);
        revoke.invalidate_rkey = key;
        if (type == 2) {
            CHECK(done(both, revoke).status == engine::WcStatus::Success);
            const auto got = both.completion(1);
            CHECK(got.status == engine::WcStatus::Success);
            CHECK(got.invalidated_rkey == key);
            CHECK(done(both, write).status == engine::WcStatus::RemAccessErr);
        } else { // only type 2 can be revoked: no NAK and no further answer
            CHECK(done(both, revoke).status == engine::WcStatus::RetryExcErr);
            CHECK(both.completion(1).status == engine::WcStatus::LocQpOpErr);
        }
        pair.call(1, MwDealloc{.mw = window.mw});
        CHECK(pair.refusal(1, MwDealloc{.mw = window.mw}).code == bad_params);
        CHECK(pair.refusal(1, bind).code == bad_params);
        pair.call(1, MrDeregister{.mr = theirs.mr.mr});
    }
}

TEST_CASE("engine device: BIND_MW and LOCAL_INV as work requests", "[dut][KEY-09][KEY-11]") {
    Connected both;
    auto& pair = both.pair;
    const auto& mine = both.sides[0];
    const auto window = pair.call(0, MwAlloc{.pd = mine.pd, .type = 2});
    const SendRequest bind{.id = 1,
                           .opcode = engine::WrOpcode::BindMw,
                           .rkey = wire::Rkey{window.rkey.value | 0xEE},
                           .mw = window.mw,
                           .bind = Bind{.mr = mine.mr.mr, .offset = 0, .length = 8},
                           .flags = {.signaled = true}};
    CHECK(done(both, bind).opcode == engine::WcOpcode::BindMw);
    const auto local_inv = [&](wire::Rkey key) {
        return done(both, {.id = 2,
                           .opcode = engine::WrOpcode::LocalInv,
                           .sge = {{.mr = mine.mr.mr, .length = 64}}, // not looked at
                           .invalidate_rkey = key,
                           .flags = {.signaled = true}});
    };
    CHECK(local_inv({window.rkey.value | 0xEE}).opcode == engine::WcOpcode::LocalInv);

    const auto refusal = [&](const SendRequest& request) {
        return pair.refusal(0, PostSend{.qp = mine.qp.qp, .requests = {request}});
    };
    CHECK(refusal({.opcode = engine::WrOpcode::BindMw}) == invalid("BIND_MW needs mw and bind"));
    auto wrong = bind;
    wrong.mw = MwHandle{77};
    CHECK(refusal(wrong) == invalid("mw: unknown handle 77"));
    wrong = bind;
    wrong.bind->mr = MrHandle{77};
    CHECK(refusal(wrong) == invalid("bind.mr: unknown handle 77"));
    const auto type1 = pair.call(0, MwAlloc{.pd = mine.pd, .type = 1});
    wrong = bind;
    wrong.mw = type1.mw;
    CHECK(refusal(wrong).errno_name == "EINVAL");
    CHECK(pair.refusal(0, MwAlloc{.pd = mine.pd, .type = 3}).code == bad_params);
    CHECK(pair.refusal(0, MwAlloc{.pd = {77}, .type = 1}).code == bad_params);

    CHECK(local_inv(mine.mr.rkey).status == engine::WcStatus::LocQpOpErr);
    pair.call(0, Reset{}); // takes windows and regions in an order that works
    CHECK(pair.refusal(0, MwDealloc{.mw = window.mw}).code == bad_params);
}

TEST_CASE("engine device: congestion management is set until reset", "[dut]") {
    Pair pair;
    const auto before = pair.call(0, CongestionGet{});
    CHECK(pair.call(0, Hello{}).congestion == before);
    CHECK(before ==
          CongestionSettings{.np = true, .rp = false, .cnp_interval_us = 50, .cnp_dscp = 48});
    const CongestionSettings wanted{.np = false, .rp = true, .cnp_interval_us = 7, .cnp_dscp = 3};
    CHECK(pair.call(0, CongestionSet{.settings = wanted}) == wanted);
    CHECK(pair.call(0, CongestionSet{.settings = {.np = true}}).cnp_dscp == 3);
    CHECK(pair.refusal(0, CongestionSet{.settings = {.cnp_dscp = 64}}).errno_name == "EINVAL");
    pair.call(0, Reset{});
    CHECK(pair.call(0, CongestionGet{}) == before);
}
