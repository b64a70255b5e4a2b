// What answers may say: right ones pass, each wrong one is found.
#include <catch2/catch.hpp>

#include "tests/conformance/model/scene.hpp"

namespace veriroce::model::test {
namespace {

using wire::NakCode;
using wire::Syndrome;

// Three SENDs of one packet each, with receives for them.
Scene scene_of_sends() {
    Scene scene;
    scene.post_receives(3);
    for (int psn = 0; psn < 3; ++psn)
        scene.sent("SEND_ONLY", psn);
    return scene;
}

std::string found_with_ack(std::int64_t psn, std::uint32_t msn,
                           Syndrome syndrome = Syndrome::ack(wire::kNoCredits)) {
    Scene scene = scene_of_sends();
    scene.acknowledged(psn, msn, syndrome);
    return scene.found();
}

EditPacket reads(std::uint32_t length) {
    return [=](wire::Packet& packet) {
        packet.reth = {.virtual_address = 0x10000, .rkey = kRegionKey, .dma_length = length};
    };
}

EditPacket with_msn(std::uint32_t msn) {
    return [=](wire::Packet& packet) { packet.aeth.msn = {msn}; };
}

} // namespace

TEST_CASE("model: an ACK may be coalesced, and count later messages", "[model][ACK-07]") {
    CHECK(found_with_ack(2, 3) == "");
    CHECK(found_with_ack(0, 1) == "");
    CHECK(found_with_ack(0, 3) == "");
}

TEST_CASE("model: an MSN outside of its bounds is found", "[model][ACK-07]") {
    CHECK(found_with_ack(2, 2) == "ACK-07 msn");
    CHECK(found_with_ack(2, 4) == "ACK-07 msn");
    CHECK(found_with_ack(0, 0) == "ACK-07 msn");
    CHECK(found_with_ack(1, wire::kMask24) == "ACK-07 msn");
}

TEST_CASE("model: a SEND whose key cannot be invalidated may be acknowledged and not count",
          "[model][KEY-11]") {
    const auto with = [](std::string_view opcode, std::uint32_t msn) {
        Scene scene;
        scene.post_receives(1);
        scene.sent(opcode, 0);
        scene.acknowledged(0, msn);
        return scene.found();
    };
    CHECK(with("SEND_ONLY_WITH_INV", 0) == "");
    CHECK(with("SEND_ONLY_WITH_INV", 1) == "");
    CHECK(with("SEND_ONLY_WITH_INV", 2) == "ACK-07 msn");
    CHECK(with("SEND_ONLY", 0) == "ACK-07 msn");
}

TEST_CASE("model: a duplicate does not count again", "[model][ACK-07]") {
    Scene scene = scene_of_sends();
    scene.acknowledged(2, 3);
    scene.sent("SEND_ONLY", 0);
    scene.acknowledged(0, 3); // back, for a duplicate
    CHECK(scene.found() == "");
    scene.acknowledged(0, 4);
    CHECK(scene.found() == "ACK-07 msn");
}

TEST_CASE("model: what an earlier life of a QP sent may leave late", "[model][STA-10]") {
    const auto found = [](wire::Duration since, std::int64_t psn) {
        Scene scene;
        for (int i = 0; i < 3; ++i)
            scene.post(request(wire::WrOpcode::Send, 0, 4));
        scene.sent("RDMA_WRITE_ONLY", 0);
        scene.sent("RDMA_WRITE_ONLY", 1);
        scene.call(dut::QpModify{.qp = kQp, .attributes = {.state = wire::QpState::Reset}});
        dut::QpModify rtr{.qp = kQp, .attributes = {.state = wire::QpState::Rtr}};
        rtr.attributes.rq_psn = wire::Psn(kPeerStart + 500);
        rtr.attributes.dest_qp_num = kTesterQpn;
        scene.call(std::move(rtr));
        scene.call(dut::QpModify{
            .qp = kQp,
            .attributes = {.state = wire::QpState::Rts, .sq_psn = wire::Psn(kOwnStart + 500)}});
        scene.heard("SEND_ONLY", psn, filled(0, 4));
        scene.acknowledged(1, 2);
        for (Packet& packet : scene.story.packets) {
            if (packet.from == Side::Dut)
                packet.at = {wire::Instant{} + since, wire::Instant{} + since};
        }
        return scene.found();
    };
    using std::chrono::microseconds;
    CHECK(found(microseconds(300), 2) == "");
    CHECK(found(microseconds(300), 3).starts_with("REQ-01 psn")); // of neither life
    CHECK(found(microseconds(3000), 2) == "REQ-01 psn; ACK-04 psn; ACK-07 msn");
}

TEST_CASE("model: a device that keeps early requests serves them in RTR", "[model][STA-02]") {
    const auto found = [](std::vector<std::string> traits) {
        Scene scene;
        scene.story.setting.dut.traits = std::move(traits);
        scene.call(dut::QpModify{.qp = kQp, .attributes = {.state = wire::QpState::Reset}});
        scene.call(dut::QpModify{.qp = kQp, .attributes = {.state = wire::QpState::Init}});
        scene.sent("RDMA_WRITE_ONLY", 0);
        dut::QpModify rtr{.qp = kQp, .attributes = {.state = wire::QpState::Rtr}};
        rtr.attributes.rq_psn = wire::Psn(kPeerStart);
        rtr.attributes.dest_qp_num = kTesterQpn;
        scene.call(std::move(rtr));
        scene.acknowledged(0, 1);
        const wire::Instant later = wire::Instant{} + std::chrono::milliseconds(3);
        scene.story.packets.back().at = {later, later};
        return scene.found();
    };
    CHECK(found({"buffers_before_rtr"}) == "");
    CHECK(found({}) == "ACK-04 psn; ACK-07 msn");
}

TEST_CASE("model: an ACK covers nothing that was not sent", "[model][ACK-04]") {
    CHECK(found_with_ack(3, 3) == "ACK-04 psn");
    CHECK(found_with_ack(-1, 0) == "ACK-04 psn");
    Scene gap; // PSN 0 is missing
    gap.post_receives(1);
    gap.sent("SEND_ONLY", 1);
    gap.acknowledged(1, 0);
    CHECK(gap.found() == "ACK-04 psn");
}

TEST_CASE("model: an ACK does not go back without a duplicate", "[model][ACK-04]") {
    Scene scene = scene_of_sends();
    scene.acknowledged(2, 3);
    scene.acknowledged(1, 3);
    CHECK(scene.found() == "ACK-04 psn");
}

TEST_CASE("model: the MSN of a duplicate's answer may count messages answered after it",
          "[model][ACK-07]") {
    const auto found = [](bool repeated) {
        Scene scene = scene_of_sends();
        scene.acknowledged(0, 1);
        if (repeated) scene.sent("SEND_ONLY", 0);
        scene.acknowledged(0, 3);
        scene.acknowledged(1, 2);
        scene.acknowledged(2, 3);
        return scene.found();
    };
    CHECK(found(true) == "");
    CHECK(found(false) == "ACK-07 msn");
}

TEST_CASE("model: only defined syndromes are sent", "[model][ACK-06]") {
    CHECK(found_with_ack(2, 3, {0x9F}) == "ACK-06 syndrome");
    CHECK(found_with_ack(2, 3, {0x5F}) == "ACK-06 syndrome");
    CHECK(found_with_ack(2, 2, {0x64}) == "ACK-06 syndrome");
}

TEST_CASE("model: credits are at most the posted receives", "[model][ACK-10]") {
    CHECK(found_with_ack(2, 3, Syndrome::ack(3)) == "");
    CHECK(found_with_ack(2, 3, Syndrome::ack(4)) == "ACK-10 credits");
}

TEST_CASE("model: an SRQ gives no credits, or says that there are none", "[model][ACK-10]") {
    const auto found = [](std::uint8_t code) {
        Scene scene;
        auto& create = std::get<dut::QpCreate>(scene.story.calls.front().request);
        create.srq = dut::SrqHandle{3};
        scene.sent("SEND_ONLY", 0);
        scene.acknowledged(0, 1, Syndrome::ack(code));
        return scene.found();
    };
    CHECK(found(wire::kNoCredits) == "");
    CHECK(found(0) == "");
    CHECK(found(1) == "ACK-10 credits");
}

TEST_CASE("model: the RNR timer is not shorter than configured", "[model][RNR-07]") {
    const auto found = [](std::uint8_t code) {
        Scene scene;
        scene.sent("SEND_ONLY", 0);
        scene.acknowledged(0, 0, Syndrome::rnr(code));
        return scene.found();
    };
    CHECK(found(12) == "");
    CHECK(found(13) == "");
    CHECK(found(0) == ""); // the longest
    CHECK(found(11) == "RNR-07 timer");
}

TEST_CASE("model: an RNR NAK may have the timer of the time when the request came",
          "[model][RNR-07]") {
    Scene scene;
    dut::QpModify longer{.qp = kQp, .attributes = {}};
    longer.attributes.min_rnr_timer = std::uint8_t{14};
    scene.sent("SEND_ONLY", 0);
    scene.call(longer);
    scene.acknowledged(0, 0, Syndrome::rnr(12));
    CHECK(scene.found() == "");
    scene.sent("SEND_ONLY", 0);
    scene.acknowledged(0, 0, Syndrome::rnr(12));
    CHECK(scene.found() == "RNR-07 timer");
}

TEST_CASE("model: an ACK covers no more SENDs than receives were posted", "[model][RNR-01]") {
    Scene scene;
    scene.post_receives(1);
    scene.sent("SEND_ONLY", 0);
    scene.sent("SEND_ONLY", 1);
    scene.acknowledged(0, 1);
    CHECK(scene.found() == "");
    scene.acknowledged(1, 2);
    CHECK(scene.found() == "RNR-01 psn");
}

TEST_CASE("model: a sequence NAK names the expected PSN, and there is a gap", "[model][RSP-02]") {
    Scene scene = scene_of_sends();
    scene.sent("SEND_ONLY", 4);
    scene.acknowledged(3, 3, Syndrome::nak(NakCode::PsnSequence));
    CHECK(scene.found() == "");
    CHECK(found_with_ack(3, 3, Syndrome::nak(NakCode::PsnSequence)) == "RSP-02 code");
    Scene ahead = scene_of_sends();
    ahead.sent("SEND_ONLY", 9);
    ahead.acknowledged(4, 3, Syndrome::nak(NakCode::PsnSequence));
    CHECK(ahead.found() == "RSP-02 psn");
    Scene behind = scene_of_sends();
    behind.acknowledged(2, 3);
    behind.sent("SEND_ONLY", 4);
    behind.acknowledged(1, 1, Syndrome::nak(NakCode::PsnSequence));
    CHECK(behind.found() == "RSP-02 psn");
}

TEST_CASE("model: the MSN of a NAK counts what ended before it", "[model][ACK-08]") {
    CHECK(found_with_ack(1, 1, Syndrome::nak(NakCode::RemoteAccess)) == "");
    CHECK(found_with_ack(1, 2, Syndrome::nak(NakCode::RemoteAccess)) == "ACK-08 msn");
    CHECK(found_with_ack(1, 0, Syndrome::rnr(12)) == "ACK-08 msn");
}

TEST_CASE("model: READ responses fit their request", "[model][RDR-01]") {
    Scene scene;
    scene.sent("RDMA_READ_REQUEST", 0, {}, {.packet = reads(600)});
    scene.heard("RDMA_READ_RESPONSE_FIRST", 0, filled(0, 256)); // N-01: without the READ itself
    scene.heard("RDMA_READ_RESPONSE_MIDDLE", 1, filled(256, 256));
    scene.heard("RDMA_READ_RESPONSE_LAST", 2, filled(512, 88), {.packet = with_msn(1)});
    CHECK(scene.found() == "");
}

TEST_CASE("model: a READ response of another size or place is found", "[model][RDR-01]") {
    const auto found = [](std::string_view opcode, std::int64_t psn, std::size_t size) {
        Scene scene;
        scene.sent("RDMA_READ_REQUEST", 0, {}, {.packet = reads(600)});
        scene.heard(opcode, psn, filled(0, size), {.packet = with_msn(1)});
        return scene.found();
    };
    CHECK(found("RDMA_READ_RESPONSE_FIRST", 0, 252) == "RDR-01 opcode");
    CHECK(found("RDMA_READ_RESPONSE_LAST", 2, 256) == "RDR-01 opcode");
    CHECK(found("RDMA_READ_RESPONSE_FIRST", 1, 256) == "RDR-01 opcode");
    CHECK(found("RDMA_READ_RESPONSE_LAST", 3, 88) == "ACK-04 psn; RDR-02 psn");
}

TEST_CASE("model: a READ counts in the MSN of its last response", "[model][RDR-03]") {
    Scene scene;
    scene.sent("RDMA_READ_REQUEST", 0, {}, {.packet = reads(4)});
    scene.heard("RDMA_READ_RESPONSE_ONLY", 0, filled(0, 4));
    CHECK(scene.found() == "RDR-03 msn");
}

TEST_CASE("model: the tail of a READ may be answered as a whole or a part", "[model][RDR-06]") {
    for (const std::string_view opcode : {"RDMA_READ_RESPONSE_ONLY", "RDMA_READ_RESPONSE_LAST"}) {
        Scene scene;
        scene.sent("RDMA_READ_REQUEST", 0, {}, {.packet = reads(600)});
        scene.sent("RDMA_READ_REQUEST", 2, {}, {.packet = reads(88)});
        scene.heard(opcode, 2, filled(512, 88), {.packet = with_msn(1)});
        CHECK(scene.found() == "");
    }
}

TEST_CASE("model: a NAK inside a READ names the response that it replaces", "[model][RDR-14]") {
    const auto found = [](std::int64_t nak, bool again) {
        Scene scene;
        scene.story.setting.exact = true;
        scene.sent("RDMA_READ_REQUEST", 0, {}, {.packet = reads(std::size_t{5} * 256)});
        scene.heard("RDMA_READ_RESPONSE_FIRST", 0, filled(0, 256));
        if (again) scene.sent("RDMA_READ_REQUEST", 3, {}, {.packet = reads(std::size_t{2} * 256)});
        scene.acknowledged(nak, again ? 1 : 0, Syndrome::nak(NakCode::RemoteAccess));
        return scene.found();
    };
    CHECK(found(1, false) == "");
    CHECK(found(2, false) == "RDR-14 psn");
    CHECK(found(4, false) == "RDR-14 psn");
    CHECK(found(3, true) == ""); // the tail may have begun
}

TEST_CASE("model: READs and atomics are answered before what follows them", "[model][RDR-11]") {
    Scene scene;
    scene.post_receives(1);
    scene.sent("RDMA_READ_REQUEST", 0, {}, {.packet = reads(4)});
    scene.sent("SEND_ONLY", 1);
    scene.acknowledged(1, 2);
    CHECK(scene.found() == "RDR-11 psn");
}

TEST_CASE("model: an ACK may be repeated after a duplicate READ", "[model][ACK-04][RDR-07]") {
    Scene scene;
    scene.post_receives(1);
    scene.sent("RDMA_READ_REQUEST", 0, {}, {.packet = reads(512)});
    scene.heard("RDMA_READ_RESPONSE_FIRST", 0, filled(0, 256), {.packet = with_msn(1)});
    scene.heard("RDMA_READ_RESPONSE_LAST", 1, filled(256, 256), {.packet = with_msn(1)});
    scene.sent("SEND_ONLY", 2);
    scene.acknowledged(2, 2);
    scene.sent("RDMA_READ_REQUEST", 1, {}, {.packet = reads(512)}); // beyond the first one
    scene.acknowledged(2, 2);
    CHECK(scene.found() == "");
}

TEST_CASE("model: an ATOMIC ACKNOWLEDGE answers an atomic", "[model][ATM-10]") {
    Scene scene;
    scene.sent("FETCH_ADD", 0);
    scene.heard("ATOMIC_ACKNOWLEDGE", 0, {}, {.packet = with_msn(1)});
    CHECK(scene.found() == "");
    Scene other = scene_of_sends();
    other.heard("ATOMIC_ACKNOWLEDGE", 0, {}, {.packet = with_msn(1)});
    CHECK(other.found() == "ATM-10 psn");
}

TEST_CASE("model: packets that differ at one PSN leave the MSN open", "[model][ACK-07]") {
    Scene scene;
    scene.post_receives(2);
    scene.sent("SEND_FIRST", 0, filled(0, 256));
    scene.sent("SEND_ONLY", 0);
    scene.acknowledged(0, 0);
    scene.acknowledged(0, 1);
    CHECK(scene.found() == "");
}

TEST_CASE("model: on a real link a late packet may fill a gap", "[model][ACK-04]") {
    const auto found = [](bool exact) {
        Scene scene;
        scene.story.setting.exact = exact;
        scene.post_receives(2);
        scene.sent("SEND_ONLY", 1);
        scene.sent("SEND_ONLY", 0);
        scene.acknowledged(1, 2);
        return scene.found();
    };
    CHECK(found(false) == "");
    CHECK(found(true) == "ACK-04 psn; ACK-07 msn");
}

TEST_CASE("model: a reconnected QP starts again", "[model][STA-10]") {
    Scene scene = scene_of_sends();
    scene.acknowledged(2, 3);
    scene.call(dut::QpModify{.qp = kQp, .attributes = {.state = wire::QpState::Reset}});
    scene.call(dut::QpModify{.qp = kQp, .attributes = {.state = wire::QpState::Init}});
    dut::QpModify rtr{.qp = kQp, .attributes = {.state = wire::QpState::Rtr}};
    rtr.attributes.rq_psn = wire::Psn(kPeerStart);
    rtr.attributes.dest_qp_num = kTesterQpn;
    scene.call(std::move(rtr));
    scene.sent("RDMA_WRITE_ONLY", 0);
    scene.acknowledged(0, 1);
    CHECK(scene.found() == "");
    scene.acknowledged(0, 4);
    CHECK(scene.found() == "ACK-07 msn");
}

} // namespace veriroce::model::test
