// The contract on our engine: two devices joined by a link in virtual time.
#include "tests/conformance/dut/virtual_pair.hpp"

namespace {

using namespace veriroce;
using namespace veriroce::dut;
using namespace std::chrono_literals;

using namespace veriroce::dut::test;

} // namespace

TEST_CASE("virtual dut: hello tells the port and the engine's limits", "[dut]") {
    Pair pair;
    const auto welcome = pair.call(0, Hello{});
    CHECK(welcome.backend == "engine");
    REQUIRE(welcome.ports.size() == 1);
    CHECK(welcome.ports[0].mac == macs[0]);
    REQUIRE(welcome.ports[0].gids.size() == 2);
    CHECK(welcome.ports[0].gids[0].address == addresses[0]);
    CHECK(std::ranges::count(welcome.capabilities, "ipv6") == 1);
    CHECK(welcome.max.qp_wr > 0);
}

TEST_CASE("virtual dut: a SEND arrives, both ends complete, a waiting poll is answered", "[dut]") {
    Connected both;
    auto& pair = both.pair;
    const auto parked = pair.submit(1, Poll{.cq = both.sides[1].cq, .max = 8, .wait_ms = 1000});
    pair.settle();
    CHECK_FALSE(pair.answered(1, parked));
    CHECK(pair.call(1, PostRecv{.qp = both.sides[1].qp.qp,
                                .requests = {{.id = ~std::uint64_t{0},
                                              .sge = {{.mr = both.sides[1].mr.mr,
                                                       .offset = 1000,
                                                       .length = 7192}}}}})
              .posted == 1);
    auto send = both.request(7, engine::WrOpcode::SendWithImm);
    send.imm = 0x01020304;
    const auto before = pair.now();
    CHECK(pair.call(0, PostSend{.qp = both.sides[0].qp.qp, .requests = {send}}).posted == 1);

    const auto answer = pair.wait(1, parked);
    REQUIRE(answer);
    const auto& polled = std::get<Polled>(*answer);
    REQUIRE(polled.completions.size() == 1);
    const auto& received = polled.completions[0];
    CHECK(received.id == ~std::uint64_t{0});
    CHECK(received.qp == both.sides[1].qp.qp);
    CHECK(received.queue == engine::Queue::Receive);
    CHECK(received.status == engine::WcStatus::Success);
    CHECK(received.opcode == engine::WcOpcode::Recv);
    CHECK(received.byte_len == 5000);
    CHECK(received.imm == 0x01020304U);
    CHECK(received.at == before + sim::kLinkDelay); // when the last packet arrived, no later

    const auto sent = both.completion(0);
    CHECK(sent.id == 7);
    CHECK(sent.status == engine::WcStatus::Success);
    const auto data =
        pair.call(1, MrRead{.mr = both.sides[1].mr.mr, .offset = 1000, .length = 5000});
    CHECK_FALSE(pattern_mismatch(data.data, Pattern::Offsets, 0, 0));
}

TEST_CASE("virtual dut: WRITE and READ move data and leave the guards alone", "[dut]") {
    Connected both;
    auto& pair = both.pair;
    const auto qp = both.sides[0].qp.qp;
    pair.call(0, PostSend{.qp = qp, .requests = {both.request(1, engine::WrOpcode::RdmaWrite)}});
    CHECK(both.completion(0).status == engine::WcStatus::Success);
    const auto mine =
        pair.call(0, MrDigest{.mr = both.sides[0].mr.mr, .offset = 0, .length = 5000});
    const auto theirs =
        pair.call(1, MrDigest{.mr = both.sides[1].mr.mr, .offset = 0, .length = 5000});
    CHECK(mine == theirs);
    CHECK(theirs.guards_intact);

    pair.call(1, MrFill{.mr = both.sides[1].mr.mr,
                        .offset = 0,
                        .length = 8192,
                        .pattern = Pattern::Random,
                        .key = 5});
    pair.call(0, PostSend{.qp = qp, .requests = {both.request(2, engine::WrOpcode::RdmaRead)}});
    CHECK(both.completion(0).status == engine::WcStatus::Success);
    const auto data = pair.call(0, MrRead{.mr = both.sides[0].mr.mr, .offset = 0, .length = 5000});
    CHECK_FALSE(pattern_mismatch(data.data, Pattern::Random, 0, 5));
}

