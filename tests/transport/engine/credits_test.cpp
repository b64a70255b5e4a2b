// End-to-end credits at the requester.
#include "tests/transport/engine/requests.hpp"

using namespace veriroce;
using namespace veriroce::engine;
using namespace veriroce::engine::test;

namespace {

LabOptions obeying() {
    LabOptions options;
    options.config.behaviour.obey_credits = true;
    return options;
}

void post_sends(Lab& lab, std::uint64_t count, std::uint32_t length = 8) {
    for (std::uint64_t id = 1; id <= count; ++id)
        post(lab, WrOpcode::Send, length, id);
}

// Messages done, and credits by their code.
void hear(Lab& lab, int psn, std::uint32_t msn, std::uint8_t code) {
    lab.receive(lab.ack(sq_psn + psn, msn, code));
}

} // namespace

TEST_CASE("credits: sums of MSN and credits, moved on by what takes no receive",
          "[engine][REQ-29]") {
    const auto ack = [](std::uint32_t msn, std::uint8_t code) {
        return wire::Aeth{.syndrome = wire::Syndrome::ack(code), .msn = {msn}};
    };
    Credits credits{
        .newest = wire::Psn(0xFFFFFE), .limit = wire::Psn(0xFFFFFE), .unlimited = false};
    CHECK(credits.allows(wire::Psn(0xFFFFFF), 1));
    CHECK_FALSE(credits.allows(wire::Psn(0xFFFFFF)));
    CHECK(credits.begin(true) == wire::Psn(0xFFFFFF));
    CHECK(credits.begin(false) == wire::Psn(0));
    CHECK(credits.limit == wire::Psn(0xFFFFFF));
    credits.hear(ack(0xFFFFFF, 5)); // six credits
    CHECK(credits.limit == wire::Psn(5));
    credits.hear(ack(0xFFFFFF, 1)); // an older word takes nothing back
    CHECK(credits.limit == wire::Psn(5));
    credits.hear(ack(1, 4)); // one message more than was sent
    CHECK(credits.limit == wire::Psn(5));
    credits.hear({.syndrome = wire::Syndrome::rnr(20), .msn = {0}});
    CHECK(credits.limit == wire::Psn(5));
    credits.hear(ack(0, wire::kNoCredits));
    credits.hear(ack(0, 0)); // REQ-30: too late
    CHECK(credits.unlimited);
}

TEST_CASE("credits: without the option nothing restrains", "[engine][REQ-29]") {
    Lab lab;
    post_sends(lab, 5);
    CHECK(lab.drain().size() == 5);
    hear(lab, 0, 1, 0);
    post_sends(lab, 3);
    CHECK(lab.drain().size() == 3);
}

TEST_CASE("credits: before the first word one message goes and asks", "[engine][REQ-29]") {
    Lab lab(obeying());
    post_sends(lab, 6);
    CHECK(psns(lab.drain()) == Psns{2000});
    hear(lab, 0, 1, 2); // up to the third, and one beyond
    CHECK(psns(lab.drain()) == Psns{2001, 2002, 2003});
    hear(lab, 3, 4, 0);
    CHECK(psns(lab.drain()) == Psns{2004});
    hear(lab, 4, 5, 31); // REQ-30
    post_sends(lab, 5);
    CHECK(lab.drain().size() == 6);
    hear(lab, 5, 6, 0);
    post_sends(lab, 3);
    CHECK(lab.drain().size() == 3);
}

TEST_CASE("credits: beyond the limit the first packet alone asks", "[engine][REQ-29]") {
    Lab lab(obeying());
    post(lab, WrOpcode::Send, 3000, 1);
    const auto first = lab.one();
    CHECK(first.name() == "SEND_FIRST");
    CHECK(first.packet.bth.ack_request);
    // Accepted, and no credit after it: the message has its receive, the rest is sent.
    hear(lab, 0, 0, 0);
    CHECK(psns(lab.drain()) == Psns{2001, 2002});
    hear(lab, 2, 1, 1);
    post(lab, WrOpcode::Send, 3000, 2); // within the limit: all at once
    CHECK(lab.drain().size() == 3);
}

