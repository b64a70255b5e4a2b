// Asynchronous events: those with a cause pass once, all others are found.
#include <catch2/catch.hpp>

#include "tests/conformance/model/owner_scene.hpp"

namespace veriroce::model::test {
namespace {

using Type = wire::EventType;

void raised(OwnerScene& scene, const std::vector<Type>& types) {
    dut::EventList list;
    for (const Type type : types)
        list.events.push_back({.type = type, .qp = OwnerScene::qp});
    scene.now += std::chrono::seconds(1);
    scene.call(dut::Events{}, list);
}

// The device refuses a WRITE, and then tells of these.
std::string after_refusal(wire::NakCode code, const std::vector<Type>& types) {
    OwnerScene scene;
    scene.story.setting.dut.capabilities = {"events"};
    // A wrong key and a wrong length.
    scene.sent("RDMA_WRITE_ONLY", 0, OwnerScene::data(8), [](wire::Packet& packet) {
        packet.reth = {.virtual_address = OwnerScene::address, .rkey = {1}, .dma_length = 16};
    });
    scene.refused(0, code);
    raised(scene, types);
    return scene.found();
}

} // namespace

TEST_CASE("events: a refused request raises one event of its kind", "[model][N-13]") {
    using enum wire::NakCode;
    CHECK(after_refusal(RemoteAccess, {Type::QpAccessErr}) == "");
    CHECK(after_refusal(InvalidRequest, {Type::QpReqErr}) == "");
    CHECK(after_refusal(RemoteAccess, {Type::QpAccessErr, Type::QpAccessErr}) ==
          "N-13 event (should)");
    CHECK(after_refusal(RemoteAccess, {Type::QpReqErr}) == "N-13 event (should)");
}

TEST_CASE("events: a refused request without a receive must raise one", "[model][N-13]") {
    using enum wire::NakCode;
    CHECK(after_refusal(RemoteAccess, {}) == "N-13 event (should)");
    CHECK(after_refusal(InvalidRequest, {}) == "N-13 event (should)");
    // Another receive may have failed.
    CHECK(after_refusal(RemoteOperational, {}) == "LEN-04 code");
}

TEST_CASE("events: each needs a cause", "[model][STA-04][N-13][N-16][N-24][N-25]") {
    const auto alone = [](Type type) {
        OwnerScene scene;
        raised(scene, {type});
        return scene.found();
    };
    CHECK(alone(Type::CommEst) == "STA-04 event");
    CHECK(alone(Type::QpReqErr) == "N-13 event");
    CHECK(alone(Type::QpAccessErr) == "N-13 event");
    CHECK(alone(Type::LastWqeReached) == "N-16 event");
    CHECK(alone(Type::PathMig) == "N-24 event");
    CHECK(alone(Type::SqDrained) == "N-25 event");
    CHECK(alone(Type::QpFatal) == "");
    const auto drained = [](bool asks) {
        OwnerScene scene;
        scene.call(
            dut::QpModify{.qp = OwnerScene::qp,
                          .attributes = {.state = wire::QpState::Sqd, .en_sqd_async_notify = asks}},
            dut::Done{});
        raised(scene, {Type::SqDrained});
        return scene.found();
    };
    CHECK(drained(true) == "");
    CHECK(drained(false) == "N-25 event (should)");
}

TEST_CASE("events: a completion queue fails only when it is full", "[model][KEY-13]") {
    const auto found = [](std::uint32_t posts) {
        OwnerScene scene;
        for (std::uint32_t i = 0; i < posts; ++i)
            scene.receive(i, 0, 8);
        dut::EventList list;
        list.events.push_back({.type = Type::CqErr, .cq = OwnerScene::cq});
        scene.call(dut::Events{}, list);
        return scene.found();
    };
    CHECK(found(1) == "KEY-13 event");
    CHECK(found(65) == "");
}

TEST_CASE("events: the limit of a shared queue is told", "[model][N-16]") {
    const auto found = [](std::uint32_t limit, std::size_t posted, bool told) {
        constexpr dut::SrqHandle srq{4};
        OwnerScene scene;
        scene.story.setting.dut.capabilities = {"events"};
        scene.call(dut::SrqCreate{}, dut::SrqCreated{.srq = srq});
        dut::SrqPost post{.srq = srq};
        post.requests.resize(2);
        scene.call(post, dut::Posted{2});
        scene.call(dut::SrqModify{.srq = srq, .limit = limit}, dut::Done{});
        // A QP of the queue takes some of them.
        scene.call(dut::QpCreate{.send_cq = OwnerScene::cq, .recv_cq = OwnerScene::cq, .srq = srq},
                   dut::QpCreated{.qp = dut::QpHandle{9}, .qpn = wire::Qpn{0x19}});
        for (std::size_t i = 0; i < posted; ++i) {
            dut::Polled polled;
            polled.completions.push_back({.qp = dut::QpHandle{9},
                                          .queue = wire::Queue::Receive,
                                          .status = wire::WcStatus::LocProtErr});
            scene.call(dut::Poll{.cq = OwnerScene::cq}, polled);
        }
        if (told) {
            dut::EventList list;
            list.events.push_back({.type = Type::SrqLimitReached, .srq = srq});
            scene.call(dut::Events{}, list);
        }
        raised(scene, {});
        scene.now += std::chrono::seconds(1);
        raised(scene, {});
        return scene.found();
    };
    CHECK(found(2, 1, true) == "");
    CHECK(found(2, 1, false) == "N-16 event (should)");
    CHECK(found(1, 1, false) == "");
    CHECK(found(0, 1, false) == "");
    // Fewer were left before: the next that is taken shows it.
    CHECK(found(3, 1, true) == "");
    CHECK(found(3, 1, false) == "N-16 event (should)");
    CHECK(found(3, 0, false) == "");
}

TEST_CASE("events: a limit that is set when too few receives are left need not be told",
          "[model][N-16]") {
    const auto found = [](bool taken_before) {
        constexpr dut::SrqHandle srq{4};
        OwnerScene scene;
        scene.story.setting.dut.capabilities = {"events"};
        std::get<dut::QpCreate>(scene.story.calls[1].request).srq = srq;
        scene.call(dut::SrqCreate{}, dut::SrqCreated{.srq = srq});
        dut::SrqPost post{.srq = srq};
        post.requests.push_back({.id = 1, .sge = {}});
        scene.call(post, dut::Posted{1});
        const dut::SrqModify limit{.srq = srq, .limit = 1};
        if (!taken_before) scene.call(limit, dut::Done{});
        scene.sent("SEND_ONLY", 0);
        scene.acknowledged(0);
        if (taken_before) scene.call(limit, dut::Done{});
        scene.polled({.id = 1, .queue = wire::Queue::Receive, .opcode = wire::WcOpcode::Recv});
        raised(scene, {});
        raised(scene, {});
        return scene.found();
    };
    CHECK(found(true) == "");
    CHECK(found(false) == "N-16 event (should)");
}

TEST_CASE("events: the first packet in RTR raises COMM_EST", "[model][STA-04]") {
    const auto in_rtr = [](const std::vector<Type>& types) {
        OwnerScene scene(wire::QpType::Rc, wire::QpState::Rtr);
        scene.story.setting.dut.capabilities = {"events"};
        scene.sent("RDMA_WRITE_ONLY", 0, OwnerScene::data(8), OwnerScene::to(0, 8));
        scene.acknowledged(0);
        raised(scene, types);
        return scene.found();
    };
    CHECK(in_rtr({Type::CommEst}) == "");
    CHECK(in_rtr({}) == "STA-04 event (should)");
    CHECK(in_rtr({Type::CommEst, Type::CommEst}) == "N-13 event (should)");
}

} // namespace veriroce::model::test