TEST_CASE("virtual dut: an lkey is overridden, however wrong", "[dut]") {
    Connected both;
    auto send = both.request(1, engine::WrOpcode::RdmaWrite);
    send.sge[0].lkey = wire::Lkey{both.sides[0].mr.lkey.value ^ 0xFF00U};
    both.pair.call(0, PostSend{.qp = both.sides[0].qp.qp, .requests = {send}});
    CHECK(both.completion(0).status == engine::WcStatus::LocProtErr);
}

TEST_CASE("virtual dut: a wrong rkey ends both QPs", "[dut]") {
    Connected both;
    auto write = both.request(1, engine::WrOpcode::RdmaWrite);
    write.rkey = wire::Rkey{both.sides[1].mr.rkey.value ^ 0xFF00U};
    both.pair.call(0, PostSend{.qp = both.sides[0].qp.qp, .requests = {write}});
    CHECK(both.completion(0).status == engine::WcStatus::RemAccessErr);
    for (const std::size_t side : {0U, 1U}) {
        const auto report = both.pair.call(side, QpQuery{.qp = both.sides[side].qp.qp});
        CHECK(report.attributes.state == engine::QpState::Err);
    }
}

TEST_CASE("virtual dut: what was modified is what is queried", "[dut]") {
    Connected both;
    const auto report = both.pair.call(0, QpQuery{.qp = both.sides[0].qp.qp}).attributes;
    CHECK(report.state == engine::QpState::Rts);
    CHECK(report.path_mtu == wire::Mtu::B1024);
    CHECK(report.rq_psn == wire::Psn(100));
    CHECK(report.dest_qp_num == both.sides[1].qp.qpn);
    CHECK(report.pkey_index == 0);
    CHECK(report.port_num == 1);
    CHECK(report.timeout == 10);
    REQUIRE(report.address_vector);
    CHECK(report.address_vector->address == addresses[1]);
}

TEST_CASE("virtual dut: a second path is told, and is the first one after a migration",
          "[dut][N-24]") {
    Connected both;
    const auto told = [&] {
        return both.pair.call(0, QpQuery{.qp = both.sides[0].qp.qp}).attributes;
    };
    const auto modify = [&](std::size_t side, const QpAttributes& attributes) {
        return QpModify{.qp = both.sides[side].qp.qp, .attributes = attributes};
    };
    const auto path_to = [](std::size_t side) {
        return AddressVector{.address = addresses[side], .traffic_class = 32};
    };
    const auto refused = [&](const QpAttributes& attributes) {
        return both.pair.refusal(0, modify(0, attributes)).message;
    };
    CHECK(refused({.alt_timeout = 3}).contains("alt_ah_attr is missing"));
    CHECK(refused({.alt_address_vector = path_to(1), .alt_port_num = 2}).contains("alt_port_num"));
    CHECK(refused({.alt_address_vector = path_to(1), .alt_pkey_index = 9})
              .contains("alt_pkey_index"));
    CHECK(refused({.alt_address_vector = AddressVector{.gid_index = 9, .address = addresses[1]}})
              .contains("alt_ah_attr: the port has no GID"));

    for (const std::size_t side : {0U, 1U}) {
        both.pair.call(side, modify(side, {.alt_address_vector = path_to(1 - side),
                                           .alt_timeout = 7,
                                           .path_mig_state = engine::MigState::Rearm}));
    }
    CHECK(told().path_mig_state == engine::MigState::Rearm);
    CHECK(told().alt_address_vector == path_to(1));
    CHECK(told().alt_timeout == 7);
    CHECK(told().address_vector->traffic_class != 32);

    const auto write = both.request(1, engine::WrOpcode::RdmaWrite);
    both.pair.call(0, PostSend{.qp = both.sides[0].qp.qp, .requests = {write}});
    CHECK(both.completion(0).status == engine::WcStatus::Success);
    CHECK(told().path_mig_state == engine::MigState::Armed);
    both.pair.call(0, modify(0, {.path_mig_state = engine::MigState::Migrated}));
    CHECK(told().path_mig_state == engine::MigState::Migrated);
    CHECK(told().address_vector->traffic_class == 32);
    CHECK_FALSE(told().alt_address_vector);
    CHECK_FALSE(told().alt_timeout);

    both.pair.call(0, modify(0, {.alt_address_vector = path_to(1),
                                 .path_mig_state = engine::MigState::Rearm}));
    both.pair.call(0, modify(0, {.state = engine::QpState::Reset}));
    CHECK_FALSE(told().alt_address_vector);
    CHECK_FALSE(told().path_mig_state);
}

