// What a requester may do in more than one lawful way: each option, both ways.
#include <algorithm>

#include "tests/transport/engine/requests.hpp"

using namespace veriroce;
using namespace veriroce::engine;
using namespace veriroce::engine::test;

namespace {

LabOptions choosing(const Behaviour& behaviour) {
    LabOptions options;
    options.config.behaviour = behaviour;
    return options;
}

wire::Packet read_response(const Lab& lab, int n) {
    return response(lab, "RDMA_READ_RESPONSE_ONLY", n, 1);
}

} // namespace

TEST_CASE("requester: after an RNR wait the whole window goes, or the NAKed message first",
          "[engine][RNR-13]") {
    const auto choice = GENERATE(AfterRnr::WholeWindow, AfterRnr::OneMessage);
    Lab lab(choosing({.after_rnr = choice}));
    for (std::uint64_t id = 1; id <= 3; ++id)
        post(lab, WrOpcode::Send, 4, id);
    CHECK(lab.drain().size() == 3);
    lab.receive(lab.ack(sq_psn, 0, 0x20 | 1));
    lab.next_deadline();
    if (choice == AfterRnr::WholeWindow) {
        CHECK(psns(lab.drain()) == Psns{2000, 2001, 2002});
        return;
    }
    CHECK(psns(lab.drain()) == Psns{2000});
    lab.receive(lab.ack(sq_psn, 1));
    CHECK(psns(lab.drain()) == Psns{2001, 2002});
}

TEST_CASE("requester: the RNR wait may be longer than was asked for", "[engine][RNR-08]") {
    const std::uint8_t sixteenths = GENERATE(std::uint8_t{16}, std::uint8_t{40});
    Lab lab(choosing({.rnr_wait_sixteenths = sixteenths}));
    post(lab, WrOpcode::Send, 4);
    lab.drain();
    lab.receive(lab.ack(sq_psn, 0, 0x20 | 16)); // 2.56 ms
    CHECK(lab.engine.next_timeout() == lab.now + 2560us * sixteenths / 16);
}

TEST_CASE("requester: a second NAK before anything was sent is ignored, or counts",
          "[engine][REQ-15]") {
    const auto choice = GENERATE(RepeatedNak::Ignored, RepeatedNak::Restarts);
    LabOptions options = choosing({.repeated_nak = choice});
    options.retry_count = 1;
    Lab lab(options);
    post(lab, WrOpcode::Send, 4);
    lab.drain();
    lab.receive(lab.ack(sq_psn, 0, 0x60));
    lab.receive(lab.ack(sq_psn, 0, 0x60));
    if (choice == RepeatedNak::Ignored) {
        CHECK(psns(lab.drain()) == Psns{2000});
        CHECK(lab.sends().empty());
    } else {
        check_failed(lab, 1, WcStatus::RetryExcErr);
    }
}

TEST_CASE("requester: a READ response of the wrong length is an error, or lost",
          "[engine][REQ-21][REQ-22]") {
    const auto choice = GENERATE(BadReadLength::Error, BadReadLength::Dropped);
    Lab lab(choosing({.bad_read_length = choice}));
    const auto before = std::vector(lab.memory(0, 200).begin(), lab.memory(0, 200).end());
    post(lab, WrOpcode::RdmaRead, 100);
    lab.drain();
    lab.receive(read_response(lab, 0), pattern(104));
    CHECK(std::ranges::equal(lab.memory(0, 200), before));
    if (choice == BadReadLength::Error) {
        check_failed(lab, 1, WcStatus::LocLenErr);
        return;
    }
    CHECK(lab.sends().empty());
    lab.receive(read_response(lab, 0), pattern(100));
    REQUIRE(lab.sends().size() == 1);
    CHECK(std::ranges::equal(lab.memory(0, 100), pattern(100)));
}

TEST_CASE("requester: data for a SEND is dropped, or an error", "[engine][REQ-24][REQ-25]") {
    const auto choice = GENERATE(UnexpectedResponse::Ignore, UnexpectedResponse::BadResponse);
    const std::string opcode = GENERATE("RDMA_READ_RESPONSE_ONLY", "ATOMIC_ACKNOWLEDGE");
    Lab lab(choosing({.unexpected_response = choice}));
    post(lab, WrOpcode::Send, 4);
    lab.drain();
    lab.receive(response(lab, opcode, 0, 1));
    if (choice == UnexpectedResponse::BadResponse) {
        check_failed(lab, 1, WcStatus::BadRespErr);
        return;
    }
    CHECK(lab.sends().empty());
    lab.receive(lab.ack(sq_psn, 1));
    CHECK(lab.sends().size() == 1);
}