TEST_CASE("credits: what takes no receive goes, and takes none away", "[engine][REQ-29]") {
    LabOptions options = obeying();
    options.max_rd_atomic = 2;
    Lab lab(options);
    post_sends(lab, 1);
    post(lab, WrOpcode::RdmaWrite, 8, 2);
    post(lab, WrOpcode::RdmaRead, 8, 3);
    post(lab, WrOpcode::AtomicFetchAndAdd, 8, 4);
    post(lab, WrOpcode::RdmaWriteWithImm, 8, 5);
    CHECK(psns(lab.drain()) == Psns{2000, 2001, 2002, 2003});
    hear(lab, 1, 2, 0); // two done, and two after them that need no credit
    CHECK(psns(lab.drain()).empty());
    lab.receive(response(lab, "RDMA_READ_RESPONSE_ONLY", 2, 3), pattern(8));
    wire::Packet done = response(lab, "ATOMIC_ACKNOWLEDGE", 3, 4);
    done.aeth.syndrome = wire::Syndrome::ack(0);
    CHECK(lab.drain().size() == 1); // that response said 31
    lab.receive(done);
}

TEST_CASE("credits: data's AETH counts, and an acknowledge that repeats the last",
          "[engine][REQ-29][REQ-06][ACK-11]") {
    Lab lab(obeying());
    post(lab, WrOpcode::RdmaRead, 8, 1);
    lab.drain();
    wire::Packet data = response(lab, "RDMA_READ_RESPONSE_ONLY", 0, 1);
    data.aeth.syndrome = wire::Syndrome::ack(0);
    lab.receive(data, pattern(8));
    post_sends(lab, 4);
    CHECK(psns(lab.drain()) == Psns{2001});
    hear(lab, 0, 1, 2); // nothing new but credits
    CHECK(psns(lab.drain()) == Psns{2002, 2003});
    hear(lab, -1, 1, 31); // older than the last: says nothing
    hear(lab, 7, 1, 31);  // REQ-07: never sent
    CHECK(lab.drain().empty());
    hear(lab, 3, 4, 0);
    CHECK(psns(lab.drain()) == Psns{2004});
}

TEST_CASE("credits: the message that asks is tried again like any other",
          "[engine][REQ-29][RNR-08]") {
    Lab lab(obeying());
    post(lab, WrOpcode::Send, 2000, 1);
    post_sends(lab, 1);
    CHECK(psns(lab.drain()) == Psns{2000});
    lab.receive(lab.ack(sq_psn, 0, 0x20 + 1)); // RNR
    CHECK(lab.drain().empty());
    lab.next_deadline();
    CHECK(psns(lab.drain()) == Psns{2000});
    lab.next_deadline(); // lost
    CHECK(psns(lab.drain()) == Psns{2000});
    hear(lab, 0, 0, 0);
    CHECK(psns(lab.drain()) == Psns{2001});
    hear(lab, 1, 1, 0);
    CHECK(psns(lab.drain()) == Psns{2002});
    hear(lab, 2, 2, 0);
    CHECK(lab.sends().size() == 2);
}

TEST_CASE("credits: a new connection begins without", "[engine][REQ-29][STA-10]") {
    Lab lab(obeying());
    post_sends(lab, 1);
    lab.drain();
    hear(lab, 0, 1, 31);
    REQUIRE(lab.engine.modify_qp(lab.qp, {.state = QpState::Reset}, lab.now));
    lab.connect(lab.qp);
    post_sends(lab, 2);
    CHECK(psns(lab.drain()) == Psns{2000});
}

TEST_CASE("credits: a QP obeys and grants them in the life in which it was told so",
          "[engine][REQ-29][ACK-10]") {
    Lab lab({.flow_control = true});
    CHECK(lab.engine.query_qp(lab.qp)->attributes.flow_control == true);
    post_sends(lab, 3);
    CHECK(psns(lab.drain()) == Psns{2000});
    lab.post_receive(1, 64);
    lab.post_receive(2, 64);
    lab.receive(lab.packet("SEND_ONLY", rq_psn), pattern(8));
    const auto answers = lab.drain();
    REQUIRE(answers.size() == 1);
    CHECK(answers[0].packet.aeth.syndrome == wire::Syndrome::ack(1)); // one receive is left

    REQUIRE(lab.engine.modify_qp(lab.qp, {.state = QpState::Reset}, lab.now));
    lab.options.flow_control = false;
    lab.connect(lab.qp);
    post_sends(lab, 3);
    CHECK(lab.drain().size() == 3);
    CHECK_FALSE(lab.engine.modify_qp(lab.qp, {.flow_control = true}, lab.now)); // at RTR alone
}
