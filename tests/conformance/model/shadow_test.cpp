// What registered memory may hold after packets: what a right device leaves passes, anything else
// is found.
#include <catch2/catch.hpp>

#include "tests/conformance/model/owner_scene.hpp"

namespace veriroce::model::test {
namespace {

std::string found_in(OwnerScene scene, const std::vector<std::byte>& memory) {
    scene.reads(memory);
    return scene.found();
}

// A WRITE of 5 bytes at offset 101.
OwnerScene write_sent() {
    OwnerScene scene;
    scene.sent("RDMA_WRITE_ONLY", 0, OwnerScene::data(5), OwnerScene::to(101, 5));
    return scene;
}

OwnerScene write_acknowledged() {
    OwnerScene scene = write_sent();
    scene.acknowledged(0);
    return scene;
}

OwnerScene send_received(std::uint32_t byte_len) {
    OwnerScene scene;
    scene.receive(1, 33, 16);
    scene.sent("SEND_ONLY", 0, OwnerScene::data(7));
    scene.acknowledged(0);
    scene.polled({.id = 1,
                  .queue = wire::Queue::Receive,
                  .opcode = wire::WcOpcode::Recv,
                  .byte_len = byte_len});
    return scene;
}

} // namespace

TEST_CASE("shadow: memory that nothing names stays as it was", "[model][KEY-14]") {
    CHECK(found_in(OwnerScene(), OwnerScene::with()) == "");
    CHECK(found_in(OwnerScene(), OwnerScene::with(1023, OwnerScene::data(1))) == "KEY-14 memory");
}

TEST_CASE("shadow: an acknowledged WRITE is there, and nothing around it", "[model][KEY-14]") {
    CHECK(found_in(write_acknowledged(), OwnerScene::with(101, OwnerScene::data(5))) == "");
    CHECK(found_in(write_acknowledged(), OwnerScene::with()) == "RSP-01 memory");
    CHECK(found_in(write_acknowledged(), OwnerScene::with(101, OwnerScene::data(4))) ==
          "RSP-01 memory");
    CHECK(found_in(write_acknowledged(), OwnerScene::with(101, OwnerScene::data(6))) ==
          "KEY-14 memory");
    CHECK(found_in(write_acknowledged(), OwnerScene::with(102, OwnerScene::data(5))) != "");
}

TEST_CASE("shadow: acknowledged bytes may become visible later", "[model][ACK-05]") {
    const auto right = OwnerScene::with(101, OwnerScene::data(5));
    OwnerScene late = write_acknowledged();
    late.reads(OwnerScene::with());
    CHECK(found_in(late, right) == "");
    CHECK(found_in(late, OwnerScene::with()) == "RSP-01 memory");
    // What was never written is wrong at any time.
    OwnerScene other = write_acknowledged();
    other.reads(OwnerScene::with(101, OwnerScene::data(5, 1)));
    CHECK(found_in(other, right) == "RSP-01 memory");
    OwnerScene beside = write_acknowledged();
    beside.reads(OwnerScene::with(200, OwnerScene::data(1)));
    CHECK(found_in(beside, right) == "KEY-14 memory");
    OwnerScene apart = write_acknowledged();
    apart.sent("RDMA_WRITE_ONLY", 1, OwnerScene::data(5), OwnerScene::to(301, 5));
    apart.acknowledged(1);
    apart.reads(right);
    CHECK(apart.found() == "RSP-01 memory"); // no later look says that the second is there
}

TEST_CASE("shadow: a polled completion makes bytes visible at once", "[model][ACK-05][N-21]") {
    OwnerScene scene = write_acknowledged();
    scene.receive(1, 33, 16);
    scene.sent("SEND_ONLY", 1, OwnerScene::data(7));
    scene.acknowledged(1);
    const dut::Completion received{
        .id = 1, .queue = wire::Queue::Receive, .opcode = wire::WcOpcode::Recv, .byte_len = 7};
    auto right = OwnerScene::with(101, OwnerScene::data(5));
    std::ranges::copy(OwnerScene::data(7), right.begin() + 33);
    OwnerScene unpolled = scene;
    unpolled.reads_at_once(OwnerScene::with());
    unpolled.polled(received);
    CHECK(found_in(unpolled, right) == "");
    scene.polled(received);
    OwnerScene seen = scene;
    seen.reads_at_once(right);
    CHECK(seen.found() == "");
    // Neither the WRITE before the SEND nor the SEND itself may be late now.
    for (const std::size_t old : {103U, 35U}) {
        OwnerScene stale = scene;
        auto memory = right;
        memory[old] = OwnerScene::with()[old];
        stale.reads_at_once(memory);
        CHECK(found_in(stale, right) == "RSP-01 memory");
    }
}

TEST_CASE("shadow: what may only be late is told as such", "[model][ACK-05][N-21]") {
    const auto may_come = [](const OwnerScene& scene) {
        const auto found = check_memory(scene.story, {});
        REQUIRE(found.size() == 1);
        return found.front().may_come;
    };
    OwnerScene late = write_acknowledged();
    late.reads(OwnerScene::with());
    CHECK(may_come(late));
    OwnerScene gone = late;
    gone.call(dut::MrDeregister{.mr = OwnerScene::region}, dut::Done{});
    CHECK(gone.found() == "");
    OwnerScene beside = write_acknowledged();
    beside.reads(OwnerScene::with(200, OwnerScene::data(1)));
    CHECK_FALSE(may_come(beside));
    OwnerScene unreported;
    unreported.receive(1, 33, 16);
    unreported.sent("SEND_ONLY", 0, OwnerScene::data(7));
    unreported.acknowledged(0);
    unreported.polled_nothing();
    CHECK(may_come(unreported));
}

TEST_CASE("shadow: a WRITE without an answer is there or not", "[model][KEY-14]") {
    CHECK(found_in(write_sent(), OwnerScene::with(101, OwnerScene::data(5))) == "");
    CHECK(found_in(write_sent(), OwnerScene::with()) == "");
    CHECK(found_in(write_sent(), OwnerScene::with(101, OwnerScene::data(5, 1))) == "RSP-01 memory");
}

TEST_CASE("shadow: a packet with a wrong ICRC leaves nothing", "[model][CRC-07]") {
    OwnerScene scene;
    scene.sent("RDMA_WRITE_ONLY", 0, OwnerScene::data(5), OwnerScene::to(101, 5), true);
    CHECK(found_in(scene, OwnerScene::with()) == "");
    CHECK(found_in(scene, OwnerScene::with(101, OwnerScene::data(5))) == "CRC-07 memory");
}

TEST_CASE("shadow: a duplicate is not written again", "[model][RSP-15]") {
    OwnerScene scene = write_acknowledged();
    scene.write(101, OwnerScene::data(5, 1));
    scene.sent("RDMA_WRITE_ONLY", 0, OwnerScene::data(5), OwnerScene::to(101, 5));
    scene.acknowledged(0);
    CHECK(found_in(scene, OwnerScene::with(101, OwnerScene::data(5, 1))) == "");
    CHECK(found_in(scene, OwnerScene::with(101, OwnerScene::data(5))) == "RSP-15 memory");
}

TEST_CASE("shadow: a request ahead of the expected PSN leaves nothing", "[model][RSP-02]") {
    OwnerScene scene;
    scene.sent("RDMA_WRITE_ONLY", 1, OwnerScene::data(5), OwnerScene::to(101, 5));
    scene.refused(0, wire::NakCode::PsnSequence);
    CHECK(found_in(scene, OwnerScene::with()) == "");
    CHECK(found_in(scene, OwnerScene::with(101, OwnerScene::data(5))) == "RSP-02 memory");
}

TEST_CASE("shadow: a refused WRITE leaves old or new bytes in its range", "[model][KEY-14]") {
    OwnerScene scene;
    scene.sent("RDMA_WRITE_ONLY", 0, OwnerScene::data(8), OwnerScene::to(1020, 8));
    scene.refused(0, wire::NakCode::RemoteAccess);
    CHECK(found_in(scene, OwnerScene::with()) == "");
    CHECK(found_in(scene, OwnerScene::with(1020, OwnerScene::data(4))) == "");
    CHECK(found_in(scene, OwnerScene::with(1019, OwnerScene::data(1))) == "KEY-14 memory");
}

TEST_CASE("shadow: after a refused request nothing is executed", "[model][N-07]") {
    OwnerScene scene;
    scene.sent("RDMA_WRITE_ONLY", 0, OwnerScene::data(8), OwnerScene::to(1020, 8));
    scene.sent("RDMA_WRITE_ONLY", 1, OwnerScene::data(8), OwnerScene::to(64, 8));
    scene.refused(0, wire::NakCode::RemoteAccess);
    scene.sent("RDMA_WRITE_ONLY", 1, OwnerScene::data(8), OwnerScene::to(128, 8));
    CHECK(found_in(scene, OwnerScene::with()) == "");
    CHECK(found_in(scene, OwnerScene::with(64, OwnerScene::data(8))) == "N-07 memory");
    CHECK(found_in(scene, OwnerScene::with(128, OwnerScene::data(8))) == "N-07 memory");
}

TEST_CASE("shadow: a key without the right opens nothing", "[model][KEY-02]") {
    OwnerScene scene;
    scene.sent("RDMA_WRITE_ONLY", 0, OwnerScene::data(8), [](wire::Packet& packet) {
        packet.reth = {.virtual_address = OwnerScene::address, .rkey = {0x7001}, .dma_length = 8};
    });
    scene.refused(0, wire::NakCode::RemoteAccess);
    CHECK(found_in(scene, OwnerScene::with()) == "");
    CHECK(found_in(scene, OwnerScene::with(0, OwnerScene::data(8))) == "KEY-14 memory");
}

TEST_CASE("shadow: the packets of a WRITE lie one after the other", "[model][LEN-04]") {
    OwnerScene scene;
    std::vector<std::byte> all = OwnerScene::data(300);
    scene.sent("RDMA_WRITE_FIRST", 0, {all.begin(), all.begin() + 256}, OwnerScene::to(11, 300));
    scene.sent("RDMA_WRITE_LAST", 1, {all.begin() + 256, all.end()});
    scene.acknowledged(1);
    CHECK(found_in(scene, OwnerScene::with(11, all)) == "");
    all[256] ^= std::byte{1};
    CHECK(found_in(scene, OwnerScene::with(11, all)) == "RSP-01 memory");
}

TEST_CASE("shadow: a lost packet that is sent again is executed once", "[model][RSP-06]") {
    OwnerScene scene;
    scene.story.setting.exact = false;
    scene.sent("RDMA_WRITE_ONLY", 0, OwnerScene::data(4), OwnerScene::to(0, 4)); // lost on the way
    scene.sent("RDMA_WRITE_ONLY", 1, OwnerScene::data(4), OwnerScene::to(4, 4));
    scene.refused(0, wire::NakCode::PsnSequence);
    scene.sent("RDMA_WRITE_ONLY", 0, OwnerScene::data(4), OwnerScene::to(0, 4));
    scene.sent("RDMA_WRITE_ONLY", 1, OwnerScene::data(4), OwnerScene::to(4, 4));
    scene.acknowledged(1);
    std::vector<std::byte> both = OwnerScene::data(4);
    const std::vector<std::byte> second = OwnerScene::data(4);
    both.insert(both.end(), second.begin(), second.end());
    CHECK(found_in(scene, OwnerScene::with(0, both)) == "");
    CHECK(found_in(scene, OwnerScene::with(0, second)) == "RSP-01 memory");
}

TEST_CASE("shadow: another packet in the place of a dropped one", "[model][RSP-01]") {
    OwnerScene scene;
    scene.sent("RDMA_WRITE_ONLY", 0, OwnerScene::data(4),
               OwnerScene::to(0, 5)); // the lengths disagree
    scene.sent("RDMA_WRITE_ONLY", 0, OwnerScene::data(4, 1), OwnerScene::to(0, 4));
    scene.acknowledged(0);
    CHECK(found_in(scene, OwnerScene::with(0, OwnerScene::data(4, 1))) == "");
    CHECK(found_in(scene, OwnerScene::with(0, OwnerScene::data(4, 2))) != "");
}

TEST_CASE("shadow: a SEND lands in its receive, as far as it goes", "[model][KEY-14]") {
    CHECK(found_in(send_received(7), OwnerScene::with(33, OwnerScene::data(7))) == "");
    CHECK(found_in(send_received(7), OwnerScene::with(33, OwnerScene::data(6))) == "RSP-01 memory");
    CHECK(found_in(send_received(7), OwnerScene::with(33, OwnerScene::data(8))) ==
          "KEY-14 memory (should)");
    CHECK(found_in(send_received(7), OwnerScene::with(32, OwnerScene::data(8, 0x9F))) ==
          "KEY-14 memory");
}

// A copy that the wire made may find it, or the SEND itself, which waited inside the device.
TEST_CASE("shadow: a SEND may find a receive that is posted after it came", "[model][KEY-14]") {
    for (const bool exact : {true, false}) {
        CAPTURE(exact);
        OwnerScene scene;
        scene.story.setting.exact = exact;
        scene.sent("SEND_ONLY", 0, OwnerScene::data(7));
        scene.receive(1, 33, 16);
        scene.acknowledged(0);
        CHECK(found_in(scene, OwnerScene::with(33, OwnerScene::data(7))) == "");
    }
    OwnerScene none;
    none.sent("SEND_ONLY", 0, OwnerScene::data(7));
    none.acknowledged(0);
    CHECK(found_in(none, OwnerScene::with(33, OwnerScene::data(7))) != "");
}

TEST_CASE("shadow: a QP takes packets while it drains, and while its rights change it may",
          "[model][STA-06]") {
    const auto write_during = [](dut::QpAttributes change) {
        OwnerScene scene;
        scene.call(dut::QpModify{.qp = OwnerScene::qp, .attributes = change}, dut::Done{}, [&] {
            scene.sent("RDMA_WRITE_ONLY", 0, OwnerScene::data(5), OwnerScene::to(101, 5));
            scene.acknowledged(0);
        });
        return found_in(scene, OwnerScene::with());
    };
    CHECK(write_during({.state = wire::QpState::Sqd}) == "RSP-01 memory");
    CHECK(write_during({.min_rnr_timer = std::uint8_t{3}}) == "RSP-01 memory");
    CHECK(write_during({.access = wire::Access{}}) == "");
    CHECK(write_during({.state = wire::QpState::Err}) == "");
}

TEST_CASE("shadow: a WRITE that races the owner's leaves either", "[model]") {
    OwnerScene scene = write_sent();
    scene.write(101, OwnerScene::data(5, 1));
    scene.acknowledged(0);
    CHECK(found_in(scene, OwnerScene::with(101, OwnerScene::data(5, 1))) == "");
    CHECK(found_in(scene, OwnerScene::with(101, OwnerScene::data(5))) == "");
    CHECK(found_in(scene, OwnerScene::with()) == "RSP-01 memory");
}

TEST_CASE("shadow: a READ response carries what memory held", "[model][RDR-01]") {
    OwnerScene scene = write_acknowledged();
    scene.sent("RDMA_READ_REQUEST", 1, {}, OwnerScene::to(100, 8));
    const auto memory = OwnerScene::with(101, OwnerScene::data(5));
    const std::vector<std::byte> right(memory.begin() + 100, memory.begin() + 108);
    const auto old = OwnerScene::with();
    const std::vector<std::byte> wrong(old.begin() + 100, old.begin() + 108);
    OwnerScene other = scene;
    scene.heard("RDMA_READ_RESPONSE_ONLY", 1, right);
    CHECK(scene.found() == "");
    other.heard("RDMA_READ_RESPONSE_ONLY", 1, wrong);
    CHECK(other.found() == "RDR-01 payload");
}

TEST_CASE("shadow: a READ after a WRITE of its QP carries the new bytes", "[model][RDR-01]") {
    OwnerScene scene = write_sent();
    scene.sent("RDMA_READ_REQUEST", 1, {}, OwnerScene::to(101, 5));
    OwnerScene other = scene;
    scene.heard("RDMA_READ_RESPONSE_ONLY", 1, OwnerScene::data(5));
    CHECK(scene.found() == "");
    const auto old = OwnerScene::with();
    other.heard("RDMA_READ_RESPONSE_ONLY", 1, {old.begin() + 101, old.begin() + 106});
    CHECK(other.found() == "RDR-01 payload");
}

TEST_CASE("shadow: a READ may overtake what came after it", "[model][RDR-12]") {
    OwnerScene scene;
    scene.sent("RDMA_READ_REQUEST", 0, {}, OwnerScene::to(101, 5));
    scene.sent("RDMA_WRITE_ONLY", 1, OwnerScene::data(5), OwnerScene::to(101, 5));
    OwnerScene other = scene;
    scene.heard("RDMA_READ_RESPONSE_ONLY", 0, OwnerScene::data(5));
    CHECK(scene.found() == "");
    const auto old = OwnerScene::with();
    other.heard("RDMA_READ_RESPONSE_ONLY", 0, {old.begin() + 101, old.begin() + 106});
    CHECK(other.found() == "");
}

TEST_CASE("shadow: an atomic returns what memory held, and again the same", "[model][ATM-04]") {
    const auto play = [](std::uint64_t first, std::uint64_t again) {
        OwnerScene scene;
        scene.write(8, std::vector<std::byte>(8));
        const auto add = [](wire::Packet& packet) {
            packet.atomic = {.virtual_address = OwnerScene::address + 8,
                             .rkey = OwnerScene::key,
                             .swap_or_add = 3};
        };
        scene.sent("FETCH_ADD", 0, {}, add);
        scene.heard("ATOMIC_ACKNOWLEDGE", 0, {},
                    [&](wire::Packet& packet) { packet.atomic_ack.original = first; });
        scene.sent("FETCH_ADD", 0, {}, add);
        scene.heard("ATOMIC_ACKNOWLEDGE", 0, {},
                    [&](wire::Packet& packet) { packet.atomic_ack.original = again; });
        auto memory = OwnerScene::with(8, std::vector<std::byte>(8));
        memory[8] = std::byte{3};
        return found_in(scene, memory);
    };
    CHECK(play(0, 0) == "");
    CHECK(play(0, 3) == "ATM-04 original");
    CHECK(play(1, 1).starts_with("ATM-01 original"));
}

TEST_CASE("shadow: the target of a READ holds what its responses brought", "[model][REQ-34]") {
    const auto play = [](const std::vector<std::byte>& memory, bool completed) {
        OwnerScene scene;
        scene.post(wire::WrOpcode::RdmaRead, 1, 50, 6);
        scene.sent("RDMA_READ_RESPONSE_ONLY", 0, OwnerScene::data(6));
        if (completed) scene.polled({.id = 1, .opcode = wire::WcOpcode::RdmaRead, .byte_len = 6});
        return found_in(scene, memory);
    };
    CHECK(play(OwnerScene::with(50, OwnerScene::data(6)), true) == "");
    CHECK(play(OwnerScene::with(), true) == "REQ-34 memory");
    CHECK(play(OwnerScene::with(50, OwnerScene::data(7)), true) == "KEY-14 memory");
    CHECK(play(OwnerScene::with(), false) == "");
    CHECK(play(OwnerScene::with(50, OwnerScene::data(6)), false) == "");
}

} // namespace veriroce::model::test