TEST_CASE("virtual dut: bad handles and ranges are -32602, refused verbs -32000", "[dut]") {
    Pair pair;
    const auto side = make_side(pair, 0);
    constexpr std::int32_t bad_value = -32602;
    CHECK(pair.refusal(0, PdDestroy{.pd = {77}}) == invalid("pd: unknown handle 77"));
    CHECK(pair.refusal(0, Poll{.cq = {0x1'0000'0001}}).code == bad_value);
    CHECK(pair.refusal(0, MrRead{.mr = {77}, .offset = 0, .length = 1}).code == bad_value);
    CHECK(pair.refusal(0, PostSend{.qp = {77}}).code == bad_value);
    CHECK(pair.refusal(0, PostSend{.qp = side.qp.qp, .requests = {{.sge = {{.mr = {77}}}}}}) ==
          invalid("sge.mr: unknown handle 77"));

    const auto busy = pair.refusal(0, PdDestroy{.pd = side.pd});
    CHECK(busy.refused());
    CHECK(busy.verb == "pd_destroy");
    CHECK(busy.errno_name == "EBUSY");
    const auto jump =
        pair.refusal(0, QpModify{.qp = side.qp.qp, .attributes = {.state = engine::QpState::Rts}});
    CHECK(jump.verb == "qp_modify");
    CHECK(jump.errno_name == "EINVAL");
    const auto family =
        pair.refusal(0, QpModify{.qp = side.qp.qp,
                                 .attributes = {.address_vector = AddressVector{
                                                    .gid_index = 1, .address = addresses[1]}}});
    CHECK(family.message == "ah_attr: GID and address are of two families");
    const auto no_gid =
        pair.refusal(0, QpModify{.qp = side.qp.qp,
                                 .attributes = {.address_vector = AddressVector{
                                                    .gid_index = 9, .address = addresses[1]}}});
    CHECK(no_gid.message == "ah_attr: the port has no GID 9");
}

TEST_CASE("virtual dut: a chain is taken up to the first request that is refused", "[dut]") {
    Pair pair;
    const auto side = make_side(pair, 0);
    connect(pair, 0, side, wire::Qpn{0x77});
    std::vector<SendRequest> chain(20, {.opcode = engine::WrOpcode::RdmaWrite});
    const auto refused = pair.refusal(0, PostSend{.qp = side.qp.qp, .requests = chain});
    CHECK(refused.errno_name == "ENOMEM");
    CHECK(refused.posted == 16U);
}

