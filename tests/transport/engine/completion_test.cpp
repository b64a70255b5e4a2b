// Completion queues: notification, and their end when a completion does not fit.
#include "tests/transport/engine/requests.hpp"

using namespace veriroce;
using namespace veriroce::engine;
using namespace veriroce::engine::test;

namespace {

void send_to(Lab& lab, int n, bool solicited, std::string_view opcode = "SEND_ONLY") {
    wire::Packet send = lab.packet(opcode, rq_psn + n);
    send.bth.solicited = solicited;
    lab.receive(send, pattern(lab.packet(opcode, rq_psn).info().ends_message() ? 8 : 1024));
    lab.drain();
}

void give_receives(Lab& lab, std::uint64_t count) {
    for (std::uint64_t id = 0; id < count; ++id)
        lab.post_receive(id, 2048);
}

} // namespace

TEST_CASE("notify: one completion after it was armed, once", "[engine][N-26]") {
    Lab lab;
    give_receives(lab, 4);
    send_to(lab, 0, false);
    REQUIRE(lab.engine.arm_cq(lab.receive_cq, false));
    CHECK_FALSE(lab.engine.take_notification(lab.receive_cq)); // what was there does not count
    send_to(lab, 1, false);
    send_to(lab, 2, false);
    CHECK(lab.engine.take_notification(lab.receive_cq));
    CHECK_FALSE(lab.engine.take_notification(lab.receive_cq));
    send_to(lab, 3, false); // not armed again
    CHECK_FALSE(lab.engine.take_notification(lab.receive_cq));
    CHECK(lab.receives().size() == 4);
    CHECK_FALSE(lab.engine.take_notification(lab.send_cq));
}

TEST_CASE("notify: armed for solicited, SE on the last packet and errors count",
          "[engine][BTH-13][N-26]") {
    Lab lab;
    give_receives(lab, 8);
    REQUIRE(lab.engine.arm_cq(lab.receive_cq, true));
    send_to(lab, 0, false);
    CHECK_FALSE(lab.engine.take_notification(lab.receive_cq));
    send_to(lab, 1, true, "SEND_FIRST"); // BTH-13: SE there says nothing
    send_to(lab, 2, false, "SEND_LAST");
    CHECK_FALSE(lab.engine.take_notification(lab.receive_cq));
    send_to(lab, 3, true);
    CHECK(lab.engine.take_notification(lab.receive_cq));

    REQUIRE(lab.engine.arm_cq(lab.receive_cq, true));
    wire::Packet write = lab.packet("RDMA_WRITE_ONLY_WITH_IMM", rq_psn + 4);
    write.bth.solicited = true;
    lab.receive(write);
    CHECK(lab.engine.take_notification(lab.receive_cq));

    REQUIRE(lab.engine.arm_cq(lab.receive_cq, true));
    REQUIRE(lab.engine.modify_qp(lab.qp, {.state = QpState::Err}, lab.now));
    CHECK(lab.engine.take_notification(lab.receive_cq)); // flushed: an error
}

TEST_CASE("notify: a SEND that met no receive first keeps its SE", "[engine][N-26][RNR-06]") {
    Lab lab;
    REQUIRE(lab.engine.arm_cq(lab.receive_cq, true));
    send_to(lab, 0, true);
    CHECK_FALSE(lab.engine.take_notification(lab.receive_cq));
    give_receives(lab, 1);
    send_to(lab, 0, true);
    CHECK(lab.engine.take_notification(lab.receive_cq));
}

