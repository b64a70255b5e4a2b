// What completions may tell: right ones pass, each wrong one is found.
#include <catch2/catch.hpp>

#include "tests/conformance/model/owner_scene.hpp"

namespace veriroce::model::test {
namespace {

dut::Completion send_done(std::uint64_t id) {
    return {.id = id, .queue = wire::Queue::Send, .opcode = wire::WcOpcode::Send};
}

dut::Completion received(std::uint64_t id, std::uint32_t byte_len = 7) {
    return {.id = id,
            .queue = wire::Queue::Receive,
            .opcode = wire::WcOpcode::Recv,
            .byte_len = byte_len};
}

// Two SENDs of the device, 1 and 2, both acknowledged.
OwnerScene two_sends(bool signaled = true) {
    OwnerScene scene;
    scene.post(wire::WrOpcode::Send, 1, 0, 4, signaled);
    scene.post(wire::WrOpcode::Send, 2, 4, 4);
    scene.sent("ACKNOWLEDGE", 1);
    return scene;
}

// Two SENDs of the tester to the receives 1 and 2, both acknowledged.
OwnerScene two_receives() {
    OwnerScene scene;
    scene.receive(1, 0, 16);
    scene.receive(2, 16, 16);
    scene.sent("SEND_ONLY", 0, OwnerScene::data(7));
    scene.sent("SEND_ONLY", 1, OwnerScene::data(7));
    scene.acknowledged(1);
    return scene;
}

rules::FindingClass kind_of(const OwnerScene& scene) {
    const auto found = check_memory(scene.story, {});
    REQUIRE(found.size() == 1);
    return found.front().kind;
}

std::string after(OwnerScene scene, const std::vector<dut::Completion>& completions) {
    for (const dut::Completion& one : completions)
        scene.polled(one);
    return scene.found();
}

} // namespace

TEST_CASE("completions: sends complete in posting order, each once", "[model][N-20]") {
    CHECK(after(two_sends(), {send_done(1), send_done(2)}) == "");
    CHECK(after(two_sends(), {send_done(1)}) == "");
    CHECK(after(two_sends(), {send_done(2)}) == "N-20 completion");
    CHECK(after(two_sends(), {send_done(1), send_done(1)}) == "N-20 completion");
    CHECK(after(two_sends(), {send_done(1), send_done(2), send_done(3)}) == "N-20 completion");
}

TEST_CASE("completions: those of one poll are in order as well", "[model][N-20][N-21]") {
    OwnerScene right = two_sends();
    right.polled_at_once({send_done(1), send_done(2)});
    CHECK(right.found() == "");
    OwnerScene wrong = two_sends();
    wrong.polled_at_once({send_done(2), send_done(1)});
    CHECK(wrong.found() != "");
    OwnerScene receives = two_receives();
    receives.polled_at_once({received(1), received(2)});
    CHECK(receives.found() == "");
    OwnerScene swapped = two_receives();
    swapped.polled_at_once({received(2), received(1)});
    CHECK(swapped.found().starts_with("N-21 completion"));
}

TEST_CASE("completions: what is not signaled succeeds in silence", "[model][N-20]") {
    CHECK(after(two_sends(false), {send_done(2)}) == "");
    CHECK(after(two_sends(false), {send_done(1), send_done(2)}) == "N-20 completion");
}

TEST_CASE("completions: a send names its own operation", "[model][REQ-34]") {
    dut::Completion wrong = send_done(1);
    wrong.opcode = wire::WcOpcode::RdmaWrite;
    CHECK(after(two_sends(), {wrong}) == "REQ-34 completion");
    wrong.status = wire::WcStatus::WrFlushErr; // then the verbs define nothing else
    CHECK(after(two_sends(), {wrong}) == "");
}

TEST_CASE("completions: nothing completes before its answer", "[model][REQ-03]") {
    OwnerScene scene;
    scene.post(wire::WrOpcode::Send, 1, 0, 4);
    CHECK(after(scene, {send_done(1)}) == "REQ-03 completion");
    scene.post(wire::WrOpcode::RdmaRead, 2, 0, 4);
    scene.sent("ACKNOWLEDGE", 1);
    dut::Completion read = send_done(2);
    read.opcode = wire::WcOpcode::RdmaRead;
    read.byte_len = 4;
    CHECK(after(scene, {send_done(1)}) == "");
    CHECK(after(scene, {send_done(1), read}) == "REQ-20 completion");
}

// What answers a request that was not seen: it may be on its way, or lost, or damaged.
TEST_CASE("completions: an answer may meet its request on the way", "[model][REQ-03]") {
    OwnerScene scene;
    scene.post(wire::WrOpcode::Send, 1, 0, 4);
    scene.post(wire::WrOpcode::Send, 2, 4, 4);
    scene.heard("SEND_ONLY", 0, OwnerScene::data(4));
    scene.sent("ACKNOWLEDGE", 0);
    scene.sent("ACKNOWLEDGE", 1);
    OwnerScene met = scene;
    met.heard("SEND_ONLY", 1, OwnerScene::data(4));
    CHECK(after(met, {send_done(1), send_done(2)}) == "");
    CHECK(after(scene, {send_done(1), send_done(2)}) == "REQ-03 completion");
    OwnerScene late = scene;
    late.now += std::chrono::milliseconds(5);
    late.heard("SEND_ONLY", 1, OwnerScene::data(4));
    CHECK(after(late, {send_done(1), send_done(2)}) == "REQ-03 completion");

    scene.polled(send_done(1));
    scene.polled(send_done(2));
    CHECK(kind_of(scene) == rules::FindingClass::Contradiction);
    scene.story.setting.exact = false;
    CHECK(kind_of(scene) == rules::FindingClass::Absence);
}

// What was dropped in a gap may come again later, as a late copy.
TEST_CASE("completions: a copy may be what a receive took", "[model][N-21]") {
    OwnerScene scene;
    scene.receive(1, 0, 16);
    scene.sent("SEND_ONLY", 1, OwnerScene::data(7));
    scene.polled(received(1));
    CHECK(kind_of(scene) == rules::FindingClass::Contradiction);
    scene.story.setting.exact = false;
    CHECK(kind_of(scene) == rules::FindingClass::Surplus);
}

TEST_CASE("completions: a READ is not done with a response of a wrong length", "[model][REQ-21]") {
    const auto after_response = [](std::vector<std::size_t> lengths) {
        OwnerScene scene;
        scene.post(wire::WrOpcode::RdmaRead, 2, 0, 4);
        scene.heard("RDMA_READ_REQUEST", 0, {}, OwnerScene::to(0, 4));
        for (const std::size_t length : lengths)
            scene.sent("RDMA_READ_RESPONSE_ONLY", 0, OwnerScene::data(length));
        dut::Completion read = send_done(2);
        read.opcode = wire::WcOpcode::RdmaRead;
        read.byte_len = 4;
        return after(scene, {read});
    };
    CHECK(after_response({4}) == "");
    CHECK(after_response({3}) == "REQ-20 completion");
    CHECK(after_response({5}) == "REQ-20 completion");
    CHECK(after_response({3, 4}) == ""); // the device dropped the first one
}

TEST_CASE("completions: a FLUSH and an ATOMIC WRITE wait for their READ response",
          "[model][REQ-20]") {
    for (const auto opcode : {wire::WrOpcode::Flush, wire::WrOpcode::AtomicWrite}) {
        OwnerScene scene;
        scene.post(opcode, 1, 0, 8);
        dut::Completion done = send_done(1);
        done.opcode =
            opcode == wire::WrOpcode::Flush ? wire::WcOpcode::Flush : wire::WcOpcode::AtomicWrite;
        scene.sent("ACKNOWLEDGE", 0);
        CHECK(after(scene, {done}) == "REQ-20 completion");
        scene.sent("RDMA_READ_RESPONSE_ONLY", 0);
        CHECK(after(scene, {done}) == "");
        done.opcode = wire::WcOpcode::Send;
        CHECK(after(scene, {done}) == "REQ-34 completion");
    }
}

TEST_CASE("completions: receives complete in order with the message's values", "[model][N-21]") {
    CHECK(after(two_receives(), {received(1), received(2)}) == "");
    CHECK(after(two_receives(), {received(2), received(1)}) != "");
    CHECK(after(two_receives(), {received(1, 8)}) == "N-21 completion");
    dut::Completion with_imm = received(1);
    with_imm.imm = 5;
    CHECK(after(two_receives(), {with_imm}) == "N-21 completion");
    dut::Completion other = received(1);
    other.opcode = wire::WcOpcode::RecvRdmaWithImm;
    CHECK(after(two_receives(), {other}) == "N-21 completion");
}

TEST_CASE("completions: a WRITE with immediate tells its whole length", "[model][N-15]") {
    const auto play = [](std::uint32_t byte_len, std::optional<std::uint32_t> imm) {
        OwnerScene scene;
        scene.receive(1, 0, 16);
        scene.sent("RDMA_WRITE_FIRST", 0, OwnerScene::data(256), OwnerScene::to(0, 300));
        scene.sent("RDMA_WRITE_LAST_WITH_IMM", 1, OwnerScene::data(44),
                   [](wire::Packet& packet) { packet.imm.value = 0x12345678; });
        scene.acknowledged(1);
        dut::Completion done = received(1, byte_len);
        done.opcode = wire::WcOpcode::RecvRdmaWithImm;
        done.imm = imm;
        return after(scene, {done});
    };
    CHECK(play(300, 0x12345678) == "");
    CHECK(play(44, 0x12345678) == "N-15 completion");
    CHECK(play(300, 0x78563412) == "N-15 completion");
    CHECK(play(300, std::nullopt) == "N-15 completion");
}

TEST_CASE("completions: an acknowledged message completes its receive", "[model][N-21]") {
    OwnerScene scene = two_receives();
    scene.polled(received(1));
    scene.polled_nothing();
    CHECK(scene.found() == "N-21 completion");
    OwnerScene all = two_receives();
    all.polled(received(1));
    all.polled(received(2));
    all.polled_nothing();
    CHECK(all.found() == "");
}

namespace {

// Two requests of the device, of which the tester answers up to a PSN.
OwnerScene two_requests(wire::WrOpcode second) {
    OwnerScene scene;
    scene.bring_to(wire::QpState::Rts);
    scene.post(wire::WrOpcode::Send, 1, 0, 4);
    scene.post(second, 2, 4, 4);
    scene.heard("SEND_ONLY", 0, OwnerScene::data(4));
    const bool read = second == wire::WrOpcode::RdmaRead;
    scene.heard(read ? "RDMA_READ_REQUEST" : "SEND_ONLY", 1,
                read ? std::vector<std::byte>{} : OwnerScene::data(4),
                [](wire::Packet& packet) { packet.reth.dma_length = 4; });
    return scene;
}

void answer(OwnerScene& scene, std::string_view opcode, std::int64_t psn, std::uint32_t msn) {
    const bool data = opcode != "ACKNOWLEDGE";
    scene.sent(opcode, psn, data ? OwnerScene::data(4) : std::vector<std::byte>{},
               [=](wire::Packet& packet) { packet.aeth.msn = {msn}; });
}

} // namespace

TEST_CASE("completions: a request that is answered completes", "[model][REQ-03][REQ-34]") {
    const auto found = [](OwnerScene scene, const std::vector<dut::Completion>& completions) {
        for (const dut::Completion& one : completions)
            scene.polled(one);
        scene.polled_nothing();
        return scene.found();
    };
    OwnerScene both = two_requests(wire::WrOpcode::Send);
    answer(both, "ACKNOWLEDGE", 1, 2);
    CHECK(found(both, {send_done(1), send_done(2)}) == "");
    CHECK(found(both, {send_done(1)}) == "REQ-03 completion");
    CHECK(found(both, {}) == "REQ-03 completion");
    OwnerScene first = two_requests(wire::WrOpcode::Send);
    answer(first, "ACKNOWLEDGE", 0, 1);
    CHECK(found(first, {}) == "REQ-03 completion");
    CHECK(found(first, {send_done(1)}) == "");
    OwnerScene odd = two_requests(wire::WrOpcode::Send);
    answer(odd, "ACKNOWLEDGE", 1, 5); // REQ-05: by its MSN it answers something else
    CHECK(found(odd, {}) == "");
    OwnerScene refused = two_requests(wire::WrOpcode::Send);
    refused.sent("ACKNOWLEDGE", 1, {}, [](wire::Packet& packet) {
        packet.aeth.syndrome = wire::Syndrome::nak(wire::NakCode::PsnSequence);
        packet.aeth.msn = {1};
    });
    answer(refused, "ACKNOWLEDGE", 1, 2); // REQ-18: of what it has yet to send again
    CHECK(found(refused, {send_done(1)}) == "");
    // The response of a READ also answers the SEND before it.
    OwnerScene read = two_requests(wire::WrOpcode::RdmaRead);
    answer(read, "RDMA_READ_RESPONSE_ONLY", 1, 2);
    dut::Completion done = send_done(2);
    done.opcode = wire::WcOpcode::RdmaRead;
    done.byte_len = 4;
    CHECK(found(read, {send_done(1), done}) == "");
    CHECK(found(read, {send_done(1)}) == "REQ-34 completion");
    CHECK(found(read, {}) == "REQ-03 completion");
    OwnerScene acknowledged = two_requests(wire::WrOpcode::RdmaRead);
    answer(acknowledged, "ACKNOWLEDGE", 1, 2); // REQ-20: no answer to a READ
    CHECK(found(acknowledged, {}) == "");
}

TEST_CASE("completions: local work completes behind what is answered", "[model][N-20]") {
    const auto found = [](OwnerScene scene, const std::vector<std::uint64_t>& done) {
        for (const std::uint64_t id : done) {
            dut::Completion one = send_done(id);
            if (id == 3) one.opcode = wire::WcOpcode::LocalInv;
            scene.polled(one);
        }
        scene.polled_nothing();
        return scene.found();
    };
    OwnerScene scene = two_requests(wire::WrOpcode::Send);
    scene.post(wire::WrOpcode::LocalInv, 3, 0, 0);
    CHECK(found(scene, {}) == ""); // nothing has answered
    answer(scene, "ACKNOWLEDGE", 0, 1);
    CHECK(found(scene, {1}) == ""); // the second SEND is open
    answer(scene, "ACKNOWLEDGE", 1, 2);
    CHECK(found(scene, {1, 2, 3}) == "");
    CHECK(found(scene, {1, 2}) == "N-20 completion");
}

TEST_CASE("completions: no QP gives up a request that is answered", "[model][REQ-03][REQ-34]") {
    const auto found = [](OwnerScene scene, std::uint64_t id) {
        dut::Completion failed = send_done(id);
        failed.status = wire::WcStatus::RetryExcErr;
        scene.polled(failed);
        return scene.found();
    };
    OwnerScene scene = two_requests(wire::WrOpcode::Send);
    CHECK(found(scene, 1) == "");
    answer(scene, "ACKNOWLEDGE", 0, 1);
    CHECK(found(scene, 1) == "REQ-03 completion");
    OwnerScene late = two_requests(wire::WrOpcode::Send);
    late.call(dut::QpModify{.qp = OwnerScene::qp, .attributes = {.timeout = std::uint8_t{12}}},
              dut::Done{});
    late.now += std::chrono::milliseconds(20); // its timer, of 17 ms, may have expired
    answer(late, "ACKNOWLEDGE", 0, 1);
    CHECK(found(late, 1) == "");
}

TEST_CASE("completions: a QP that failed flushes both queues", "[model][STA-07]") {
    OwnerScene scene;
    scene.receive(1, 0, 16);
    scene.post(wire::WrOpcode::Send, 5, 0, 4);
    scene.sent("RDMA_WRITE_ONLY", 0, OwnerScene::data(8), OwnerScene::to(1020, 8));
    scene.refused(0, wire::NakCode::RemoteAccess);
    dut::Completion flushed = received(1);
    flushed.status = wire::WcStatus::WrFlushErr;
    scene.polled(flushed);
    OwnerScene all = scene;
    scene.polled_nothing();
    CHECK(scene.found() == "STA-07 completion");
    dut::Completion other = send_done(5);
    other.status = wire::WcStatus::WrFlushErr;
    all.polled(other);
    all.polled_nothing();
    CHECK(all.found() == "");
}

TEST_CASE("completions: a READ tells what it brought, a receive what fits", "[model][REQ-34]") {
    const auto found = [](std::uint32_t byte_len) {
        OwnerScene scene;
        scene.post(wire::WrOpcode::RdmaRead, 1, 0, 4);
        scene.sent("RDMA_READ_RESPONSE_ONLY", 0, OwnerScene::data(4));
        return after(scene, {{.id = 1, .opcode = wire::WcOpcode::RdmaRead, .byte_len = byte_len}});
    };
    CHECK(found(4) == "");
    CHECK(found(0) == "REQ-34 completion (should)");
    CHECK(after(two_receives(), {received(1, 17)}).starts_with("LEN-06 completion"));
}

namespace {

// A SEND of 7 bytes that the device refuses, and the status of its receive.
std::string refused_send(std::uint32_t room, std::optional<wire::Lkey> lkey, wire::NakCode code,
                         wire::WcStatus status) {
    OwnerScene scene;
    dut::PostRecv post{.qp = OwnerScene::qp};
    post.requests.push_back({.id = 1, .sge = {}});
    post.requests.back().sge.push_back({.mr = OwnerScene::region, .length = room, .lkey = lkey});
    scene.call(std::move(post), dut::Posted{1});
    scene.sent("SEND_ONLY", 0, OwnerScene::data(7));
    scene.refused(0, code);
    dut::Completion failed = received(1);
    failed.status = status;
    scene.polled(failed);
    return scene.found();
}

} // namespace

TEST_CASE("completions: the status of a receive that fails is its fault's", "[model][LEN-06]") {
    using enum wire::WcStatus;
    const auto too_long = [](wire::WcStatus status) {
        return refused_send(6, std::nullopt, wire::NakCode::InvalidRequest, status);
    };
    CHECK(too_long(LocLenErr) == "");
    CHECK(too_long(WrFlushErr) == "LEN-06 completion (should)");
    CHECK(too_long(LocProtErr) == "LEN-06 completion (should)");
    const auto bad_key = [](wire::WcStatus status) {
        return refused_send(16, wire::Lkey{1}, wire::NakCode::RemoteOperational, status);
    };
    CHECK(bad_key(LocProtErr) == "");
    CHECK(bad_key(LocQpOpErr) == "");
    CHECK(bad_key(LocAccessErr) == "");
    CHECK(bad_key(LocLenErr) == "KEY-12 completion");
    CHECK(bad_key(WrFlushErr) == "KEY-12 completion");
}

TEST_CASE("completions: nothing is flushed without a cause", "[model][STA-07]") {
    const auto found = [](wire::WcStatus status, bool told, bool oversize = false) {
        OwnerScene scene;
        scene.receive(1, 0, 16);
        scene.receive(2, 16, 16);
        scene.sent("SEND_ONLY", 0, OwnerScene::data(oversize ? 17 : 7));
        if (!oversize) scene.polled(received(1));
        if (told) {
            scene.call(
                dut::QpModify{.qp = OwnerScene::qp, .attributes = {.state = wire::QpState::Err}},
                dut::Done{});
        }
        dut::Completion failed = received(oversize ? 1 : 2);
        failed.status = status;
        scene.polled(failed);
        return scene.found();
    };
    using enum wire::WcStatus;
    CHECK(found(WrFlushErr, true) == "");
    CHECK(found(WrFlushErr, false) == "STA-07 completion");
    CHECK(found(LocProtErr, true) == "STA-07 completion");
    CHECK(found(LocLenErr, false, true) == ""); // its NAK may come later
}

TEST_CASE("completions: a status of the requester has a cause", "[model][TMO-02]") {
    const auto found = [](wire::WcStatus status, bool answered) {
        OwnerScene scene;
        scene.call(dut::QpModify{.qp = OwnerScene::qp, .attributes = {.timeout = std::uint8_t{0}}},
                   dut::Done{});
        scene.post(wire::WrOpcode::Send, 1, 0, 4);
        scene.post(wire::WrOpcode::Send, 2, 0, 4);
        if (answered) scene.sent("ACKNOWLEDGE", 0);
        if (answered) scene.polled(send_done(1));
        dut::Completion failed = send_done(answered ? 2 : 1);
        failed.status = status;
        scene.polled(failed);
        return scene.found();
    };
    using enum wire::WcStatus;
    CHECK(found(RetryExcErr, false) == "TMO-02 completion");
    CHECK(found(RetryExcErr, true) == "");
    CHECK(found(LocProtErr, false) == "TMO-03 completion");
}

TEST_CASE("completions: each comes from the queue of its QP", "[model][N-20]") {
    const auto found = [](dut::CqHandle from) {
        OwnerScene scene = two_sends();
        dut::Polled polled{.completions = {send_done(1)}};
        polled.completions.front().qp = OwnerScene::qp;
        scene.call(dut::Poll{.cq = from}, polled);
        return scene.found();
    };
    CHECK(found(OwnerScene::cq) == "");
    CHECK(found(dut::CqHandle{3}) == "N-20 completion");
}

TEST_CASE("completions: no receive completes without a message", "[model][N-21]") {
    const auto found = [](int messages, int completions) {
        OwnerScene scene;
        for (std::uint64_t id = 1; id <= 3; ++id)
            scene.receive(id, 16 * id, 16);
        for (int i = 0; i < messages; ++i)
            scene.sent("SEND_ONLY", i, OwnerScene::data(7));
        scene.sent("SEND_ONLY", 0, OwnerScene::data(7)); // again
        for (int i = 0; i < completions; ++i)
            scene.polled(received(static_cast<std::uint64_t>(i) + 1));
        return scene.found();
    };
    CHECK(found(2, 2) == "");
    CHECK(found(2, 3) == "N-21 completion");
    CHECK(found(1, 2) == "N-21 completion");
}

TEST_CASE("completions: a queue that lost completions is left out", "[model]") {
    OwnerScene scene = two_sends();
    dut::Polled list{.completions = {}, .overrun = true};
    scene.call(dut::Poll{.cq = OwnerScene::cq}, std::move(list));
    CHECK(after(scene, {send_done(2)}) == "");
}

namespace {

dut::Completion failed(std::uint64_t id, wire::WcStatus status) {
    return {.id = id, .queue = wire::Queue::Send, .status = status};
}

// A SEND of the device, sent.
OwnerScene one_send() {
    OwnerScene scene;
    scene.post(wire::WrOpcode::Send, 1, 0, 4);
    scene.heard("SEND_ONLY", 0, OwnerScene::data(4));
    return scene;
}

void nak(OwnerScene& scene, wire::Syndrome syndrome, std::uint32_t msn = 0) {
    scene.sent("ACKNOWLEDGE", 0, {}, [=](wire::Packet& packet) {
        packet.aeth.syndrome = syndrome;
        packet.aeth.msn = {msn};
    });
}

std::string after_nak(wire::NakCode code, wire::WcStatus status, std::uint32_t msn = 0) {
    OwnerScene scene = one_send();
    nak(scene, wire::Syndrome::nak(code), msn);
    scene.polled(failed(1, status));
    return scene.found();
}

} // namespace

TEST_CASE("completions: a refused request completes with the code of the NAK", "[model][REQ-16]") {
    using wire::NakCode;
    using enum wire::WcStatus;
    CHECK(after_nak(NakCode::InvalidRequest, RemInvReqErr) == "");
    CHECK(after_nak(NakCode::RemoteAccess, RemAccessErr) == "");
    CHECK(after_nak(NakCode::RemoteOperational, RemOpErr) == "");
    CHECK(after_nak(NakCode::InvalidRequest, RemAccessErr) == "REQ-16 completion");
    CHECK(after_nak(NakCode::InvalidRequest, RetryExcErr) == "REQ-16 completion");
    CHECK(after_nak(NakCode::InvalidRequest, Success) == "REQ-16 completion");
    CHECK(after_nak(NakCode::InvalidRequest, RetryExcErr, 9) == ""); // REQ-19: the MSN differs
    // The timer, of 17 ms, may have expired before the NAK came.
    const auto late = [](wire::Duration wait) {
        OwnerScene scene = one_send();
        scene.call(dut::QpModify{.qp = OwnerScene::qp, .attributes = {.timeout = std::uint8_t{12}}},
                   dut::Done{});
        scene.now += wait;
        nak(scene, wire::Syndrome::nak(NakCode::InvalidRequest));
        scene.polled(failed(1, RetryExcErr));
        return scene.found();
    };
    CHECK(late(std::chrono::milliseconds(20)) == "");
    CHECK(late(std::chrono::milliseconds(10)) == "REQ-16 completion");
    // The requester had given up with an earlier request.
    const auto second = [](wire::WcStatus first) {
        OwnerScene scene;
        for (std::int64_t i = 0; i < 2; ++i) {
            scene.post(wire::WrOpcode::Send, static_cast<std::uint64_t>(i + 1), 0, 4);
            scene.heard("SEND_ONLY", i, OwnerScene::data(4));
        }
        scene.now += std::chrono::seconds(10);
        scene.sent("ACKNOWLEDGE", 1, {}, [](wire::Packet& packet) {
            packet.aeth.syndrome = wire::Syndrome::nak(NakCode::RemoteOperational);
            packet.aeth.msn = {1};
        });
        scene.polled(failed(1, first));
        scene.polled(failed(2, WrFlushErr));
        return scene.found();
    };
    CHECK(second(RetryExcErr) == "");
    CHECK(second(RemOpErr) == "REQ-16 completion");
    OwnerScene silent = one_send();
    nak(silent, wire::Syndrome::nak(NakCode::InvalidRequest));
    silent.polled_nothing();
    CHECK(silent.found() == "REQ-16 completion");
}

TEST_CASE("completions: an error of the peer needs its NAK", "[model][REQ-16][RNR-09]") {
    using enum wire::WcStatus;
    CHECK(after(one_send(), {failed(1, RemAccessErr)}) == "REQ-16 completion");
    CHECK(after(one_send(), {failed(1, RetryExcErr)}) == "");
    CHECK(after(one_send(), {failed(1, RnrRetryExcErr)}) == "RNR-09 completion");
    CHECK(after(one_send(), {failed(1, LocProtErr)}) == "TMO-03 completion");
    OwnerScene refused = one_send();
    nak(refused, wire::Syndrome::rnr(1));
    refused.polled(failed(1, RnrRetryExcErr));
    CHECK(refused.found() == "");
}

TEST_CASE("completions: a NAK counts behind any number of others", "[model][REQ-16][RNR-11]") {
    for (const int many : {300, 2000}) {
        OwnerScene scene = one_send();
        for (int i = 0; i < many; ++i)
            nak(scene, wire::Syndrome::rnr(1));
        nak(scene, wire::Syndrome::nak(wire::NakCode::RemoteOperational));
        scene.polled({failed(1, wire::WcStatus::RemOpErr)});
        CHECK(scene.found() == "");
    }
}

TEST_CASE("completions: an error is followed by flushes alone", "[model][STA-07]") {
    using enum wire::WcStatus;
    CHECK(after(two_sends(), {failed(1, RetryExcErr), failed(2, WrFlushErr)}) == "");
    CHECK(after(two_sends(), {failed(1, RetryExcErr), send_done(2)}) == "STA-07 completion");
    CHECK(after(two_sends(), {failed(1, RetryExcErr), failed(2, GeneralErr)}) ==
          "STA-07 completion (should)");
}

TEST_CASE("completions: flushes of an earlier life say nothing of this one", "[model][STA-10]") {
    OwnerScene scene = one_send();
    using enum wire::QpState;
    for (const wire::QpState state : {Reset, Init, Rtr, Rts})
        scene.call(dut::QpModify{.qp = OwnerScene::qp, .attributes = {.state = state}},
                   dut::Done{});
    scene.post(wire::WrOpcode::Send, 16, 0, 4);
    scene.polled(failed(1, wire::WcStatus::WrFlushErr));
    scene.polled_nothing();
    CHECK(scene.found() == "");
}

TEST_CASE("completions: the receives of an SRQ are not flushed", "[model][STA-07]") {
    const auto flushed = [](std::size_t count) {
        const dut::QpHandle other{5};
        const dut::SrqHandle srq{9};
        OwnerScene scene;
        scene.call(dut::SrqCreate{}, dut::SrqCreated{.srq = srq});
        scene.call(dut::QpCreate{.send_cq = OwnerScene::cq, .recv_cq = OwnerScene::cq, .srq = srq},
                   dut::QpCreated{.qp = other, .qpn = wire::Qpn{0x12}});
        dut::SrqPost post{.srq = srq};
        post.requests = {{.id = 1, .sge = {}}, {.id = 2, .sge = {}}};
        scene.call(std::move(post), dut::Posted{2});
        dut::Polled polled;
        for (std::uint64_t id = 1; id <= count; ++id) {
            polled.completions.push_back({.id = id,
                                          .qp = other,
                                          .queue = wire::Queue::Receive,
                                          .status = wire::WcStatus::WrFlushErr});
        }
        scene.call(dut::Poll{.cq = OwnerScene::cq}, polled);
        return scene.found();
    };
    CHECK(flushed(1) == ""); // the one in progress
    CHECK(flushed(2) == "STA-07 completion");
}

TEST_CASE("completions: a receive of an SRQ that fails may hold a part of a message",
          "[model][KEY-14]") {
    const auto found = [](std::size_t changed) {
        const dut::QpHandle other{5};
        const dut::SrqHandle srq{9};
        OwnerScene scene;
        scene.call(dut::SrqCreate{}, dut::SrqCreated{.srq = srq});
        scene.call(dut::QpCreate{.send_cq = OwnerScene::cq, .recv_cq = OwnerScene::cq, .srq = srq},
                   dut::QpCreated{.qp = other, .qpn = wire::Qpn{0x12}});
        dut::SrqPost post{.srq = srq};
        post.requests = {{.id = 1, .sge = {{.mr = OwnerScene::region, .offset = 16, .length = 8}}},
                         {.id = 2, .sge = {{.mr = OwnerScene::region, .offset = 64, .length = 8}}}};
        scene.call(std::move(post), dut::Posted{2});
        const dut::Completion flushed{.id = 1,
                                      .qp = other,
                                      .queue = wire::Queue::Receive,
                                      .status = wire::WcStatus::WrFlushErr};
        scene.call(dut::Poll{.cq = OwnerScene::cq}, dut::Polled{.completions = {flushed}});
        auto bytes = OwnerScene::with();
        bytes[changed] ^= std::byte{0xFF};
        scene.reads(bytes);
        return scene.found();
    };
    CHECK(found(16) == "");
    CHECK(found(23) == "");
    for (const std::size_t outside : {std::size_t{15}, std::size_t{24}, std::size_t{64}})
        CHECK(found(outside) == "KEY-14 memory");
}

} // namespace veriroce::model::test