TEST_CASE("virtual dut: reset and the limits of the agent", "[dut]") {
    Pair pair;
    auto side = make_side(pair, 0);
    pair.call(0, Reset{});
    CHECK(pair.refusal(0, PdDestroy{.pd = side.pd}).code == -32602);
    CHECK(pair.refusal(0, QpQuery{.qp = side.qp.qp}).code == -32602);
    side = make_side(pair, 0); // all is free again
    CHECK(pair.call(0, QpQuery{.qp = side.qp.qp}).attributes.state == engine::QpState::Reset);

    // One page and its two guards.
    const auto small =
        make_device(0, {.registered_bytes = std::uint64_t{3} * 4096, .qps = 1, .objects = 3});
    const auto ask = [&](Request request) {
        small->submit(std::move(request), {});
        return small->poll({})->answer;
    };
    const auto pd = std::get<PdCreated>(*ask(PdCreate{})).pd;
    const auto cq = std::get<CqCreated>(*ask(CqCreate{.depth = 4})).cq;
    const auto mr = std::get<MrRegistered>(*ask(MrRegister{.pd = pd, .length = 4096})).mr;
    CHECK(ask(MrRegister{.pd = pd, .length = 1}).error().errno_name == "ENOMEM");
    CHECK(ask(MrRegister{.pd = pd, .length = 0}).error().errno_name == "ENOMEM");
    REQUIRE(ask(MrDeregister{.mr = mr}));
    CHECK(ask(MrRegister{.pd = pd, .length = 4097}).error().errno_name == "ENOMEM");
    CHECK(ask(MrRegister{.pd = pd, .length = 1}));
    CHECK(ask(MrRegister{.pd = pd, .length = 1}).error().errno_name == "ENOMEM");
    const QpCreate create{.pd = pd, .send_cq = cq, .recv_cq = cq, .max_send = 1, .max_recv = 1};
    const auto qp = std::get<QpCreated>(*ask(create)).qp;
    CHECK(ask(create).error().errno_name == "ENOMEM");
    REQUIRE(ask(QpDestroy{.qp = qp}));
    CHECK(ask(create));
    // The PD, the CQ, and a third object of any kind.
    for (const Request& third :
         {Request(PdCreate{}), Request(CqCreate{.depth = 4}),
          Request(SrqCreate{.pd = pd, .depth = 4}), Request(MwAlloc{.pd = pd, .type = 2})}) {
        const auto made = ask(third);
        REQUIRE(made);
        CHECK(ask(PdCreate{}).error().errno_name == "ENOMEM");
        CHECK(ask(MwAlloc{.pd = pd, .type = 2}).error().errno_name == "ENOMEM");
        if (const auto* made_pd = std::get_if<PdCreated>(&*made)) {
            REQUIRE(ask(PdDestroy{.pd = made_pd->pd}));
        } else if (const auto* made_cq = std::get_if<CqCreated>(&*made)) {
            REQUIRE(ask(CqDestroy{.cq = made_cq->cq}));
        } else if (const auto* made_srq = std::get_if<SrqCreated>(&*made)) {
            REQUIRE(ask(SrqDestroy{.srq = made_srq->srq}));
        } else {
            REQUIRE(ask(MwDealloc{.mw = std::get<MwAllocated>(*made).mw}));
        }
    }
    // What failed, and what could not be destroyed, counts as before.
    CHECK_FALSE(ask(PdDestroy{.pd = pd}));
    CHECK_FALSE(ask(CqCreate{.depth = 0}));
    CHECK(ask(PdCreate{}));
    CHECK_FALSE(ask(PdCreate{}));
    REQUIRE(ask(Reset{}));
    for (int i = 0; i < 3; ++i)
        CHECK(ask(PdCreate{}));
    CHECK_FALSE(ask(PdCreate{}));
}

TEST_CASE("virtual dut: the largest region that it reports can be registered", "[dut]") {
    const auto device = make_device(0, {.registered_bytes = 1'000'000});
    const auto ask = [&](Request request) {
        device->submit(std::move(request), {});
        return device->poll({})->answer;
    };
    const auto most = std::get<Welcome>(*ask(Hello{})).max.mr_bytes;
    const auto pd = std::get<PdCreated>(*ask(PdCreate{})).pd;
    CHECK_FALSE(ask(MrRegister{.pd = pd, .length = most + 1}));
    CHECK(ask(MrRegister{.pd = pd, .length = most}));
}

