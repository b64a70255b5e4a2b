// UC and UD: what a device may send, and what their packets may leave in memory and completions.
#include <catch2/catch.hpp>

#include "tests/conformance/model/owner_scene.hpp"
#include "tests/conformance/model/scene.hpp"

namespace veriroce::model::test {
namespace {

using wire::QpType;
using wire::WrOpcode;

// --- what the device sends

dut::SendRequest datagram(std::uint64_t id, std::uint64_t offset, std::uint32_t length) {
    dut::SendRequest made = request(WrOpcode::Send, offset, length);
    made.id = id;
    made.ud = peer();
    return made;
}

std::string found_with(const EditPacket& edit, const EditEnvelope& path = [](auto&) {}) {
    Scene scene(QpType::Ud);
    scene.post(datagram(1, 8, 20));
    scene.post(datagram(2, 40, 20));
    scene.heard("SEND_ONLY", 0, filled(8, 20));
    scene.heard("SEND_ONLY", 1, filled(40, 20), {.packet = edit, .envelope = path});
    return scene.found();
}

Scene uc_sends() {
    Scene scene(QpType::Uc);
    scene.post(request(WrOpcode::Send, 0, 300));
    scene.heard("SEND_FIRST", 0, filled(0, 256));
    return scene;
}

// --- what it receives

dut::Completion taken(std::uint64_t id, std::uint32_t byte_len) {
    return {.id = id,
            .queue = wire::Queue::Receive,
            .opcode = wire::WcOpcode::Recv,
            .byte_len = byte_len};
}

dut::Completion datagram_taken(std::uint64_t id, std::uint32_t byte_len) {
    dut::Completion made = taken(id, byte_len);
    made.src_qpn = OwnerScene::source;
    return made;
}

// A datagram of 7 bytes in a receive of 64 at offset 16.
OwnerScene datagram_sent() {
    OwnerScene scene(QpType::Ud);
    scene.receive(1, 16, 64);
    scene.sent("SEND_ONLY", 0, OwnerScene::data(7));
    return scene;
}

// The region with that datagram: its IPv4 header, as far as it is held, and its data.
std::vector<std::byte> with_datagram() {
    auto memory = OwnerScene::with(16 + 40, OwnerScene::data(7));
    const auto put = [&](std::size_t at, std::initializer_list<int> bytes) {
        for (const int one : bytes)
            memory[at++] = static_cast<std::byte>(one);
    };
    put(16 + 20, {0x45, 0, 0, 60});
    put(16 + 32, {192, 0, 2, 2, 192, 0, 2, 1});
    return memory;
}

std::string read_after(OwnerScene scene, const dut::Completion& completion,
                       const std::vector<std::byte>& memory) {
    scene.polled(completion);
    scene.reads(memory);
    return scene.found();
}

// A UC SEND of two packets, 256 + 4 bytes, to a receive of 512 at offset 100.
OwnerScene uc_send(std::int64_t second) {
    OwnerScene scene(QpType::Uc);
    scene.receive(1, 100, 512);
    scene.sent("SEND_FIRST", 0, OwnerScene::data(256));
    scene.sent("SEND_LAST", second, OwnerScene::data(4));
    return scene;
}

OwnerScene uc_write(std::int64_t second, std::string_view last = "RDMA_WRITE_LAST") {
    OwnerScene scene(QpType::Uc);
    scene.receive(1, 1000, 8);
    scene.sent("RDMA_WRITE_FIRST", 0, OwnerScene::data(256), OwnerScene::to(100, 260));
    scene.sent(last, second, OwnerScene::data(4));
    return scene;
}

std::string read(OwnerScene scene, const std::vector<std::byte>& memory) {
    scene.reads(memory);
    return scene.found();
}

} // namespace

TEST_CASE("unreliable: a datagram is what its work request says", "[model][EXT-05]") {
    CHECK(found_with([](auto&) {}) == "");
    CHECK(found_with([](auto& p) { p.deth.qkey = {0x1235}; }) == "EXT-05 qkey");
    CHECK(found_with([](auto& p) { p.deth.source_qp = {0x12}; }) == "EXT-05 srcqp");
    CHECK(found_with([](auto& p) { p.bth.dest_qp = {0x801}; }) == "EXT-05 destqp");
    CHECK(found_with([](auto& p) { p.bth.solicited = true; }) == "BTH-14 se");
    CHECK(found_with([](auto& p) { p.bth.psn = p.bth.psn + -1; }).starts_with("REQ-01 psn"));
    CHECK(found_with([](auto& p) { p.bth.psn = p.bth.psn + 1; }) == "EXT-05 datagram");
    CHECK(found_with([](auto& p) { p.bth.pkey = {0x1234}; }) == "BTH-08 pkey");
    CHECK(found_with([](auto& p) { p.deth.reserved = 1; }) ==
          "EXT-05 the reserved byte of the DETH");
}

TEST_CASE("unreliable: a datagram takes the path that its work request says", "[model][CA17-12]") {
    const auto found = [](const EditEnvelope& path) { return found_with([](auto&) {}, path); };
    const auto elsewhere = *wire::IpAddress::parse("192.0.2.9");
    CHECK(found([&](auto& path) { path.destination = elsewhere; }) == "CA17-12 ip.dst");
    CHECK(found([&](auto& path) { path.source = elsewhere; }) == "CA17-11 ip.src");
    CHECK(found([](auto& path) { path.hop_limit = 9; }) == "ENC-11 ip.ttl");
    CHECK(found([](auto& path) { path.dscp = 9; }) == "ENC-12 ip.dscp");
    CHECK(found([](auto& path) { path.source_port = 0xC002; }) == "ENC-02 udp.sport");
}

TEST_CASE("unreliable: a Q_Key with the top bit sends that of the QP", "[model][EXT-05]") {
    const auto found = [](std::uint32_t posted, std::uint32_t sent) {
        Scene scene(QpType::Ud);
        dut::SendRequest made = datagram(1, 0, 4);
        made.ud->qkey = {posted};
        scene.post(made);
        scene.heard("SEND_ONLY", 0, filled(0, 4),
                    {.packet = [=](wire::Packet& packet) { packet.deth.qkey = {sent}; }});
        return scene.found();
    };
    CHECK(found(0x77, 0x77) == "");
    CHECK(found(0x77, kQkey.value) == "EXT-05 qkey");
    CHECK(found(0x80000077, kQkey.value) == "");
    CHECK(found(0x80000077, 0x80000077) == "EXT-05 qkey");
}

TEST_CASE("unreliable: each datagram leaves once, and none without a request", "[model][EXT-05]") {
    Scene twice(QpType::Ud);
    twice.post(datagram(1, 0, 4));
    twice.heard("SEND_ONLY", 0, filled(0, 4));
    CHECK(twice.found_alive() == "");
    Scene again = twice;
    again.heard("SEND_ONLY", 0, filled(0, 4));
    CHECK(again.found() == "REQ-01 psn");
    twice.heard("SEND_ONLY", 1, filled(0, 4));
    CHECK(twice.found() == "EXT-05 datagram");
    Scene other(QpType::Ud);
    other.post(datagram(1, 0, 4));
    CHECK(other.found() == "");
    CHECK(other.found_alive() == "EXT-05 request");
    other.heard("SEND_ONLY", 0, filled(4, 4));
    CHECK(other.found() == "REQ-31 data");
}

TEST_CASE("unreliable: what cannot be sent may be left out, with its PSN", "[model][EXT-05]") {
    const auto found = [](std::int64_t psn) {
        Scene scene(QpType::Ud);
        scene.story.setting.dut.ports.front().mtu_active = wire::Mtu::B256;
        scene.post(datagram(1, 0, 257));
        scene.post(datagram(2, 0, 4));
        scene.heard("SEND_ONLY", psn, filled(0, 4));
        return scene.found_alive();
    };
    CHECK(found(0) == "");
    CHECK(found(1) == "");
}

TEST_CASE("unreliable: UC sends each packet once, in order", "[model][EXT-06]") {
    Scene scene = uc_sends();
    Scene again = scene;
    again.heard("SEND_FIRST", 0, filled(0, 256));
    CHECK(again.found() == "REQ-01 psn");
    CHECK(scene.found_alive() == "REQ-01 request"); // its LAST
    scene.heard("SEND_LAST", 1, filled(256, 44));
    CHECK(scene.found_alive() == "");
}

TEST_CASE("unreliable: a datagram fills its receive behind its headers", "[model][EXT-05]") {
    CHECK(read_after(datagram_sent(), datagram_taken(1, 47), with_datagram()) == "");
    const std::map<std::size_t, std::string> wrong{
        {16 + 23, "EXT-05 memory"}, {16 + 36, "EXT-05 memory"},          {16 + 40, "EXT-05 memory"},
        {16 + 46, "EXT-05 memory"}, {16 + 47, "KEY-14 memory (should)"}, {15, "KEY-14 memory"}};
    for (const auto& [at, found] : wrong) {
        auto memory = with_datagram();
        memory[at] ^= std::byte{1};
        CHECK(read_after(datagram_sent(), datagram_taken(1, 47), memory) == found);
    }
    auto free = with_datagram();
    free[16] ^= std::byte{1};
    CHECK(read_after(datagram_sent(), datagram_taken(1, 47), free) == "");
}

TEST_CASE("unreliable: the completion of a datagram tells its fields", "[model][EXT-05]") {
    const auto found = [](const std::function<void(dut::Completion&)>& edit) {
        dut::Completion completion = datagram_taken(1, 47);
        edit(completion);
        return read_after(datagram_sent(), completion, with_datagram());
    };
    CHECK(found([](auto&) {}) == "");
    CHECK(found([](auto& one) { one.byte_len = 7; }) == "N-21 completion");
    CHECK(found([](auto& one) { one.imm = 1; }) == "N-21 completion");
    CHECK(found([](auto& one) { one.src_qpn = wire::Qpn{0x3456}; }) == "EXT-05 completion");
    CHECK(found([](auto& one) { one.src_qpn.reset(); }) == "EXT-05 completion");
}

TEST_CASE("unreliable: a datagram that must be dropped changes nothing", "[model][EXT-05]") {
    const auto dropped = [](const OwnerScene::Edit& edit, bool damaged = false) {
        OwnerScene scene(QpType::Ud);
        scene.receive(1, 16, 64);
        scene.sent("SEND_ONLY", 0, OwnerScene::data(7), edit, damaged);
        return scene;
    };
    const auto other_key = [](wire::Packet& packet) { packet.deth.qkey = {0x1235}; };
    for (const OwnerScene& scene :
         {dropped(other_key), dropped([](auto&) {}, true),
          dropped([](wire::Packet& packet) { packet.bth.version = 1; })}) {
        CHECK(read(scene, OwnerScene::with()) == "");
        CHECK(read(scene, with_datagram()) == "KEY-14 memory");
        CHECK(read_after(scene, datagram_taken(1, 47), OwnerScene::with()) == "N-21 completion");
    }
}

TEST_CASE("unreliable: a datagram with a receive is delivered", "[model][EXT-05]") {
    OwnerScene scene = datagram_sent();
    scene.polled_nothing();
    CHECK(scene.found_later() == "N-21 completion");
    OwnerScene late = scene;
    late.polled(datagram_taken(1, 47));
    CHECK(late.found_later() == "");
    OwnerScene lost = datagram_sent();
    lost.story.setting.exact = false; // the network may have lost it
    lost.polled_nothing();
    CHECK(lost.found_later() == "");
}

TEST_CASE("unreliable: a datagram that is too long harms nothing", "[model][EXT-05]") {
    OwnerScene scene(QpType::Ud);
    scene.receive(1, 16, 46);
    scene.sent("SEND_ONLY", 0, OwnerScene::data(7));
    scene.sent("SEND_ONLY", 1, OwnerScene::data(6));
    OwnerScene right = scene;
    right.polled(datagram_taken(1, 46));
    CHECK(right.found_later() == "");
    scene.polled_nothing();
    CHECK(scene.found_later() == "N-21 completion");
}

TEST_CASE("unreliable: on a real link a receive holds one of the datagrams", "[model][EXT-05]") {
    OwnerScene scene = datagram_sent();
    scene.story.setting.exact = false;
    scene.receive(2, 116, 64);
    scene.sent("SEND_ONLY", 1, OwnerScene::data(9));
    const auto found = [&](std::uint32_t length) {
        OwnerScene now = scene;
        now.polled(datagram_taken(1, length));
        return now.found();
    };
    CHECK(found(47) == "");
    CHECK(found(49) == ""); // it came first
    CHECK(found(48) == "N-21 completion");
}

TEST_CASE("unreliable: a whole UC message is delivered", "[model][EXT-06]") {
    const auto right = [] {
        auto memory = OwnerScene::with(100, OwnerScene::data(256));
        std::ranges::copy(OwnerScene::data(4), memory.begin() + 356);
        return memory;
    }();
    CHECK(read_after(uc_send(1), taken(1, 260), right) == "");
    CHECK(read_after(uc_send(1), taken(1, 4), right) == "N-21 completion");
    CHECK(read_after(uc_send(1), taken(1, 260), OwnerScene::with()) == "EXT-06 memory");
    OwnerScene lost = uc_send(1);
    lost.polled_nothing();
    CHECK(lost.found_later() == "N-21 completion");
    CHECK(read(uc_write(1), right) == "");
    CHECK(read(uc_write(1), OwnerScene::with()) == "EXT-06 memory");
}

TEST_CASE("unreliable: a UC message with a gap is lost", "[model][EXT-06]") {
    // What came before the gap may be there, what came after it not.
    const auto first = OwnerScene::with(100, OwnerScene::data(256));
    auto both = first;
    std::ranges::copy(OwnerScene::data(4), both.begin() + 356);
    for (const OwnerScene& scene : {uc_send(2), uc_write(2)}) {
        CHECK(read(scene, OwnerScene::with()) == "");
        CHECK(read(scene, first) == "");
        CHECK(read(scene, both) == "KEY-14 memory");
    }
    CHECK(read_after(uc_send(2), taken(1, 260), first) == "N-21 completion");
    // The next one has its receive.
    OwnerScene next = uc_send(2);
    next.sent("SEND_ONLY", 3, OwnerScene::data(7, 1));
    next.polled_nothing();
    CHECK(next.found_later() == "N-21 completion");
    next.polled(taken(1, 7));
    CHECK(next.found_later() == "");
}

TEST_CASE("unreliable: UC immediate data take a receive", "[model][N-15]") {
    dut::Completion right = taken(1, 260);
    right.opcode = wire::WcOpcode::RecvRdmaWithImm;
    right.imm = 0;
    const auto found = [&](std::int64_t second) {
        OwnerScene scene = uc_write(second, "RDMA_WRITE_LAST_WITH_IMM");
        scene.polled(right);
        return scene.found();
    };
    CHECK(found(1) == "");
    CHECK(found(2) == "N-21 completion");
    // Its completion makes it visible.
    OwnerScene scene = uc_write(1, "RDMA_WRITE_LAST_WITH_IMM");
    scene.polled(right);
    scene.reads_at_once(OwnerScene::with());
    CHECK(scene.found() == "EXT-06 memory");
}

TEST_CASE("unreliable: no answer gives a request of UC or UD its status", "[model][REQ-16]") {
    const auto found = [](wire::WcStatus status) {
        OwnerScene scene(QpType::Uc);
        scene.post(WrOpcode::Send, 1, 0, 4);
        scene.heard("SEND_ONLY", 0, OwnerScene::with());
        scene.polled({.id = 1, .queue = wire::Queue::Send, .status = status});
        return scene.found();
    };
    CHECK(found(wire::WcStatus::LocProtErr) == "");
    CHECK(found(wire::WcStatus::RemAccessErr) == "REQ-16 completion");
    CHECK(found(wire::WcStatus::RetryExcErr) == "REQ-16 completion");
}

} // namespace veriroce::model::test
