// What registered memory may hold after packets: what a right device leaves passes, anything else
// is found.
#include <catch2/catch.hpp>

#include "tests/conformance/model/owner_scene.hpp"

namespace veriroce::model::test {
namespace {

using Scene = OwnerScene;

std::string found_in(Scene scene, const std::vector<std::byte>& memory) {
    scene.reads(memory);
    return scene.found();
}

// A WRITE of 5 bytes at offset 101.
Scene write_sent() {
    Scene scene;
    scene.sent("RDMA_WRITE_ONLY", 0, Scene::data(5), Scene::to(101, 5));
    return scene;
}

Scene write_acknowledged() {
    Scene scene = write_sent();
    scene.acknowledged(0);
    return scene;
}

Scene send_received(std::uint32_t byte_len) {
    Scene scene;
    scene.receive(1, 33, 16);
    scene.sent("SEND_ONLY", 0, Scene::data(7));
    scene.acknowledged(0);
    scene.polled({.id = 1,
                  .queue = wire::Queue::Receive,
                  .opcode = wire::WcOpcode::Recv,
                  .byte_len = byte_len});
    return scene;
}

} // namespace

TEST_CASE("shadow: memory that nothing names stays as it was", "[model][KEY-14]") {
    CHECK(found_in(Scene(), Scene::with()) == "");
    CHECK(found_in(Scene(), Scene::with(1023, Scene::data(1))) == "KEY-14 memory");
}

TEST_CASE("shadow: an acknowledged WRITE is there, and nothing around it", "[model][KEY-14]") {
    CHECK(found_in(write_acknowledged(), Scene::with(101, Scene::data(5))) == "");
    CHECK(found_in(write_acknowledged(), Scene::with()) == "RSP-01 memory");
    CHECK(found_in(write_acknowledged(), Scene::with(101, Scene::data(4))) == "RSP-01 memory");
    CHECK(found_in(write_acknowledged(), Scene::with(101, Scene::data(6))) == "KEY-14 memory");
    CHECK(found_in(write_acknowledged(), Scene::with(102, Scene::data(5))) != "");
}

TEST_CASE("shadow: acknowledged bytes may become visible later", "[model][ACK-05]") {
    const auto right = Scene::with(101, Scene::data(5));
    Scene late = write_acknowledged();
    late.reads(Scene::with());
    CHECK(found_in(late, right) == "");
    CHECK(found_in(late, Scene::with()) == "RSP-01 memory");
    // What was never written is wrong at any time.
    Scene other = write_acknowledged();
    other.reads(Scene::with(101, Scene::data(5, 1)));
    CHECK(found_in(other, right) == "RSP-01 memory");
    Scene beside = write_acknowledged();
    beside.reads(Scene::with(200, Scene::data(1)));
    CHECK(found_in(beside, right) == "KEY-14 memory");
    Scene apart = write_acknowledged();
    apart.sent("RDMA_WRITE_ONLY", 1, Scene::data(5), Scene::to(301, 5));
    apart.acknowledged(1);
    apart.reads(right);
    CHECK(apart.found() == "RSP-01 memory"); // no later look says that the second is there
}

TEST_CASE("shadow: a polled completion makes bytes visible at once", "[model][ACK-05][N-21]") {
    Scene scene = write_acknowledged();
    scene.receive(1, 33, 16);
    scene.sent("SEND_ONLY", 1, Scene::data(7));
    scene.acknowledged(1);
    const dut::Completion received{
        .id = 1, .queue = wire::Queue::Receive, .opcode = wire::WcOpcode::Recv, .byte_len = 7};
    auto right = Scene::with(101, Scene::data(5));
    std::ranges::copy(Scene::data(7), right.begin() + 33);
    Scene unpolled = scene;
    unpolled.reads_at_once(Scene::with());
    unpolled.polled(received);
    CHECK(found_in(unpolled, right) == "");
    scene.polled(received);
    Scene seen = scene;
    seen.reads_at_once(right);
    CHECK(seen.found() == "");
    // Neither the WRITE before the SEND nor the SEND itself may be late now.
    for (const std::size_t old : {103U, 35U}) {
        Scene stale = scene;
        auto memory = right;
        memory[old] = Scene::with()[old];
        stale.reads_at_once(memory);
        CHECK(found_in(stale, right) == "RSP-01 memory");
    }
}

TEST_CASE("shadow: what may only be late is told as such", "[model][ACK-05][N-21]") {
    const auto may_come = [](const Scene& scene) {
        const auto found = check_memory(scene.story, {});
        REQUIRE(found.size() == 1);
        return found.front().may_come;
    };
    Scene late = write_acknowledged();
    late.reads(Scene::with());
    CHECK(may_come(late));
    Scene beside = write_acknowledged();
    beside.reads(Scene::with(200, Scene::data(1)));
    CHECK_FALSE(may_come(beside));
    Scene unreported;
    unreported.receive(1, 33, 16);
    unreported.sent("SEND_ONLY", 0, Scene::data(7));
    unreported.acknowledged(0);
    unreported.polled_nothing();
    CHECK(may_come(unreported));
}

TEST_CASE("shadow: a WRITE without an answer is there or not", "[model][KEY-14]") {
    CHECK(found_in(write_sent(), Scene::with(101, Scene::data(5))) == "");
    CHECK(found_in(write_sent(), Scene::with()) == "");
    CHECK(found_in(write_sent(), Scene::with(101, Scene::data(5, 1))) == "RSP-01 memory");
}

TEST_CASE("shadow: a packet with a wrong ICRC leaves nothing", "[model][CRC-07]") {
    Scene scene;
    scene.sent("RDMA_WRITE_ONLY", 0, Scene::data(5), Scene::to(101, 5), true);
    CHECK(found_in(scene, Scene::with()) == "");
    CHECK(found_in(scene, Scene::with(101, Scene::data(5))) == "CRC-07 memory");
}

TEST_CASE("shadow: a duplicate is not written again", "[model][RSP-15]") {
    Scene scene = write_acknowledged();
    scene.write(101, Scene::data(5, 1));
    scene.sent("RDMA_WRITE_ONLY", 0, Scene::data(5), Scene::to(101, 5));
    scene.acknowledged(0);
    CHECK(found_in(scene, Scene::with(101, Scene::data(5, 1))) == "");
    CHECK(found_in(scene, Scene::with(101, Scene::data(5))) == "RSP-15 memory");
}

TEST_CASE("shadow: a request ahead of the expected PSN leaves nothing", "[model][RSP-02]") {
    Scene scene;
    scene.sent("RDMA_WRITE_ONLY", 1, Scene::data(5), Scene::to(101, 5));
    scene.refused(0, wire::NakCode::PsnSequence);
    CHECK(found_in(scene, Scene::with()) == "");
    CHECK(found_in(scene, Scene::with(101, Scene::data(5))) == "RSP-02 memory");
}

TEST_CASE("shadow: a refused WRITE leaves old or new bytes in its range", "[model][KEY-14]") {
    Scene scene;
    scene.sent("RDMA_WRITE_ONLY", 0, Scene::data(8), Scene::to(1020, 8));
    scene.refused(0, wire::NakCode::RemoteAccess);
    CHECK(found_in(scene, Scene::with()) == "");
    CHECK(found_in(scene, Scene::with(1020, Scene::data(4))) == "");
    CHECK(found_in(scene, Scene::with(1019, Scene::data(1))) == "KEY-14 memory");
}

TEST_CASE("shadow: after a refused request nothing is executed", "[model][N-07]") {
    Scene scene;
    scene.sent("RDMA_WRITE_ONLY", 0, Scene::data(8), Scene::to(1020, 8));
    scene.sent("RDMA_WRITE_ONLY", 1, Scene::data(8), Scene::to(64, 8));
    scene.refused(0, wire::NakCode::RemoteAccess);
    scene.sent("RDMA_WRITE_ONLY", 1, Scene::data(8), Scene::to(128, 8));
    CHECK(found_in(scene, Scene::with()) == "");
    CHECK(found_in(scene, Scene::with(64, Scene::data(8))) == "N-07 memory");
    CHECK(found_in(scene, Scene::with(128, Scene::data(8))) == "N-07 memory");
}

TEST_CASE("shadow: a key without the right opens nothing", "[model][KEY-02]") {
    Scene scene;
    scene.sent("RDMA_WRITE_ONLY", 0, Scene::data(8), [](wire::Packet& packet) {
        packet.reth = {.virtual_address = Scene::address, .rkey = {0x7001}, .dma_length = 8};
    });
    scene.refused(0, wire::NakCode::RemoteAccess);
    CHECK(found_in(scene, Scene::with()) == "");
    CHECK(found_in(scene, Scene::with(0, Scene::data(8))) == "KEY-14 memory");
}

TEST_CASE("shadow: the packets of a WRITE lie one after the other", "[model][LEN-04]") {
    Scene scene;
    std::vector<std::byte> all = Scene::data(300);
    scene.sent("RDMA_WRITE_FIRST", 0, {all.begin(), all.begin() + 256}, Scene::to(11, 300));
    scene.sent("RDMA_WRITE_LAST", 1, {all.begin() + 256, all.end()});
    scene.acknowledged(1);
    CHECK(found_in(scene, Scene::with(11, all)) == "");
    all[256] ^= std::byte{1};
    CHECK(found_in(scene, Scene::with(11, all)) == "RSP-01 memory");
}

TEST_CASE("shadow: a lost packet that is sent again is executed once", "[model][RSP-06]") {
    Scene scene;
    scene.story.setting.exact = false;
    scene.sent("RDMA_WRITE_ONLY", 0, Scene::data(4), Scene::to(0, 4)); // lost on the way
    scene.sent("RDMA_WRITE_ONLY", 1, Scene::data(4), Scene::to(4, 4));
    scene.refused(0, wire::NakCode::PsnSequence);
    scene.sent("RDMA_WRITE_ONLY", 0, Scene::data(4), Scene::to(0, 4));
    scene.sent("RDMA_WRITE_ONLY", 1, Scene::data(4), Scene::to(4, 4));
    scene.acknowledged(1);
    std::vector<std::byte> both = Scene::data(4);
    const std::vector<std::byte> second = Scene::data(4);
    both.insert(both.end(), second.begin(), second.end());
    CHECK(found_in(scene, Scene::with(0, both)) == "");
    CHECK(found_in(scene, Scene::with(0, second)) == "RSP-01 memory");
}

TEST_CASE("shadow: another packet in the place of a dropped one", "[model][RSP-01]") {
    Scene scene;
    scene.sent("RDMA_WRITE_ONLY", 0, Scene::data(4), Scene::to(0, 5)); // the lengths disagree
    scene.sent("RDMA_WRITE_ONLY", 0, Scene::data(4, 1), Scene::to(0, 4));
    scene.acknowledged(0);
    CHECK(found_in(scene, Scene::with(0, Scene::data(4, 1))) == "");
    CHECK(found_in(scene, Scene::with(0, Scene::data(4, 2))) != "");
}

TEST_CASE("shadow: a SEND lands in its receive, as far as it goes", "[model][KEY-14]") {
    CHECK(found_in(send_received(7), Scene::with(33, Scene::data(7))) == "");
    CHECK(found_in(send_received(7), Scene::with(33, Scene::data(6))) == "RSP-01 memory");
    CHECK(found_in(send_received(7), Scene::with(33, Scene::data(8))) == "KEY-14 memory (should)");
    CHECK(found_in(send_received(7), Scene::with(32, Scene::data(8, 0x9F))) == "KEY-14 memory");
}

// A copy that the wire made may find it, or the SEND itself, which waited inside the device.
TEST_CASE("shadow: a SEND may find a receive that is posted after it came", "[model][KEY-14]") {
    for (const bool exact : {true, false}) {
        CAPTURE(exact);
        Scene scene;
        scene.story.setting.exact = exact;
        scene.sent("SEND_ONLY", 0, Scene::data(7));
        scene.receive(1, 33, 16);
        scene.acknowledged(0);
        CHECK(found_in(scene, Scene::with(33, Scene::data(7))) == "");
    }
    Scene none;
    none.sent("SEND_ONLY", 0, Scene::data(7));
    none.acknowledged(0);
    CHECK(found_in(none, Scene::with(33, Scene::data(7))) != "");
}

TEST_CASE("shadow: a WRITE that races the owner's leaves either", "[model]") {
    Scene scene = write_sent();
    scene.write(101, Scene::data(5, 1));
    scene.acknowledged(0);
    CHECK(found_in(scene, Scene::with(101, Scene::data(5, 1))) == "");
    CHECK(found_in(scene, Scene::with(101, Scene::data(5))) == "");
    CHECK(found_in(scene, Scene::with()) == "RSP-01 memory");
}

TEST_CASE("shadow: a READ response carries what memory held", "[model][RDR-01]") {
    Scene scene = write_acknowledged();
    scene.sent("RDMA_READ_REQUEST", 1, {}, Scene::to(100, 8));
    const auto memory = Scene::with(101, Scene::data(5));
    const std::vector<std::byte> right(memory.begin() + 100, memory.begin() + 108);
    const auto old = Scene::with();
    const std::vector<std::byte> wrong(old.begin() + 100, old.begin() + 108);
    Scene other = scene;
    scene.heard("RDMA_READ_RESPONSE_ONLY", 1, right);
    CHECK(scene.found() == "");
    other.heard("RDMA_READ_RESPONSE_ONLY", 1, wrong);
    CHECK(other.found() == "RDR-01 payload");
}

TEST_CASE("shadow: a READ after a WRITE of its QP carries the new bytes", "[model][RDR-01]") {
    Scene scene = write_sent();
    scene.sent("RDMA_READ_REQUEST", 1, {}, Scene::to(101, 5));
    Scene other = scene;
    scene.heard("RDMA_READ_RESPONSE_ONLY", 1, Scene::data(5));
    CHECK(scene.found() == "");
    const auto old = Scene::with();
    other.heard("RDMA_READ_RESPONSE_ONLY", 1, {old.begin() + 101, old.begin() + 106});
    CHECK(other.found() == "RDR-01 payload");
}

TEST_CASE("shadow: a READ may overtake what came after it", "[model][RDR-12]") {
    Scene scene;
    scene.sent("RDMA_READ_REQUEST", 0, {}, Scene::to(101, 5));
    scene.sent("RDMA_WRITE_ONLY", 1, Scene::data(5), Scene::to(101, 5));
    Scene other = scene;
    scene.heard("RDMA_READ_RESPONSE_ONLY", 0, Scene::data(5));
    CHECK(scene.found() == "");
    const auto old = Scene::with();
    other.heard("RDMA_READ_RESPONSE_ONLY", 0, {old.begin() + 101, old.begin() + 106});
    CHECK(other.found() == "");
}

TEST_CASE("shadow: an atomic returns what memory held, and again the same", "[model][ATM-04]") {
    const auto play = [](std::uint64_t first, std::uint64_t again) {
        Scene scene;
        scene.write(8, std::vector<std::byte>(8));
        const auto add = [](wire::Packet& packet) {
            packet.atomic = {
                .virtual_address = Scene::address + 8, .rkey = Scene::key, .swap_or_add = 3};
        };
        scene.sent("FETCH_ADD", 0, {}, add);
        scene.heard("ATOMIC_ACKNOWLEDGE", 0, {},
                    [&](wire::Packet& packet) { packet.atomic_ack.original = first; });
        scene.sent("FETCH_ADD", 0, {}, add);
        scene.heard("ATOMIC_ACKNOWLEDGE", 0, {},
                    [&](wire::Packet& packet) { packet.atomic_ack.original = again; });
        auto memory = Scene::with(8, std::vector<std::byte>(8));
        memory[8] = std::byte{3};
        return found_in(scene, memory);
    };
    CHECK(play(0, 0) == "");
    CHECK(play(0, 3) == "ATM-04 original");
    CHECK(play(1, 1).starts_with("ATM-01 original"));
}

TEST_CASE("shadow: the target of a READ holds what its responses brought", "[model][REQ-34]") {
    const auto play = [](const std::vector<std::byte>& memory, bool completed) {
        Scene scene;
        scene.post(wire::WrOpcode::RdmaRead, 1, 50, 6);
        scene.sent("RDMA_READ_RESPONSE_ONLY", 0, Scene::data(6));
        if (completed) scene.polled({.id = 1, .opcode = wire::WcOpcode::RdmaRead, .byte_len = 6});
        return found_in(scene, memory);
    };
    CHECK(play(Scene::with(50, Scene::data(6)), true) == "");
    CHECK(play(Scene::with(), true) == "REQ-34 memory");
    CHECK(play(Scene::with(50, Scene::data(7)), true) == "KEY-14 memory");
    CHECK(play(Scene::with(), false) == "");
    CHECK(play(Scene::with(50, Scene::data(6)), false) == "");
}

} // namespace veriroce::model::test