TEST_CASE("notify: armed for any is not narrowed, and a send queue counts as well",
          "[engine][N-26]") {
    Lab lab;
    REQUIRE(lab.engine.arm_cq(lab.send_cq, true));
    post(lab, WrOpcode::RdmaWrite, 8);
    lab.drain();
    lab.receive(lab.ack(sq_psn, 1));
    CHECK_FALSE(lab.engine.take_notification(lab.send_cq)); // a send is never solicited
    REQUIRE(lab.engine.arm_cq(lab.send_cq, false));
    REQUIRE(lab.engine.arm_cq(lab.send_cq, true));
    post(lab, WrOpcode::RdmaWrite, 8);
    lab.drain();
    lab.receive(lab.ack(sq_psn + 1, 2));
    CHECK(lab.engine.take_notification(lab.send_cq));
    CHECK(lab.engine.arm_cq(CqId{99}, false).error() == VerbError::NotFound);
    CHECK_FALSE(lab.engine.take_notification(CqId{99}));
}

TEST_CASE("overrun: the queue's end is the end of every QP that completes there",
          "[engine][KEY-13]") {
    LabOptions options;
    options.cq_depth = 2;
    Lab lab(options);
    const CqId own = lab.engine.create_cq(8).value();
    const QpId sender = lab.another({.pd = lab.pd, .send_cq = lab.send_cq, .recv_cq = own});
    const QpId bystander = lab.another({.pd = lab.pd, .send_cq = own, .recv_cq = own});
    const Sge piece = lab.sge(0, 8);
    const SendRequest write{.id = 1, .opcode = WrOpcode::RdmaWrite, .sges = std::span(&piece, 1)};
    REQUIRE(lab.engine.post_send(sender, std::span(&write, 1), lab.now).posted == 1);
    for (std::uint64_t id = 0; id < 3; ++id)
        post(lab, WrOpcode::RdmaWrite, 8, id);
    lab.drain();
    lab.receive(lab.ack(sq_psn + 2, 3));
    CHECK(lab.engine.overrun(lab.send_cq));
    CHECK(lab.state() == QpState::Err);
    CHECK(lab.engine.query_qp(sender)->state == QpState::Err);
    CHECK(lab.engine.query_qp(bystander)->state == QpState::Rts);
    const auto events = lab.events();
    REQUIRE(events.size() == 3);
    CHECK(events[0].type == EventType::CqErr);
    CHECK(events[0].cq == lab.send_cq);
    CHECK(events[1].type == EventType::QpFatal);
    CHECK(events[1].qp == lab.qp);
    CHECK(events[2].type == EventType::QpFatal);
    CHECK(events[2].qp == sender);

    // What was there stays to be polled; nothing comes in any more, room or not.
    CHECK(lab.sends().size() == 2);
    REQUIRE(lab.engine.post_send(sender, std::span(&write, 1), lab.now).posted == 1);
    CHECK(lab.sends().empty());
    CHECK(lab.events().empty()); // told once
    CHECK(lab.engine.create_qp({.pd = lab.pd, .send_cq = lab.send_cq, .recv_cq = own}).error() ==
          VerbError::InvalidArgument);
}

TEST_CASE("overrun: a QP that was in RESET then ends at its first completion", "[engine][KEY-13]") {
    LabOptions options;
    options.cq_depth = 1;
    Lab lab(options);
    const CqId own = lab.engine.create_cq(8).value();
    const QpId late =
        lab.engine.create_qp({.pd = lab.pd, .send_cq = lab.send_cq, .recv_cq = own}).value();
    post(lab, WrOpcode::RdmaWrite, 8, 1);
    post(lab, WrOpcode::RdmaWrite, 8, 2);
    lab.drain();
    lab.receive(lab.ack(sq_psn + 1, 2));
    REQUIRE(lab.engine.overrun(lab.send_cq));
    CHECK(lab.engine.query_qp(late)->state == QpState::Reset);
    (void)lab.events();
    lab.connect(late);
    const SendRequest inv{.opcode = WrOpcode::LocalInv};
    REQUIRE(lab.engine.post_send(late, std::span(&inv, 1), lab.now).posted == 1);
    lab.drain();
    CHECK(lab.engine.query_qp(late)->state == QpState::Err);
    REQUIRE(lab.events().size() == 1);
}