TEST_CASE("virtual dut: the caller chooses where a region begins", "[dut]") {
    const auto device = make_device(0, {});
    const auto register_at = [&](std::uint64_t iova, engine::Access access = {}) {
        device->submit(PdCreate{}, {});
        const auto pd = std::get<PdCreated>(*device->poll({})->answer).pd;
        device->submit(MrRegister{.pd = pd, .length = 8192, .access = access, .iova = iova}, {});
        return device->poll({})->answer;
    };
    for (const std::uint64_t iova :
         {std::uint64_t{0}, 0x1'0000'0000 - std::uint64_t{4096}, 0 - std::uint64_t{8192}}) {
        CHECK(std::get<MrRegistered>(*register_at(iova)).address == iova);
    }
    constexpr int invalid = -32602;
    CHECK(register_at(1).error().code == invalid);
    CHECK(register_at(4096, {.zero_based = true}).error().code == invalid);
    CHECK_FALSE(register_at(0 - std::uint64_t{4096})); // it would wrap past 2^64
}

TEST_CASE("virtual dut: nobody answers, the retries are used up, the time is virtual", "[dut]") {
    Connected both;
    both.pair.call(1, QpDestroy{.qp = both.sides[1].qp.qp});
    const auto before = both.pair.frames;
    auto write = both.request(1, engine::WrOpcode::RdmaWrite);
    write.sge[0].length = 4;
    both.pair.call(0, PostSend{.qp = both.sides[0].qp.qp, .requests = {write}});
    CHECK(both.completion(0).status == engine::WcStatus::RetryExcErr);
    CHECK(both.pair.frames - before == 3); // once, and retry_cnt times more
    // TMO: each wait is between T and 4 T; T is 4.096 us * 2^10.
    CHECK(both.pair.now() - wire::Instant{} >= 3 * 4194304ns);
    CHECK(both.pair.now() - wire::Instant{} <= 3 * 4 * 4194304ns);
}

TEST_CASE("virtual dut: equal runs give equal packets and addresses", "[dut]") {
    Connected one;
    Connected other;
    CHECK(one.sides[0].mr == other.sides[0].mr);
    CHECK(one.sides[0].mr.address == 0x10'0000'0000 - 4096);
    CHECK(one.sides[1].qp == other.sides[1].qp);
}

TEST_CASE("virtual dut: a filter hides completions", "[dut]") {
    struct Deaf final : engine::SurfaceFilter {
        std::optional<engine::Completion> completion(const engine::Completion& /*seen*/) override {
            return std::nullopt;
        }
    };
    engine::Engine engine{engine::Config{}};
    Budget budget{AgentLimits{}};
    Deaf deaf;
    EngineDevice device(engine, budget, {.addresses = {addresses[0]}}, &deaf);
    const auto ask = [&](const Request& request) { return *device.execute(request, {}); };
    const auto pd = std::get<PdCreated>(ask(PdCreate{})).pd;
    const auto cq = std::get<CqCreated>(ask(CqCreate{.depth = 4})).cq;
    const auto qp = std::get<QpCreated>(ask(QpCreate{.pd = pd, .send_cq = cq, .recv_cq = cq})).qp;
    ask(QpModify{.qp = qp,
                 .attributes = {.state = engine::QpState::Init,
                                .access = engine::Access{},
                                .pkey_index = 0,
                                .port_num = 1}});
    ask(PostRecv{.qp = qp, .requests = {{.id = 1}}});
    ask(QpModify{.qp = qp, .attributes = {.state = engine::QpState::Err}});
    CHECK(std::get<Polled>(ask(Poll{.cq = cq})).completions.empty());
}
