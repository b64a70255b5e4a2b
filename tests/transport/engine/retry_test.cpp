// The requester when no good answer comes: NAKs, RNR, timeouts, and where they end.
#include "tests/transport/engine/requests.hpp"

#include <algorithm>

using namespace veriroce;
using namespace veriroce::engine;
using namespace veriroce::engine::test;

TEST_CASE("requester: a sequence NAK goes back to its PSN", "[engine][REQ-11][REQ-15][REQ-18]") {
    Lab lab;
    for (std::uint64_t i = 0; i < 5; ++i)
        post(lab, WrOpcode::Send, 4, i);
    CHECK(lab.drain().size() == 5);
    lab.receive(lab.ack(sq_psn + 9, 2, 0x60)); // REQ-18
    CHECK(lab.drain().empty());
    lab.receive(lab.ack(sq_psn + 2, 2, 0x60));
    lab.receive(lab.ack(sq_psn + 2, 2, 0x60)); // REQ-15: nothing was sent in between
    CHECK(lab.sends().size() == 2);
    CHECK(psns(lab.drain()) == Psns{2002, 2003, 2004});
    lab.receive(lab.ack(sq_psn + 4, 5));
    CHECK(lab.sends().size() == 3);
}

TEST_CASE("requester: a late ACK ends a resend that is under way", "[engine][REQ-33]") {
    Lab lab;
    post(lab, WrOpcode::Send, 3000, 1);
    post(lab, WrOpcode::Send, 4, 2);
    CHECK(lab.drain().size() == 4);
    lab.receive(lab.ack(sq_psn, 0, 0x60));
    REQUIRE(lab.engine.poll_transmit(lab.now)); // 2000 again
    lab.receive(lab.ack(sq_psn + 2, 1));
    CHECK(psns(lab.drain()) == Psns{2003});
    CHECK(lab.sends().size() == 1);
}

TEST_CASE("requester: NAKs use up the retries, progress gives them back",
          "[engine][REQ-12][REQ-14]") {
    Lab lab;
    post(lab, WrOpcode::Send, 4, 1);
    post(lab, WrOpcode::Send, 4, 2);
    CHECK(lab.drain().size() == 2);
    for (int i = 0; i < 3; ++i) {
        lab.receive(lab.ack(sq_psn, 0, 0x60));
        CHECK(lab.drain().size() == 2);
    }
    lab.receive(lab.ack(sq_psn + 1, 1, 0x60)); // the first arrived: three tries more
    CHECK(psns(lab.drain()) == Psns{2001});
    for (int i = 0; i < 2; ++i) {
        lab.receive(lab.ack(sq_psn + 1, 1, 0x60));
        CHECK(psns(lab.drain()) == Psns{2001});
    }
    CHECK(lab.sends().size() == 1);
    lab.receive(lab.ack(sq_psn + 1, 1, 0x60));
    check_failed(lab, 2, WcStatus::RetryExcErr);
}

TEST_CASE("requester: without an answer it sends retry_count and one times",
          "[engine][TMO-01][TMO-03][REQ-13]") {
    const int retries = GENERATE(0, 1, 7);
    LabOptions options;
    options.retry_count = static_cast<std::uint8_t>(retries);
    options.timeout = 8; // 1.048576 ms
    Lab lab(options);
    post(lab, WrOpcode::Send, 4, 1);
    post(lab, WrOpcode::Send, 4, 2);
    const auto nominal = wire::ack_timeout(8).value();
    for (int i = 0; i <= retries; ++i) {
        CHECK(psns(lab.drain()) == Psns{2000, 2001});
        const auto sent_at = lab.now;
        lab.next_deadline();
        CHECK(lab.now - sent_at >= nominal);
        CHECK(lab.now - sent_at <= 4 * nominal);
    }
    CHECK(lab.engine.counters().local_ack_timeout == static_cast<std::uint64_t>(retries) + 1);
    check_failed(lab, 1, WcStatus::RetryExcErr);
}

TEST_CASE("requester: timeout code 0 is never", "[engine][TMO-02]") {
    LabOptions options;
    options.timeout = 0;
    Lab lab(options);
    post(lab, WrOpcode::Send, 4);
    CHECK(lab.drain().size() == 1);
    CHECK_FALSE(lab.engine.next_timeout());
}

