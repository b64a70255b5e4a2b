// What a device must answer to the requests that reach it: right answers pass, missing and wrong
// ones are found.
#include <catch2/catch.hpp>

#include "tests/conformance/model/owner_scene.hpp"

namespace veriroce::model::test {
namespace {

using wire::NakCode;

OwnerScene::Edit asking(const OwnerScene::Edit& edit = [](wire::Packet&) {}) {
    return [edit](wire::Packet& packet) {
        edit(packet);
        packet.bth.ack_request = true;
    };
}

OwnerScene::Edit to_key(std::uint32_t key) {
    return [key](wire::Packet& packet) {
        OwnerScene::to(0, 8)(packet);
        packet.reth.rkey = wire::Rkey{key};
    };
}

// A WRITE of 8 bytes that asks for an answer.
OwnerScene with_write(const OwnerScene::Edit& edit = OwnerScene::to(0, 8)) {
    OwnerScene scene;
    scene.sent("RDMA_WRITE_ONLY", 0, OwnerScene::data(8), asking(edit));
    return scene;
}

void rnr_nak(OwnerScene& scene, std::int64_t psn) {
    scene.heard("ACKNOWLEDGE", psn, {},
                [](wire::Packet& packet) { packet.aeth.syndrome = wire::Syndrome::rnr(1); });
}

std::string after_ack(OwnerScene scene, std::int64_t psn = 0) {
    scene.acknowledged(psn);
    return scene.found_later();
}

std::string after_nak(OwnerScene scene, NakCode code, std::int64_t psn = 0) {
    scene.refused(psn, code);
    return scene.found_later();
}

} // namespace

TEST_CASE("due answers: a legal request is answered and not refused", "[model][ACK-01]") {
    CHECK(after_ack(with_write()) == "");
    CHECK(with_write().found_later() == "ACK-01 answer");
    CHECK(after_nak(with_write(), NakCode::RemoteAccess) == "ACK-01 code");
    OwnerScene soon = with_write();
    soon.story.setting.answer_time = std::chrono::seconds(2);
    CHECK(soon.found_later() == "");   // the answer may still come
    CHECK(with_write().found() == ""); // the model does not know whether the QP is alive
    OwnerScene quiet;
    quiet.sent("RDMA_WRITE_ONLY", 0, OwnerScene::data(8), OwnerScene::to(0, 8));
    CHECK(quiet.found_later() == ""); // it asks for none
    OwnerScene real = with_write();
    real.story.setting.exact = false; // the network may have lost it
    CHECK(real.found_later() == "");
}

TEST_CASE("due answers: a gap draws one sequence NAK", "[model][RSP-02]") {
    OwnerScene gap;
    gap.sent("RDMA_WRITE_ONLY", 1, OwnerScene::data(8), OwnerScene::to(0, 8));
    CHECK(OwnerScene(gap).found_later() == "RSP-02 answer");
    CHECK(after_nak(gap, NakCode::PsnSequence) == "");
    OwnerScene again = gap;
    again.refused(0, NakCode::PsnSequence);
    again.sent("RDMA_WRITE_ONLY", 1, OwnerScene::data(8), OwnerScene::to(0, 8));
    CHECK(again.found_later() == ""); // RSP-03
    OwnerScene filled = gap;
    filled.sent("RDMA_WRITE_ONLY", 0, OwnerScene::data(8), OwnerScene::to(0, 8));
    CHECK(filled.found_later() == ""); // RSP-16
}

TEST_CASE("due answers: without a receive an RNR NAK is due", "[model][RNR-01]") {
    OwnerScene scene;
    scene.sent("SEND_ONLY", 0, OwnerScene::data(8));
    CHECK(OwnerScene(scene).found_later() == "RNR-01 answer");
    CHECK(after_nak(scene, NakCode::RemoteOperational) == "RNR-01 code");
    rnr_nak(scene, 0);
    CHECK(OwnerScene(scene).found_later() == "");
    scene.receive(1, 0, 64);
    scene.now += std::chrono::seconds(1);
    scene.sent("SEND_ONLY", 0, OwnerScene::data(8), asking());
    CHECK(scene.found_later() == "ACK-01 answer");
}

TEST_CASE("due answers: an early retry after an RNR NAK may be dropped", "[model][RNR-05]") {
    OwnerScene scene;
    scene.sent("SEND_ONLY", 0, OwnerScene::data(8));
    rnr_nak(scene, 0);
    scene.receive(1, 0, 64);
    scene.sent("SEND_ONLY", 0, OwnerScene::data(8), asking());
    CHECK(scene.found_later() == "");
}

TEST_CASE("due answers: broken opcode order is refused as an invalid request", "[model][OPC-03]") {
    OwnerScene outside;
    outside.sent("SEND_MIDDLE", 0, OwnerScene::data(256));
    CHECK(OwnerScene(outside).found_later() == "OPC-03 answer");
    CHECK(after_nak(outside, NakCode::InvalidRequest) == "");
    CHECK(after_nak(outside, NakCode::RemoteAccess) == "OPC-03 code");
    CHECK(after_ack(outside) == "OPC-03 answer");
    OwnerScene inside;
    inside.sent("RDMA_WRITE_FIRST", 0, OwnerScene::data(256), OwnerScene::to(0, 264));
    inside.sent("RDMA_READ_REQUEST", 1, {}, OwnerScene::to(0, 8));
    CHECK(OwnerScene(inside).found_later() == "OPC-04 answer");
    CHECK(after_nak(inside, NakCode::InvalidRequest, 1) == "");
}

TEST_CASE("due answers: lengths that do not fit are refused", "[model][LEN-01][LEN-04][LEN-06]") {
    OwnerScene short_first;
    short_first.sent("RDMA_WRITE_FIRST", 0, OwnerScene::data(252), OwnerScene::to(0, 264));
    CHECK(OwnerScene(short_first).found_later() == "LEN-01 answer");
    CHECK(after_nak(short_first, NakCode::InvalidRequest) == "");
    const OwnerScene sum = with_write(OwnerScene::to(0, 16));
    CHECK(after_ack(sum) == "LEN-04 answer");
    CHECK(after_nak(sum, NakCode::InvalidRequest) == "");
    CHECK(after_nak(sum, NakCode::RemoteAccess) == "LEN-04 code");
    const OwnerScene far = with_write(OwnerScene::to(0, 1U << 20)); // the region is not so long
    CHECK(after_nak(far, NakCode::InvalidRequest) == "");
    CHECK(after_nak(far, NakCode::RemoteAccess) == "");
    OwnerScene overflow;
    overflow.receive(1, 0, 4);
    overflow.sent("SEND_ONLY", 0, OwnerScene::data(8));
    CHECK(OwnerScene(overflow).found_later() == "LEN-06 answer");
    CHECK(after_nak(overflow, NakCode::RemoteAccess) == "LEN-06 code");
}

TEST_CASE("due answers: keys that open nothing are refused", "[model][KEY-02][KEY-05][KEY-07]") {
    const OwnerScene unknown = with_write(to_key(0x1234));
    CHECK(OwnerScene(unknown).found_later() == "KEY-02 answer");
    CHECK(after_ack(unknown) == "KEY-02 answer");
    CHECK(after_nak(unknown, NakCode::InvalidRequest) == "KEY-02 code");
    CHECK(after_nak(unknown, NakCode::RemoteAccess) == "");
    const OwnerScene outside = with_write(OwnerScene::to(OwnerScene::length - 4, 8));
    CHECK(after_ack(outside) == "KEY-05 answer");
    OwnerScene gone;
    gone.call(dut::MrDeregister{.mr = OwnerScene::region}, dut::Done{});
    gone.sent("RDMA_WRITE_ONLY", 0, OwnerScene::data(8), asking(OwnerScene::to(0, 8)));
    CHECK(after_ack(gone) == "KEY-02 answer");
}

TEST_CASE("due answers: a request with two faults may be refused for either", "[model][KEY-10]") {
    // A wrong key and a wrong length.
    const auto edit = [](wire::Packet& packet) {
        to_key(0x1234)(packet);
        packet.reth.dma_length = 16;
    };
    CHECK(after_nak(with_write(edit), NakCode::InvalidRequest) == "");
    CHECK(after_nak(with_write(edit), NakCode::RemoteAccess) == "");
    CHECK(after_nak(with_write(edit), NakCode::RemoteOperational) != "");
}

TEST_CASE("due answers: a WRITE out of range is refused at once or where it leaves the region",
          "[model][KEY-05]") {
    OwnerScene scene;
    scene.sent("RDMA_WRITE_FIRST", 0, OwnerScene::data(256), OwnerScene::to(768, 512));
    CHECK(OwnerScene(scene).found_later() == "");
    CHECK(after_nak(scene, NakCode::RemoteAccess) == "");
    scene.sent("RDMA_WRITE_LAST", 1, OwnerScene::data(256));
    CHECK(after_nak(scene, NakCode::RemoteAccess) == "");
    CHECK(after_nak(scene, NakCode::RemoteAccess, 1) == "");
    CHECK(after_nak(scene, NakCode::InvalidRequest, 1) == "KEY-05 code");
    CHECK(after_ack(scene, 1) == "KEY-05 answer");
}

TEST_CASE("due answers: a key that is given up meanwhile decides nothing", "[model][KEY-07]") {
    OwnerScene scene;
    dut::PostSend chain{.qp = OwnerScene::qp};
    chain.requests.push_back({.id = 1,
                              .opcode = wire::WrOpcode::LocalInv,
                              .sge = {},
                              .invalidate_rkey = OwnerScene::key});
    scene.call(std::move(chain), dut::Posted{1});
    scene.sent("RDMA_WRITE_ONLY", 0, OwnerScene::data(8), asking(OwnerScene::to(0, 8)));
    CHECK(after_ack(scene) == "");
    CHECK(after_nak(scene, NakCode::RemoteAccess) == "");
}

namespace {

constexpr wire::Rkey kWindow{0x4401};

OwnerScene::Edit to_window(std::uint64_t offset, std::uint32_t length) {
    return asking([=](wire::Packet& packet) {
        packet.reth = {.virtual_address = OwnerScene::address + 512 + offset,
                       .rkey = kWindow,
                       .dma_length = length};
    });
}

// The bytes 512 to 639 of the region.
void bind_window(OwnerScene& scene, bool polled) {
    wire::Access access;
    access.remote_write = true;
    dut::PostSend chain{.qp = OwnerScene::qp};
    chain.requests.push_back({.id = 1,
                              .opcode = wire::WrOpcode::BindMw,
                              .sge = {},
                              .rkey = kWindow,
                              .mw = dut::MwHandle{3},
                              .bind = dut::Bind{OwnerScene::region, 512, 128, access},
                              .flags = {.signaled = true}});
    scene.call(std::move(chain), dut::Posted{1});
    if (polled)
        scene.polled({.id = 1, .queue = engine::Queue::Send, .opcode = wire::WcOpcode::BindMw});
}

// Without what is found of completions that the test has not polled.
std::string of_keys(const std::string& found) {
    const std::size_t at = found.find("KEY");
    return at == std::string::npos ? "" : found.substr(at);
}

void invalidate_window(OwnerScene& scene, bool polled) {
    dut::PostSend chain{.qp = OwnerScene::qp};
    chain.requests.push_back({.id = 2,
                              .opcode = wire::WrOpcode::LocalInv,
                              .sge = {},
                              .invalidate_rkey = kWindow,
                              .flags = {.signaled = true}});
    scene.call(std::move(chain), dut::Posted{1});
    if (polled)
        scene.polled({.id = 2, .queue = engine::Queue::Send, .opcode = wire::WcOpcode::LocalInv});
}

} // namespace

TEST_CASE("due answers: a window opens its range, from its bind to its end",
          "[model][KEY-05][KEY-07][KEY-08]") {
    const auto answer = [](bool bound, std::optional<bool> invalidated, std::uint64_t offset,
                           bool accepted) {
        OwnerScene scene;
        bind_window(scene, bound);
        if (invalidated) invalidate_window(scene, *invalidated);
        scene.sent("RDMA_WRITE_ONLY", 0, OwnerScene::data(8), to_window(offset, 8));
        const std::string found =
            accepted ? after_ack(scene) : after_nak(scene, NakCode::RemoteAccess);
        return of_keys(found);
    };
    CHECK(answer(true, {}, 120, true) == "");
    CHECK(answer(true, {}, 120, false) == ""); // it may have lost its meaning meanwhile
    CHECK(answer(true, {}, 121, true) == "KEY-05 answer");
    CHECK(answer(true, {}, 121, false) == "");
    CHECK(answer(false, {}, 121, true) == ""); // the bind is not known to be done
    CHECK(answer(true, false, 0, true) == "");
    CHECK(answer(true, true, 0, true) == "KEY-02 answer");
    CHECK(answer(true, true, 0, false) == "");
}

TEST_CASE("due answers: what changes a window's key leaves the answer open", "[model][KEY-07]") {
    const auto changed_by = [](dut::Request request, dut::Result result) {
        OwnerScene scene;
        bind_window(scene, true);
        scene.call(std::move(request), std::move(result));
        scene.sent("RDMA_WRITE_ONLY", 0, OwnerScene::data(8), to_window(121, 8));
        return of_keys(after_ack(scene));
    };
    CHECK(changed_by(dut::MwDealloc{.mw = dut::MwHandle{3}}, dut::Done{}) == "");
    CHECK(changed_by(dut::MwAlloc{}, dut::MwAllocated{.mw = dut::MwHandle{4}}) == "KEY-05 answer");
}

TEST_CASE("due answers: a READ beyond the device's resources decides nothing", "[model][RDR-09]") {
    OwnerScene scene;
    for (std::int64_t psn = 0; psn < 5; ++psn)
        scene.sent("RDMA_READ_REQUEST", psn, {}, OwnerScene::to(0, 8));
    CHECK(after_nak(scene, NakCode::InvalidRequest, 4) == "");
    CHECK(after_nak(scene, NakCode::InvalidRequest, 3) == "ACK-01 code");
}

namespace {

// WRITE 1 comes in the place of WRITE 0, and long after it what was missing.
std::string after_gap(bool naked, std::chrono::milliseconds later) {
    OwnerScene scene;
    scene.sent("RDMA_WRITE_ONLY", 1, OwnerScene::data(8), asking(OwnerScene::to(8, 8)));
    if (naked) scene.refused(0, NakCode::PsnSequence);
    scene.now += later;
    scene.sent("RDMA_WRITE_ONLY", 0, OwnerScene::data(8), asking(OwnerScene::to(0, 8)));
    scene.sent("RDMA_WRITE_ONLY", 1, OwnerScene::data(8), asking(OwnerScene::to(8, 8)));
    scene.acknowledged(1);
    return scene.found_later();
}

} // namespace

TEST_CASE("due answers: what was missing does not excuse a late NAK for ever", "[model][RSP-02]") {
    CHECK(after_gap(true, std::chrono::milliseconds(50)) == "");
    CHECK(after_gap(false, std::chrono::milliseconds(30)) == ""); // RSP-16
    CHECK(after_gap(false, std::chrono::milliseconds(50)) == "RSP-02 answer");
}

TEST_CASE("due answers: a gap behind a packet that came again gets its NAK", "[model][RSP-06]") {
    const auto write = [](OwnerScene& scene, std::string_view opcode, std::int64_t psn) {
        scene.sent(opcode, psn, OwnerScene::data(opcode.ends_with("LAST") ? 8 : 256),
                   asking(OwnerScene::to(0, 520)));
    };
    const auto after_lossy = [&](bool naked) {
        OwnerScene scene;
        write(scene, "RDMA_WRITE_FIRST", 0);
        write(scene, "RDMA_WRITE_MIDDLE", 1);
        write(scene, "RDMA_WRITE_LAST", 2);
        scene.refused(0, NakCode::PsnSequence);
        write(scene, "RDMA_WRITE_FIRST", 0);
        write(scene, "RDMA_WRITE_LAST", 2);
        if (naked) scene.refused(1, NakCode::PsnSequence);
        return scene.found_later();
    };
    CHECK(after_lossy(true) == "");
    CHECK(after_lossy(false) != "");
}

} // namespace veriroce::model::test
