// What completions may tell: right ones pass, each wrong one is found.
#include <catch2/catch.hpp>

#include "tests/conformance/model/owner_scene.hpp"

namespace veriroce::model::test {
namespace {

using Scene = OwnerScene;

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
Scene two_sends(bool signaled = true) {
    Scene scene;
    scene.post(wire::WrOpcode::Send, 1, 0, 4, signaled);
    scene.post(wire::WrOpcode::Send, 2, 4, 4);
    scene.sent("ACKNOWLEDGE", 1);
    return scene;
}

// Two SENDs of the tester to the receives 1 and 2, both acknowledged.
Scene two_receives() {
    Scene scene;
    scene.receive(1, 0, 16);
    scene.receive(2, 16, 16);
    scene.sent("SEND_ONLY", 0, Scene::data(7));
    scene.sent("SEND_ONLY", 1, Scene::data(7));
    scene.acknowledged(1);
    return scene;
}

std::string after(Scene scene, const std::vector<dut::Completion>& completions) {
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
    Scene right = two_sends();
    right.polled_at_once({send_done(1), send_done(2)});
    CHECK(right.found() == "");
    Scene wrong = two_sends();
    wrong.polled_at_once({send_done(2), send_done(1)});
    CHECK(wrong.found() != "");
    Scene receives = two_receives();
    receives.polled_at_once({received(1), received(2)});
    CHECK(receives.found() == "");
    Scene swapped = two_receives();
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
    Scene scene;
    scene.post(wire::WrOpcode::Send, 1, 0, 4);
    CHECK(after(scene, {send_done(1)}) == "REQ-03 completion");
    scene.post(wire::WrOpcode::RdmaRead, 2, 0, 4);
    scene.sent("ACKNOWLEDGE", 1);
    dut::Completion read = send_done(2);
    read.opcode = wire::WcOpcode::RdmaRead;
    CHECK(after(scene, {send_done(1)}) == "");
    CHECK(after(scene, {send_done(1), read}) == "REQ-20 completion");
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
        Scene scene;
        scene.receive(1, 0, 16);
        scene.sent("RDMA_WRITE_FIRST", 0, Scene::data(256), Scene::to(0, 300));
        scene.sent("RDMA_WRITE_LAST_WITH_IMM", 1, Scene::data(44),
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
    Scene scene = two_receives();
    scene.polled(received(1));
    scene.polled_nothing();
    CHECK(scene.found() == "N-21 completion");
    Scene all = two_receives();
    all.polled(received(1));
    all.polled(received(2));
    all.polled_nothing();
    CHECK(all.found() == "");
}

TEST_CASE("completions: a QP that failed flushes both queues", "[model][STA-07]") {
    Scene scene;
    scene.receive(1, 0, 16);
    scene.post(wire::WrOpcode::Send, 5, 0, 4);
    scene.sent("RDMA_WRITE_ONLY", 0, Scene::data(8), Scene::to(1020, 8));
    scene.refused(0, wire::NakCode::RemoteAccess);
    dut::Completion flushed = received(1);
    flushed.status = wire::WcStatus::WrFlushErr;
    scene.polled(flushed);
    Scene all = scene;
    scene.polled_nothing();
    CHECK(scene.found() == "STA-07 completion");
    dut::Completion other = send_done(5);
    other.status = wire::WcStatus::WrFlushErr;
    all.polled(other);
    all.polled_nothing();
    CHECK(all.found() == "");
}

TEST_CASE("completions: a queue that lost completions is left out", "[model]") {
    Scene scene = two_sends();
    dut::Polled list{.completions = {}, .overrun = true};
    scene.call(dut::Poll{.cq = Scene::cq}, std::move(list));
    CHECK(after(scene, {send_done(2)}) == "");
}

} // namespace veriroce::model::test