TEST_CASE("requester: an answer winds the timer up again", "[engine][TMO-04][N-27]") {
    Lab lab;
    for (std::uint64_t i = 0; i < 6; ++i)
        post(lab, WrOpcode::Send, 4, i);
    CHECK(lab.drain().size() == 6);
    const auto nominal = wire::ack_timeout(14).value();
    for (int i = 0; i < 6; ++i) {
        lab.pass(nominal * 9 / 10);
        CHECK(lab.drain().empty());
        lab.receive(lab.ack(sq_psn + i, static_cast<std::uint32_t>(i) + 1));
    }
    CHECK(lab.sends().size() == 6);
    CHECK(lab.engine.counters().local_ack_timeout == 0);
}

TEST_CASE("requester: an RNR NAK is waited out, and no timeout shortens it",
          "[engine][RNR-08][RNR-10][RNR-12][RNR-13]") {
    LabOptions options;
    options.timeout = 8; // 1 ms
    Lab lab(options);
    post(lab, WrOpcode::Send, 4, 1);
    post(lab, WrOpcode::Send, 4, 2);
    CHECK(lab.drain().size() == 2);
    lab.receive(lab.ack(sq_psn + 1, 1, 0x20 | 26)); // 81.92 ms
    CHECK(lab.sends().size() == 1);                 // RNR-12
    post(lab, WrOpcode::Send, 4, 3);
    CHECK(lab.drain().empty()); // RNR-13
    lab.pass(81'919us);
    CHECK(lab.drain().empty());
    lab.next_deadline();
    CHECK(lab.now == wire::Instant{81'920us});
    CHECK(psns(lab.drain()) == Psns{2001, 2002});
    lab.receive(lab.ack(sq_psn + 2, 3));
    CHECK(lab.sends().size() == 2);
}

TEST_CASE("requester: rnr_retry tries, 7 is for ever, progress gives them back",
          "[engine][RNR-09][RNR-11][N-10]") {
    LabOptions options;
    const int tries = GENERATE(0, 3, 7);
    options.rnr_retry = static_cast<std::uint8_t>(tries);
    Lab lab(options);
    post(lab, WrOpcode::Send, 4, 1);
    post(lab, WrOpcode::Send, 4, 2);
    CHECK(lab.drain().size() == 2);
    const auto rnr = [&lab](int n) {
        lab.receive(lab.ack(sq_psn + n, static_cast<std::uint32_t>(n), 0x21));
    };
    for (int i = 0; i < (tries == 7 ? 40 : tries); ++i) {
        rnr(0);
        lab.next_deadline();
        CHECK(lab.drain().size() == 2);
    }
    if (tries > 0) {
        rnr(1); // 2000 was taken
        CHECK(lab.sends().size() == 1);
        lab.next_deadline();
        CHECK(lab.drain().size() == 1);
    }
    if (tries == 7) return;
    for (int i = 1; i < tries; ++i) {
        rnr(1);
        lab.next_deadline();
        CHECK(lab.drain().size() == 1);
    }
    rnr(tries == 0 ? 0 : 1);
    check_failed(lab, tries == 0 ? 1 : 2, WcStatus::RnrRetryExcErr);
}

TEST_CASE("requester: each fatal NAK ends its own work and the QP",
          "[engine][REQ-16][REQ-19][STA-07]") {
    const auto [code, status] = GENERATE(table<int, WcStatus>({
        {0x61, WcStatus::RemInvReqErr},
        {0x62, WcStatus::RemAccessErr},
        {0x63, WcStatus::RemOpErr},
    }));
    Lab lab;
    lab.post_receive(50, 4);
    for (std::uint64_t i = 1; i <= 4; ++i)
        post(lab, Work(lab, WrOpcode::RdmaWrite, 4, i), {.signaled = i < 4});
    CHECK(lab.drain().size() == 4);
    lab.receive(lab.ack(sq_psn + 1, 1, static_cast<std::uint8_t>(code)));
    const auto done = lab.sends();
    REQUIRE(done.size() == 4);
    CHECK(done[0].status == WcStatus::Success);
    CHECK(done[1].id == 2);
    CHECK(done[1].status == status);
    CHECK(done[2].status == WcStatus::WrFlushErr);
    CHECK(done[3].status == WcStatus::WrFlushErr); // though it was not signalled
    const auto receives = lab.receives();
    REQUIRE(receives.size() == 1);
    CHECK(receives[0].status == WcStatus::WrFlushErr);
    CHECK(lab.state() == QpState::Err);
    post(lab, WrOpcode::Send, 4, 9);
    CHECK(lab.sends().at(0).status == WcStatus::WrFlushErr);
    lab.post_receive(51, 4);
    CHECK(lab.receives().at(0).id == 51);
}
