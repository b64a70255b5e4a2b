// What a requester does in the course of time: right ones pass, each breach is found.
#include <catch2/catch.hpp>

#include "tests/conformance/model/scene.hpp"

namespace veriroce::model::test {
namespace {

using wire::WrOpcode;

void set(Scene& scene, dut::QpAttributes attributes) {
    scene.call(dut::QpModify{.qp = kQp, .attributes = std::move(attributes)});
}

dut::SendRequest of(WrOpcode opcode, std::uint32_t length) {
    dut::SendRequest made = request(opcode, 0, length);
    made.remote_address = 0x1000;
    made.rkey = wire::Rkey{0xABCD};
    made.flags.signaled = true;
    return made;
}

void hear_write(Scene& scene, std::int64_t psn, bool asks = true) {
    scene.heard("RDMA_WRITE_ONLY", psn, filled(0, 8), {.packet = [=](wire::Packet& packet) {
                    packet.reth = {.virtual_address = 0x1000, .rkey = {0xABCD}, .dma_length = 8};
                    packet.bth.ack_request = asks;
                }});
}

void hear_read(Scene& scene, std::int64_t psn) {
    scene.heard("RDMA_READ_REQUEST", psn, {}, {.packet = [](wire::Packet& packet) {
                    packet.reth = {.virtual_address = 0x1000, .rkey = {0xABCD}, .dma_length = 8};
                }});
}

Scene with_write(std::uint8_t timeout, std::uint8_t retries) {
    Scene scene;
    set(scene, {.timeout = timeout, .retry_cnt = retries});
    scene.post(of(WrOpcode::RdmaWrite, 8));
    return scene;
}

std::string after_copies(Scene scene, int count) {
    for (int i = 0; i < count; ++i)
        hear_write(scene, 0);
    return scene.found();
}

} // namespace

TEST_CASE("requester duties: READs and atomics outstanding have a limit", "[model][REQ-27]") {
    const auto two = [](bool answered) {
        Scene scene;
        set(scene, {.max_rd_atomic = std::uint8_t{1}});
        scene.post(of(WrOpcode::RdmaRead, 8));
        scene.post(of(WrOpcode::RdmaRead, 8));
        hear_read(scene, 0);
        if (answered) scene.sent("RDMA_READ_RESPONSE_ONLY", 0, filled(0, 8));
        hear_read(scene, 0); // sent again: none more
        hear_read(scene, 1);
        return scene.found();
    };
    CHECK(two(true) == "");
    CHECK(two(false) == "REQ-27 outstanding");
}

TEST_CASE("requester duties: a fence waits for READs and atomics", "[model][REQ-28]") {
    const auto fenced = [](bool answered, bool fence) {
        Scene scene;
        dut::SendRequest write = of(WrOpcode::RdmaWrite, 8);
        write.flags.fence = fence;
        scene.post(of(WrOpcode::RdmaRead, 8));
        scene.post(write);
        hear_read(scene, 0);
        if (answered) scene.sent("RDMA_READ_RESPONSE_ONLY", 0, filled(0, 8));
        hear_write(scene, 1);
        return scene.found();
    };
    CHECK(fenced(true, true) == "");
    CHECK(fenced(false, false) == "");
    CHECK(fenced(false, true) == "REQ-28 fence");
}

TEST_CASE("requester duties: ATOMIC WRITEs count among READs", "[model][REQ-27]") {
    const auto two = [](bool answered) {
        Scene scene;
        set(scene, {.max_rd_atomic = std::uint8_t{1}});
        scene.post(of(WrOpcode::RdmaRead, 8));
        scene.post(of(WrOpcode::AtomicWrite, 8));
        hear_read(scene, 0);
        if (answered) scene.sent("RDMA_READ_RESPONSE_ONLY", 0, filled(0, 8));
        scene.heard("ATOMIC_WRITE", 1, filled(0, 8), {.packet = [](wire::Packet& packet) {
                        packet.reth = {
                            .virtual_address = 0x1000, .rkey = {0xABCD}, .dma_length = 8};
                    }});
        return scene.found();
    };
    CHECK(two(true) == "");
    CHECK(two(false) == "REQ-27 outstanding");
}

TEST_CASE("requester duties: silence has no more retries than retry_cnt", "[model][TMO-03]") {
    CHECK(after_copies(with_write(1, 2), 3) == "");
    CHECK(after_copies(with_write(1, 2), 4) == "TMO-03 psn");
    CHECK(after_copies(with_write(0, 2), 1) == "");
    CHECK(after_copies(with_write(0, 2), 2) == "TMO-02 psn");
}

TEST_CASE("requester duties: it gives up after all retries, not before", "[model][TMO-03]") {
    const auto gives_up_after = [](int copies) {
        Scene scene = with_write(1, 2);
        for (int i = 0; i < copies; ++i)
            hear_write(scene, 0);
        scene.call(dut::Poll{},
                   dut::Result{dut::Polled{
                       .completions = {{.qp = kQp, .status = wire::WcStatus::RetryExcErr}}}});
        return scene.found();
    };
    CHECK(gives_up_after(3) == "");
    CHECK(gives_up_after(2) == "TMO-03 completion");
}

TEST_CASE("requester duties: silence makes it send again", "[model][TMO-01]") {
    const auto after_silence = [](std::uint8_t timeout, int copies) {
        Scene scene = with_write(timeout, 7);
        for (int i = 0; i < copies; ++i)
            hear_write(scene, 0);
        return scene.found_alive();
    };
    CHECK(after_silence(14, 2) == "");
    CHECK(after_silence(14, 1) == "TMO-01 psn"); // 67 ms
    CHECK(after_silence(20, 1) == "");           // 4.3 s
    CHECK(after_silence(0, 1) == "");
}

TEST_CASE("requester duties: a resend begins at the oldest unanswered PSN", "[model][TMO-06]") {
    const auto resends = [](std::int64_t psn, std::int64_t acknowledged) {
        Scene scene = with_write(14, 7);
        scene.post(of(WrOpcode::RdmaWrite, 8));
        scene.post(of(WrOpcode::RdmaWrite, 8));
        for (std::int64_t one = 0; one < 3; ++one)
            hear_write(scene, one);
        if (acknowledged > 0) scene.sent("ACKNOWLEDGE", acknowledged - 1);
        hear_write(scene, psn);
        const wire::Instant later = wire::Instant{} + std::chrono::milliseconds(100);
        scene.story.packets.back().at = {later, later};
        return scene.found();
    };
    CHECK(resends(0, 0) == "");
    CHECK(resends(1, 1) == "");
    CHECK(resends(1, 0) == "TMO-06 psn");
    CHECK(resends(2, 1) == "TMO-06 psn");
    CHECK(resends(0, 1) == "TMO-06 psn");
}

TEST_CASE("requester duties: an answer lets a resend go on behind what it sent before",
          "[model][TMO-06]") {
    const auto goes_on = [](std::int64_t answered_ms) {
        const auto at = [](Scene& scene, std::int64_t when) {
            const wire::Instant instant = wire::Instant{} + std::chrono::milliseconds(when);
            scene.story.packets.back().at = {instant, instant};
        };
        Scene scene = with_write(14, 7); // 67 ms
        scene.post(of(WrOpcode::RdmaWrite, 8));
        scene.post(of(WrOpcode::RdmaWrite, 8));
        for (std::int64_t one = 0; one < 3; ++one)
            hear_write(scene, one);
        scene.sent("ACKNOWLEDGE", 0);
        at(scene, answered_ms);
        hear_write(scene, 2);
        at(scene, 100);
        return scene.found();
    };
    CHECK(goes_on(99) == "");
    CHECK(goes_on(10) == "TMO-06 psn");
}

TEST_CASE("requester duties: a READ may be asked for again from its first PSN", "[model][REQ-09]") {
    constexpr std::uint32_t kLength = 2 * 256 + 8; // three packets
    const auto asked_again = [](std::int64_t answered) {
        const auto ask = [](Scene& scene) {
            scene.heard("RDMA_READ_REQUEST", 0, {}, {.packet = [](wire::Packet& packet) {
                            packet.reth = {
                                .virtual_address = 0x1000, .rkey = {0xABCD}, .dma_length = kLength};
                        }});
        };
        Scene scene;
        set(scene, {.timeout = std::uint8_t{14}, .retry_cnt = std::uint8_t{7}});
        scene.post(of(WrOpcode::RdmaRead, kLength));
        ask(scene);
        scene.sent("RDMA_READ_RESPONSE_FIRST", 0, filled(0, 256));
        if (answered > 1) scene.sent("RDMA_READ_RESPONSE_MIDDLE", 1, filled(256, 256));
        if (answered > 2) {
            scene.sent("RDMA_READ_RESPONSE_LAST", 2, filled(512, 8),
                       {.packet = [](wire::Packet& packet) { packet.aeth.msn = {1}; }});
        }
        ask(scene);
        const wire::Instant later = wire::Instant{} + std::chrono::milliseconds(20);
        scene.story.packets.back().at = {later, later};
        return scene.found();
    };
    CHECK(asked_again(1) == "");
    CHECK(asked_again(2) == "");
    CHECK(asked_again(3) == "TMO-06 psn");
}

TEST_CASE("requester duties: an answer after the timeout may come too late", "[model][REQ-33]") {
    const auto resent_after_answer_at = [](std::int64_t milliseconds) {
        const auto at = [](Scene& scene, std::int64_t when) {
            const wire::Instant instant = wire::Instant{} + std::chrono::milliseconds(when);
            scene.story.packets.back().at = {instant, instant};
        };
        Scene scene = with_write(14, 7); // 67 ms
        hear_write(scene, 0);
        scene.sent("ACKNOWLEDGE", 0);
        at(scene, milliseconds);
        hear_write(scene, 0);
        at(scene, 100);
        return scene.found();
    };
    CHECK(resent_after_answer_at(80) == "");
    CHECK(resent_after_answer_at(60) == "TMO-06 psn");
}

TEST_CASE("requester duties: it asks for the answer that it waits for", "[model][BTH-18]") {
    const auto after = [](bool asks, bool answered) {
        Scene scene = with_write(20, 7);
        hear_write(scene, 0, asks);
        if (answered) scene.sent("ACKNOWLEDGE", 0);
        return scene.found_alive();
    };
    CHECK(after(true, false) == "");
    CHECK(after(false, true) == "");
    CHECK(after(false, false) == "BTH-18 ackreq");
}

TEST_CASE("requester duties: what nothing holds back is sent", "[model][N-18]") {
    Scene never = with_write(20, 7);
    CHECK(Scene(never).found_alive() == "N-18 request");
    hear_write(never, 0);
    CHECK(Scene(never).found_alive() == "");
    never.post(of(WrOpcode::RdmaWrite, 8));
    CHECK(Scene(never).found_alive() == ""); // it may wait for the first answer
    never.sent("ACKNOWLEDGE", 0);
    CHECK(Scene(never).found_alive() == "N-18 request");
    hear_write(never, 1);
    CHECK(never.found_alive() == "");
}

TEST_CASE("requester duties: a sequence NAK makes it send again", "[model][REQ-11]") {
    const auto after_nak = [](std::int64_t refused, std::vector<std::int64_t> resent,
                              std::int64_t acknowledged = 0) {
        Scene scene = with_write(20, 7);
        scene.post(of(WrOpcode::RdmaWrite, 8));
        hear_write(scene, 0);
        hear_write(scene, 1);
        if (acknowledged > 0) scene.sent("ACKNOWLEDGE", acknowledged - 1);
        scene.sent("ACKNOWLEDGE", refused, {}, {.packet = [](wire::Packet& packet) {
                       packet.aeth.syndrome = wire::Syndrome::nak(wire::NakCode::PsnSequence);
                   }});
        for (const std::int64_t one : resent)
            hear_write(scene, one);
        return scene.found_alive();
    };
    CHECK(after_nak(0, {}) == "REQ-11 psn");
    CHECK(after_nak(1, {}) == "REQ-11 psn");
    CHECK(after_nak(0, {0, 1}) == "");
    CHECK(after_nak(1, {1}) == "");
    CHECK(after_nak(0, {1}) == "REQ-11 psn");
    CHECK(after_nak(0, {}, 1) == ""); // REQ-18: it was acknowledged
    CHECK(after_nak(2, {}) == "");    // it was never sent
}

namespace {

// What comes last in the story came then.
void later(Scene& scene, std::int64_t ms) {
    const wire::Instant then = wire::Instant{} + std::chrono::milliseconds(ms);
    scene.story.packets.back().at = {then, then};
}

std::string after_late_request(std::int64_t ms) {
    Scene scene = with_write(20, 7);
    hear_write(scene, 0);
    later(scene, ms);
    scene.sent("ACKNOWLEDGE", 0);
    later(scene, ms);
    return scene.found_alive();
}

// The WRITE is refused and comes again then; of RNR the time is 0.01 ms.
std::string after_late_resend(wire::Syndrome syndrome, std::int64_t ms) {
    Scene scene = with_write(20, 7);
    hear_write(scene, 0);
    scene.sent("ACKNOWLEDGE", 0, {},
               {.packet = [=](wire::Packet& packet) { packet.aeth.syndrome = syndrome; }});
    hear_write(scene, 0);
    later(scene, ms);
    scene.sent("ACKNOWLEDGE", 0);
    later(scene, ms);
    return scene.found_alive();
}

} // namespace

TEST_CASE("requester duties: what was done too late counts", "[model][N-18][REQ-11][RNR-08]") {
    CHECK(after_late_request(5) == "");
    CHECK(after_late_request(30) == "N-18 request");
    const wire::Syndrome nak = wire::Syndrome::nak(wire::NakCode::PsnSequence);
    CHECK(after_late_resend(nak, 5) == "");
    CHECK(after_late_resend(nak, 30) == "REQ-11 psn");
    CHECK(after_late_resend(wire::Syndrome::rnr(1), 5) == "");
    CHECK(after_late_resend(wire::Syndrome::rnr(1), 30) == "RNR-08 psn");
    CHECK(after_late_resend(wire::Syndrome::rnr(24), 600) == ""); // 40.96 ms, up to 16 times
}

TEST_CASE("requester duties: a QP that has failed since owed nothing", "[model][N-18]") {
    Scene scene = with_write(20, 7);
    hear_write(scene, 0);
    later(scene, 30);
    dut::Completion failed{.qp = kQp, .status = wire::WcStatus::LocProtErr};
    scene.call(dut::Poll{}, dut::Result{dut::Polled{.completions = {failed}}});
    CHECK(scene.found_alive() == "");
}

namespace {

// Three WRITEs leave, the tester refuses number `refused`, and then the others leave.
std::string after_refusal(std::int64_t refused, std::vector<std::int64_t> then, bool rnr = false,
                          std::int64_t pause_ms = 0) {
    Scene scene = with_write(20, 7);
    for (int i = 0; i < 3; ++i)
        scene.post(of(WrOpcode::RdmaWrite, 8));
    for (std::int64_t one = 0; one < 3; ++one)
        hear_write(scene, one);
    scene.sent("ACKNOWLEDGE", refused, {}, {.packet = [=](wire::Packet& packet) {
                   packet.aeth.syndrome = rnr ? wire::Syndrome::rnr(1)
                                              : wire::Syndrome::nak(wire::NakCode::PsnSequence);
               }});
    for (const std::int64_t one : then) {
        hear_write(scene, one);
        const wire::Instant later = wire::Instant{} + std::chrono::milliseconds(pause_ms);
        if (pause_ms > 0) scene.story.packets.back().at = {later, later};
    }
    return scene.found();
}

} // namespace

TEST_CASE("requester duties: after a NAK it goes on with the PSN named", "[model][REQ-11]") {
    for (const bool rnr : {false, true}) {
        const std::string rule = rnr ? "RNR-08 psn" : "REQ-11 psn";
        CHECK(after_refusal(1, {1, 2, 3}, rnr) == "");
        CHECK(after_refusal(1, {3, 1, 2, 3}, rnr) == ""); // 3 was under way
        CHECK(after_refusal(1, {3}, rnr, 5) == rule);
        CHECK(after_refusal(2, {1, 2}, rnr) == rule);
        CHECK(after_refusal(0, {0, 1, 2}, rnr) == "");
    }
}

TEST_CASE("requester duties: a NAK behind data that was dropped asks for that data again",
          "[model][REQ-09]") {
    const auto refuse = [](Scene& scene, std::int64_t psn) {
        scene.sent("ACKNOWLEDGE", psn, {}, {.packet = [](wire::Packet& packet) {
                       packet.aeth.syndrome = wire::Syndrome::rnr(1);
                   }});
    };
    const auto answer = [](Scene& scene, std::int64_t psn) {
        scene.sent("RDMA_READ_RESPONSE_ONLY", psn, filled(0, 8));
    };
    // Two READs and a WRITE leave; the answers come in this order, and then an RNR NAK for 2.
    const auto goes_on_with = [&](std::vector<std::int64_t> answers, bool twice, std::int64_t psn) {
        Scene scene;
        set(scene, {.timeout = std::uint8_t{20}, .retry_cnt = std::uint8_t{7}});
        for (const WrOpcode one : {WrOpcode::RdmaRead, WrOpcode::RdmaRead, WrOpcode::RdmaWrite})
            scene.post(of(one, 8));
        hear_read(scene, 0);
        hear_read(scene, 1);
        hear_write(scene, 2);
        for (const std::int64_t one : answers)
            answer(scene, one);
        if (twice) hear_read(scene, 1); // it dropped that answer
        refuse(scene, 2);
        psn == 2 ? hear_write(scene, 2) : hear_read(scene, psn);
        return scene.found();
    };
    CHECK(goes_on_with({0, 1}, false, 2) == "");
    CHECK(goes_on_with({0, 1}, false, 1) == "RNR-08 psn");
    CHECK(goes_on_with({1, 0}, false, 1) == ""); // 1 came out of order
    CHECK(goes_on_with({0}, false, 1) == "");
    CHECK(goes_on_with({0, 1}, true, 1) == "");
}

namespace {

void ask_again(Scene& scene, std::int64_t psn) {
    scene.sent("ACKNOWLEDGE", psn, {}, {.packet = [](wire::Packet& packet) {
                   packet.aeth.syndrome = wire::Syndrome::nak(wire::NakCode::PsnSequence);
               }});
}

} // namespace

TEST_CASE("requester duties: a NAK of a READ brings none of its data", "[model][REQ-09]") {
    const auto goes_on_with_1 = [](std::vector<std::int64_t> answers) {
        Scene scene;
        set(scene, {.timeout = std::uint8_t{20}, .retry_cnt = std::uint8_t{7}});
        for (const WrOpcode one : {WrOpcode::RdmaRead, WrOpcode::RdmaRead, WrOpcode::RdmaWrite})
            scene.post(of(one, 8));
        hear_read(scene, 0);
        hear_read(scene, 1);
        hear_write(scene, 2);
        ask_again(scene, 0);
        for (const std::int64_t one : answers)
            scene.sent("RDMA_READ_RESPONSE_ONLY", one, filled(0, 8));
        ask_again(scene, 2);
        hear_read(scene, 1);
        return scene.found();
    };
    CHECK(goes_on_with_1({1, 0}) == ""); // 1 came out of order
    CHECK(goes_on_with_1({0, 1}) == "REQ-11 psn");
}

TEST_CASE("requester duties: a resend that a later answer overtook may still leave",
          "[model][REQ-11]") {
    const auto after = [](std::int64_t pause_ms) {
        Scene scene = with_write(20, 7);
        for (int i = 0; i < 3; ++i)
            scene.post(of(WrOpcode::RdmaWrite, 8));
        for (std::int64_t one = 0; one < 4; ++one)
            hear_write(scene, one);
        ask_again(scene, 1);
        scene.sent("ACKNOWLEDGE", 1);
        ask_again(scene, 2);
        const wire::Instant later = wire::Instant{} + std::chrono::milliseconds(pause_ms);
        scene.story.packets.back().at = {later, later};
        hear_write(scene, 1);
        scene.story.packets.back().at = {later, later};
        return scene.found();
    };
    CHECK(after(0) == "");
    CHECK(after(1) == "");
    CHECK(after(2) == "REQ-11 psn; TMO-06 psn");
}

// Its answer is lost, and a NAK for the next request acknowledges it all the same.
TEST_CASE("requester duties: a READ that a NAK named may come again after the next one",
          "[model][REQ-11]") {
    const auto nak = [](Scene& scene, std::int64_t psn) {
        scene.sent("ACKNOWLEDGE", psn, {}, {.packet = [](wire::Packet& packet) {
                       packet.aeth.syndrome = wire::Syndrome::nak(wire::NakCode::PsnSequence);
                   }});
    };
    Scene scene;
    set(scene, {.timeout = std::uint8_t{20}, .retry_cnt = std::uint8_t{7}});
    scene.post(of(WrOpcode::RdmaRead, 8));
    scene.post(of(WrOpcode::RdmaWrite, 8));
    hear_read(scene, 0);
    hear_write(scene, 1);
    nak(scene, 0);
    nak(scene, 1);
    hear_read(scene, 0);
    hear_write(scene, 1);
    CHECK(scene.found() == "");
}

TEST_CASE("requester duties: what is posted in SQD waits", "[model][STA-06]") {
    const auto found = [](wire::QpState state, bool before) {
        Scene scene = with_write(20, 7);
        set(scene, {.state = wire::QpState::Sqd});
        if (state != wire::QpState::Sqd) set(scene, {.state = state});
        scene.post(of(WrOpcode::RdmaWrite, 8));
        hear_write(scene, 0);
        if (!before) hear_write(scene, 1);
        return scene.found();
    };
    CHECK(found(wire::QpState::Sqd, true) == ""); // it was posted before
    CHECK(found(wire::QpState::Sqd, false) == "STA-06 psn");
    CHECK(found(wire::QpState::Rts, false) == "");
}

TEST_CASE("requester duties: a NAK for what is answered asks for nothing", "[model][REQ-18]") {
    Scene scene = with_write(20, 7);
    set(scene, {.max_rd_atomic = std::uint8_t{1}});
    hear_write(scene, 0);
    scene.post(of(WrOpcode::RdmaRead, 8));
    hear_read(scene, 1);
    scene.sent("RDMA_READ_RESPONSE_ONLY", 1, filled(0, 8));
    scene.post(of(WrOpcode::RdmaWrite, 8));
    hear_write(scene, 2);
    scene.sent("ACKNOWLEDGE", 2);
    scene.sent("ACKNOWLEDGE", 2, {}, {.packet = [](wire::Packet& packet) {
                   packet.aeth.syndrome = wire::Syndrome::rnr(1);
               }});
    scene.post(of(WrOpcode::RdmaWrite, 8));
    hear_write(scene, 3);
    const wire::Instant later = wire::Instant{} + std::chrono::milliseconds(5);
    scene.story.packets.back().at = {later, later};
    CHECK(scene.found() == "");
}

TEST_CASE("requester duties: a resend leaves nothing out", "[model][REQ-11]") {
    CHECK(after_refusal(0, {0, 2}) == "REQ-11 psn");
    CHECK(after_refusal(0, {0, 1, 0, 1, 2, 3}) == "");
    Scene scene = with_write(20, 7);
    scene.post(of(WrOpcode::RdmaWrite, 8));
    scene.post(of(WrOpcode::RdmaWrite, 8));
    for (const std::int64_t one : {0, 1, 2, 0})
        hear_write(scene, one);
    scene.sent("ACKNOWLEDGE", 1);
    hear_write(scene, 2); // 1 is answered by now
    CHECK(scene.found() == "");
}

TEST_CASE("requester duties: a queue is drained behind the answers", "[model][STA-06]") {
    const auto drained = [](std::uint32_t answers, std::uint32_t changes) {
        Scene scene;
        scene.post(of(WrOpcode::RdmaWrite, 8));
        scene.post(of(WrOpcode::RdmaWrite, 8));
        hear_write(scene, 0);
        hear_write(scene, 1);
        for (std::uint32_t i = 0; i < changes; ++i)
            set(scene, {.state = wire::QpState::Sqd, .en_sqd_async_notify = true});
        for (std::uint32_t i = 0; i < answers; ++i)
            scene.sent("ACKNOWLEDGE", i);
        dut::EventList list;
        list.events.push_back({.type = wire::EventType::SqDrained, .qp = kQp});
        scene.call(dut::Events{}, list);
        return scene.found();
    };
    CHECK(drained(2, 1) == "");
    CHECK(drained(1, 1) == "STA-06 event");
    CHECK(drained(0, 1) == "STA-06 event");
    CHECK(drained(0, 2) == ""); // it may be the event of the first change
}

} // namespace veriroce::model::test