TEST_CASE("requester: a READ response out of its place is dropped, or an error",
          "[engine][REQ-23]") {
    const auto choice = GENERATE(UnexpectedResponse::Ignore, UnexpectedResponse::BadResponse);
    Lab lab(choosing({.unexpected_response = choice}));
    post(lab, WrOpcode::RdmaRead, 2048);
    lab.drain();
    lab.receive(response(lab, "RDMA_READ_RESPONSE_LAST", 0, 1), pattern(1024));
    if (choice == UnexpectedResponse::BadResponse) {
        check_failed(lab, 1, WcStatus::BadRespErr);
    } else {
        CHECK(lab.sends().empty());
        CHECK(lab.state() == QpState::Rts);
    }
}

TEST_CASE("requester: an ACK for a READ is ignored, or the READ is tried again",
          "[engine][REQ-20]") {
    const auto choice = GENERATE(AcknowledgedRead::Ignored, AcknowledgedRead::Retried);
    Lab lab(choosing({.acknowledged_read = choice}));
    post(lab, WrOpcode::RdmaRead, 100);
    lab.drain();
    lab.receive(lab.ack(sq_psn, 1));
    CHECK(lab.sends().empty());
    CHECK(lab.drain().size() == (choice == AcknowledgedRead::Retried ? 1 : 0));
    lab.receive(read_response(lab, 0), pattern(100));
    CHECK(lab.sends().size() == 1);
}

TEST_CASE("requester: SQD finishes what had begun, or all that was posted", "[engine][STA-06]") {
    const auto choice = GENERATE(Drain::Begun, Drain::Posted);
    Lab lab(choosing({.drain = choice}));
    for (std::uint64_t id = 1; id <= 3; ++id)
        post(lab, WrOpcode::Send, 4, id);
    REQUIRE(lab.engine.poll_transmit(lab.now)); // the first has begun
    REQUIRE(
        lab.engine.modify_qp(lab.qp, {.state = QpState::Sqd, .sqd_async_notify = true}, lab.now));
    post(lab, WrOpcode::Send, 4, 4);
    const bool all = choice == Drain::Posted;
    CHECK(lab.drain().size() == (all ? 2 : 0));
    CHECK(lab.events().empty());
    lab.receive(lab.ack(all ? sq_psn + 2 : sq_psn, all ? 3 : 1));
    CHECK(lab.drain().empty());
    CHECK(lab.sends().size() == (all ? 3 : 1));
    CHECK(lab.events().size() == 1);
    REQUIRE(lab.engine.modify_qp(lab.qp, {.state = QpState::Rts}, lab.now));
    CHECK(lab.drain().size() == (all ? 1 : 3));
}

TEST_CASE("requester: after a loss the whole window goes again, or one packet after another",
          "[engine][REQ-02][REQ-11]") {
    const auto choice = GENERATE(AfterLoss::WholeWindow, AfterLoss::OnePacket);
    Lab lab(choosing({.after_loss = choice}));
    post(lab, WrOpcode::Send, 3072);
    post(lab, WrOpcode::RdmaRead, 2048, 2);
    post(lab, WrOpcode::Send, 4, 3);
    CHECK(psns(lab.drain()) == Psns{2000, 2001, 2002, 2003, 2005});
    lab.receive(lab.ack(sq_psn + 1, 0, 0x60)); // the first packet came, the second did not
    if (choice == AfterLoss::WholeWindow) {
        CHECK(psns(lab.drain()) == Psns{2001, 2002, 2003, 2005});
        return;
    }
    const Sent alone = lab.one();
    CHECK(alone.psn() == 2001);
    CHECK(alone.packet.bth.ack_request); // N-18: else nothing more would come
    lab.receive(lab.ack(sq_psn + 1, 0));
    CHECK(psns(lab.drain()) == Psns{2002});
    lab.receive(lab.ack(sq_psn + 2, 1));
    CHECK(psns(lab.drain()) == Psns{2003});
    lab.receive(response(lab, "RDMA_READ_RESPONSE_FIRST", 3, 2), pattern(1024));
    CHECK(lab.drain().empty());
    lab.receive(response(lab, "RDMA_READ_RESPONSE_LAST", 4, 2), pattern(1024));
    CHECK(psns(lab.drain()) == Psns{2005});
    lab.receive(lab.ack(sq_psn + 5, 3));
    CHECK(lab.sends().size() == 3);
    post(lab, WrOpcode::Send, 3072, 4); // all is recovered: the whole window again
    CHECK(psns(lab.drain()) == Psns{2006, 2007, 2008});
}

