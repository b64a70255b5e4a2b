// Which changes of state a device may accept, and which states it may report.
#include <catch2/catch.hpp>

#include "tests/conformance/model/owner_scene.hpp"

namespace veriroce::model::test {
namespace {

using enum wire::QpState;

std::string after_change(wire::QpState from, wire::QpState to) {
    OwnerScene scene(wire::QpType::Rc, from == Rtr ? Rtr : Rts);
    if (from == Reset || from == Init) scene.bring_to(Reset);
    if (from != Rtr && from != Rts && from != Reset) scene.bring_to(from);
    scene.bring_to(to);
    return scene.found();
}

std::string reported(wire::QpState state, wire::QpType type = wire::QpType::Rc) {
    OwnerScene scene(type);
    scene.sent("RDMA_WRITE_ONLY", 0, OwnerScene::data(8),
               OwnerScene::to(1020, 8)); // it may have failed
    scene.reports(state);
    return scene.found();
}

} // namespace

TEST_CASE("states: transitions that do not exist must be refused", "[model][STA-09]") {
    for (const auto& [from, to] : {std::pair{Rts, Sqd},
                                   {Sqd, Rts},
                                   {Rts, Rts},
                                   {Init, Rtr},
                                   {Init, Init},
                                   {Rtr, Rts},
                                   {Rts, Err},
                                   {Err, Reset}}) {
        CHECK(after_change(from, to) == "");
    }
    for (const auto& [from, to] : {std::pair{Reset, Rtr},
                                   {Reset, Rts},
                                   {Init, Rts},
                                   {Init, Sqd},
                                   {Rtr, Init},
                                   {Rtr, Sqd},
                                   {Rts, Init},
                                   {Rts, Rtr},
                                   {Err, Rts}}) {
        CHECK(after_change(from, to) == "STA-09 state");
    }
}

TEST_CASE("states: a QP is in the state that it was brought to, or has failed", "[model][STA-08]") {
    CHECK(reported(Rts) == "");
    CHECK(reported(Err) == "");
    CHECK(reported(Rtr) == "STA-09 state");
    CHECK(reported(Sqd) == "STA-09 state");
    CHECK(reported(Sqe) == "STA-08 state");
    CHECK(reported(Sqe, wire::QpType::Uc) == "");
}

TEST_CASE("states: a QP does not fail without a cause", "[model][STA-07]") {
    OwnerScene scene;
    scene.sent("RDMA_WRITE_ONLY", 0, OwnerScene::data(8), OwnerScene::to(0, 8));
    scene.acknowledged(0);
    scene.reports(Err);
    CHECK(scene.found() == "STA-07 state");
}

TEST_CASE("states: a QP that failed is in ERR", "[model][STA-08][STA-12]") {
    OwnerScene refuses;
    refuses.sent("RDMA_WRITE_ONLY", 0, OwnerScene::data(8), OwnerScene::to(1020, 8));
    refuses.refused(0, wire::NakCode::RemoteAccess);
    OwnerScene early = refuses;
    early.reports(Rts);
    CHECK(early.found() == "");
    refuses.now += std::chrono::seconds(1);
    OwnerScene right = refuses;
    right.reports(Err);
    CHECK(right.found() == "");
    refuses.reports(Rts);
    CHECK(refuses.found() == "STA-12 state");
    OwnerScene fails;
    fails.post(wire::WrOpcode::Send, 1, 0, 4);
    fails.polled({.id = 1, .status = wire::WcStatus::RetryExcErr});
    fails.now += std::chrono::seconds(1);
    fails.reports(Rts);
    CHECK(fails.found() == "STA-08 state");
}

TEST_CASE("states: a query tells no less depth than was set", "[model][REQ-27]") {
    const auto told = [](std::optional<std::uint8_t> depth) {
        OwnerScene scene; // whose QP may have 4 READs of its peer outstanding
        dut::QpQueried queried;
        queried.attributes.state = Rts;
        queried.attributes.max_dest_rd_atomic = depth;
        scene.call(dut::QpQuery{.qp = OwnerScene::qp}, queried);
        return scene.found();
    };
    CHECK(told(std::nullopt) == "");
    CHECK(told(std::uint8_t{4}) == "");
    CHECK(told(std::uint8_t{16}) == "");
    CHECK(told(std::uint8_t{3}) == "REQ-27 state (should)");
}

TEST_CASE("states: a query tells the timers and retries that were set", "[model][STA-12]") {
    const auto told = [](std::optional<std::uint8_t> dut::QpAttributes::* attribute,
                         std::uint8_t value) {
        OwnerScene scene;
        dut::QpModify change{.qp = OwnerScene::qp};
        change.attributes.*attribute = std::uint8_t{5};
        scene.call(change, dut::Done{});
        dut::QpQueried queried;
        queried.attributes.state = Rts;
        queried.attributes.*attribute = value;
        scene.call(dut::QpQuery{.qp = OwnerScene::qp}, queried);
        return scene.found();
    };
    using dut::QpAttributes;
    CHECK(told(&QpAttributes::timeout, 5) == "");
    CHECK(told(&QpAttributes::timeout, 6) == ""); // rounded up
    CHECK(told(&QpAttributes::timeout, 4) == "TMO-01 state (should)");
    CHECK(told(&QpAttributes::retry_cnt, 5) == "");
    CHECK(told(&QpAttributes::retry_cnt, 6) == "TMO-03 state (should)");
    CHECK(told(&QpAttributes::rnr_retry, 5) == "");
    CHECK(told(&QpAttributes::rnr_retry, 4) == "RNR-09 state (should)");
    CHECK(told(&QpAttributes::min_rnr_timer, 5) == "");
    CHECK(told(&QpAttributes::min_rnr_timer, 6) == "RNR-07 state (should)");
}

} // namespace veriroce::model::test