TEST_CASE("requester: a timeout begins again at the oldest packet, or at its message",
          "[engine][TMO-06]") {
    const auto choice = GENERATE(TimeoutRestart::OldestPacket, TimeoutRestart::Message);
    Lab lab(choosing({.timeout_restart = choice}));
    post(lab, WrOpcode::Send, 3072);
    lab.drain();
    lab.receive(lab.ack(sq_psn, 0));
    lab.next_deadline();
    const bool message = choice == TimeoutRestart::Message;
    const Psns again = message ? Psns{2000, 2001, 2002} : Psns{2001, 2002};
    CHECK(psns(lab.drain()) == again);
    lab.receive(lab.ack(sq_psn + 1, 0, 0x60)); // a NAK says where to begin
    CHECK(psns(lab.drain()) == Psns{2001, 2002});
    lab.receive(lab.ack(sq_psn + 2, 1));
    CHECK(lab.sends().size() == 1);
    post(lab, WrOpcode::Send, 4, 2);
    CHECK(lab.one().psn() == 2003);
}

TEST_CASE("requester: further timeouts are as long as the first, or grow",
          "[engine][TMO-01][TMO-08]") {
    const bool grows = GENERATE(false, true);
    LabOptions options = choosing({.timeout_grows = grows});
    options.retry_count = 7;
    Lab lab(options);
    post(lab, WrOpcode::Send, 4);
    lab.drain();
    const wire::Duration first = lab.engine.next_timeout().value() - lab.now;
    CHECK(first == 67'108'864ns * 24 / 16);
    for (int n = 1; n <= 7; ++n) {
        lab.next_deadline();
        CHECK(lab.drain().size() == 1);
        const wire::Duration next = lab.engine.next_timeout().value() - lab.now;
        CHECK(next == first * (grows ? 1 << std::min(n, 6) : 1));
    }
    lab.receive(lab.ack(sq_psn, 1)); // progress: the next one is short again
    post(lab, WrOpcode::Send, 4);
    lab.drain();
    CHECK(lab.engine.next_timeout().value() - lab.now == first);
}

TEST_CASE("requester: an adaptive timer begins short and uses up no retries before it is T",
          "[engine][TMO-08]") {
    LabOptions options = choosing({.timeout_sixteenths = 16, .adaptive_timeout = 20ms});
    options.retry_count = 1;
    Lab lab(options);
    post(lab, WrOpcode::Send, 4);
    lab.drain();
    for (const wire::Duration wanted : {20'000'000ns, 40'000'000ns, 67'108'864ns, 67'108'864ns}) {
        CHECK(lab.engine.next_timeout().value() - lab.now == wanted);
        lab.next_deadline();
        if (lab.drain().empty()) break;
    }
    const auto done = lab.sends(); // after T twice: the request, and one retry
    REQUIRE(done.size() == 1);
    CHECK(done.front().status == WcStatus::RetryExcErr);
    Lab progress(options);
    post(progress, WrOpcode::Send, 4);
    progress.drain();
    progress.next_deadline();
    progress.drain();
    progress.receive(progress.ack(sq_psn, 1));
    post(progress, WrOpcode::Send, 4);
    progress.drain();
    CHECK(progress.engine.next_timeout().value() - progress.now == 20ms);
}

TEST_CASE("requester: a timer may have a floor, or a time of its own", "[engine][TMO-05][TMO-08]") {
    const auto timeout_of = [](const Behaviour& behaviour) {
        Lab lab(choosing(behaviour));
        post(lab, WrOpcode::Send, 4);
        lab.drain();
        return lab.engine.next_timeout().value() - lab.now;
    };
    CHECK(timeout_of({.timeout_sixteenths = 16, .timeout_floor = 15}) == 2 * 67'108'864ns);
    CHECK(timeout_of({.timeout_sixteenths = 16, .timeout_floor = 13}) == 67'108'864ns);
    CHECK(timeout_of({.fixed_timeout = 30ms}) == 30ms);
}

TEST_CASE("requester: the timeout lies anywhere between once and four times the nominal",
          "[engine][TMO-01]") {
    const std::uint8_t sixteenths = GENERATE(std::uint8_t{16}, std::uint8_t{64});
    Lab lab(choosing({.timeout_sixteenths = sixteenths}));
    post(lab, WrOpcode::Send, 4);
    lab.drain();
    CHECK(lab.engine.next_timeout() == lab.now + 67'108'864ns * sixteenths / 16);
}
