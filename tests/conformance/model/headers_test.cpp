// Header constants: a right packet passes, each wrong field is found by its rule.
#include <catch2/catch.hpp>

#include "tests/conformance/model/scene.hpp"

namespace veriroce::model::test {
namespace {

const wire::MacAddress kOtherMac = *wire::MacAddress::parse("02:00:00:00:00:99");

// The findings of one ACK of the device that is right but for these edits.
std::string found_with(const Edits& edits, bool exact = true) {
    Scene scene;
    scene.story.setting.exact = exact;
    scene.query(64);
    scene.post_receives(1);
    scene.sent("SEND_ONLY", 0);
    Edits all = edits;
    all.packet = [&](wire::Packet& packet) {
        packet.aeth.msn = {1};
        edits.packet(packet);
    };
    scene.heard("ACKNOWLEDGE", 0, {}, all);
    return scene.found();
}

std::string found_with_packet(const EditPacket& edit, bool exact = true) {
    return found_with({.packet = edit}, exact);
}
std::string found_with_envelope(const EditEnvelope& edit, bool exact = true) {
    return found_with({.envelope = edit}, exact);
}

// The IPv4 header begins behind Ethernet's; its checksum is made right again.
constexpr std::size_t kIpAt = 14;
EditFrame with_ip_byte(std::size_t at, std::byte value) {
    return [=](std::vector<std::byte>& frame) {
        frame[kIpAt + at] = value;
        const wire::Bytes header = wire::Bytes(frame).subspan(kIpAt, wire::Ipv4::kSize);
        wire::store_be<2>(frame, kIpAt + 10, wire::ipv4_checksum(header));
    };
}

} // namespace

TEST_CASE("model: the headers of a right packet are right", "[model][CA17-2]") {
    CHECK(found_with({}) == "");
    CHECK(found_with({}, false) == "");
}

TEST_CASE("model: Ethernet addresses are those of the two ports", "[model][CA17-2]") {
    CHECK(found_with({.link = {.destination = kOtherMac}}) == "CA17-2 eth.dst");
    CHECK(found_with({.link = {.source = kOtherMac}}) == "CA17-2 eth.src");
}

TEST_CASE("model: packets have the tag of their network", "[model][N-05]") {
    CHECK(found_with_envelope([](auto& e) { e.vlan = wire::VlanId{.id = 5}; }) == "N-05 vlan.id");
    CHECK(found_with_envelope([](auto& e) { e.vlan = wire::VlanId{.id = 0}; }) == "");
}

TEST_CASE("model: IPv4 flags are 010", "[model][CA17-7]") {
    CHECK(found_with({.frame = with_ip_byte(6, std::byte{0})}) == "CA17-7 ip.df");
    CHECK(found_with({.frame = with_ip_byte(6, std::byte{0xC0})}) == "CA17-7 the reserved IP flag");
}

TEST_CASE("model: a wrong IP checksum is told", "[model][N-03]") {
    CHECK(found_with({.frame = [](auto& frame) { frame[kIpAt + 10] ^= std::byte{1}; }}) ==
          "N-03 ip.checksum");
}

TEST_CASE("model: the DSCP is that of the address vector", "[model][ENC-12]") {
    CHECK(found_with_envelope([](auto& e) { e.dscp = 0; }) == "ENC-12 ip.dscp");
    Scene scene;
    scene.story.setting.dut.traits = {"dscp_overridden"};
    scene.post(request(wire::WrOpcode::Send, 0, 4));
    scene.heard("SEND_ONLY", 0, filled(0, 4), {.envelope = [](auto& e) { e.dscp = 0; }});
    CHECK(scene.found() == "");
}

TEST_CASE("model: an answer that was on its way keeps the DSCP of its time", "[model][ENC-12]") {
    const auto found = [](std::int64_t psn, wire::Duration later) {
        Scene scene;
        scene.post_receives(2);
        scene.sent("SEND_ONLY", 0);
        scene.acknowledged(0, 1);
        const dut::AddressVector vector{.address = peer().address, .hop_limit = 64};
        scene.call(dut::QpModify{.qp = kQp, .attributes = {.address_vector = vector}});
        if (psn > 0) scene.sent("SEND_ONLY", psn);
        scene.acknowledged(psn, static_cast<std::uint32_t>(psn + 1)); // with the old one
        scene.story.packets.back().at = {wire::Instant{later}, wire::Instant{later}};
        return scene.found();
    };
    CHECK(found(0, std::chrono::milliseconds(9)) == ""); // the time for an answer is 10 ms
    CHECK(found(0, std::chrono::milliseconds(11)) == "ENC-12 ip.dscp");
    CHECK(found(1, std::chrono::microseconds(200)) == "ENC-12 ip.dscp");
}

TEST_CASE("model: only a switch marks a packet as congested", "[model][CA17-5]") {
    CHECK(found_with_envelope([](auto& e) { e.ecn = 3; }) == "CA17-5 ip.ecn");
    CHECK(found_with_envelope([](auto& e) { e.ecn = 3; }, false) == "");
    CHECK(found_with_envelope([](auto& e) { e.ecn = 2; }) == "");
}

TEST_CASE("model: the two ECT values of a QP do not mix", "[model][CA17-5]") {
    Scene scene;
    scene.post(request(wire::WrOpcode::Send, 0, 4));
    scene.heard("SEND_ONLY", 0, filled(0, 4), {.envelope = [](auto& e) { e.ecn = 1; }});
    scene.heard("SEND_ONLY", 0, filled(0, 4), {.envelope = [](auto& e) { e.ecn = 2; }});
    CHECK(scene.found() == "CA17-5 ip.ecn");
}

TEST_CASE("model: the hop limit is the one that the device reports", "[model][CA17-9]") {
    CHECK(found_with_envelope([](auto& e) { e.hop_limit = 1; }) == "CA17-9 ip.ttl");
    for (const auto reported :
         {std::uint8_t{32}, std::uint8_t{64}}) { // 32: the route's, not the one that was set
        Scene scene;
        scene.query(reported);
        scene.post(request(wire::WrOpcode::Send, 0, 4));
        scene.heard("SEND_ONLY", 0, filled(0, 4), {.envelope = [](auto& e) { e.hop_limit = 32; }});
        CHECK(scene.found() == (reported == 32 ? "" : "CA17-9 ip.ttl"));
    }
}

// The question comes at the end of the case, and tells nothing of what was sent before a change.
TEST_CASE("model: packets have the hop limit of their time", "[model][CA17-9]") {
    const auto found = [](std::uint8_t before, std::uint8_t after, std::uint8_t reported) {
        Scene scene;
        const auto send = [&](std::uint8_t hop_limit) {
            scene.post(request(wire::WrOpcode::Send, 0, 4));
            scene.heard("SEND_ONLY", hop_limit == before ? 0 : 1, filled(0, 4),
                        {.envelope = [=](auto& e) { e.hop_limit = hop_limit; }});
        };
        send(before);
        dut::AddressVector vector{
            .address = peer().address, .hop_limit = std::uint8_t{20}, .traffic_class = 26 << 2};
        scene.call(dut::QpModify{.qp = kQp, .attributes = {.address_vector = vector}});
        send(after);
        scene.query(reported);
        return scene.found();
    };
    CHECK(found(64, 20, 20) == "");
    CHECK(found(64, 64, 20) == "CA17-9 ip.ttl");
    CHECK(found(20, 21, 20) == "CA17-9 ip.ttl");
    CHECK(found(32, 33, 33) == ""); // those of the routes
    CHECK(found(32, 32, 33) == "CA17-9 ip.ttl");
}

// A device that reports 64 where 64 was set may take it from the route, and another one never.
TEST_CASE("model: the usual hop limit does not tell where it comes from", "[model][CA17-9]") {
    const auto set = [](Scene& scene, std::uint8_t hop_limit) {
        const dut::AddressVector vector{
            .address = peer().address, .hop_limit = hop_limit, .traffic_class = 26 << 2};
        scene.call(dut::QpModify{.qp = kQp, .attributes = {.address_vector = vector}});
    };
    const auto found = [](Scene& scene) {
        scene.post(request(wire::WrOpcode::Send, 0, 4));
        scene.heard("SEND_ONLY", 0, filled(0, 4), {.envelope = [](auto& e) { e.hop_limit = 64; }});
        return scene.found();
    };
    Scene usual;
    usual.query(64);
    set(usual, 20);
    CHECK(found(usual) == "");
    // One that is not what was set tells that it is the route's.
    Scene other;
    set(other, 30);
    other.query(30);
    set(other, 40);
    other.query(64);
    set(other, 20);
    CHECK(found(other) == "");
}

TEST_CASE("model: a hop limit that the device does not report is one for a QP", "[model][ENC-11]") {
    Scene scene;
    scene.post(request(wire::WrOpcode::Send, 0, 4));
    scene.heard("SEND_ONLY", 0, filled(0, 4), {.envelope = [](auto& e) { e.hop_limit = 1; }});
    CHECK(scene.found() == "");
    scene.heard("SEND_ONLY", 0, filled(0, 4), {.envelope = [](auto& e) { e.hop_limit = 2; }});
    CHECK(scene.found() == "ENC-11 ip.ttl");
}

TEST_CASE("model: packets go to the peer's address", "[model][CA17-12]") {
    const auto other = [](auto& e) { e.destination = *wire::IpAddress::parse("192.0.2.3"); };
    CHECK(found_with_envelope(other) == "CA17-12 ip.dst");
}

TEST_CASE("model: requests of a QP have one source port, resent ones any", "[model][ENC-02]") {
    Scene scene;
    scene.post(request(wire::WrOpcode::Send, 0, 4));
    scene.post(request(wire::WrOpcode::Send, 0, 4));
    scene.heard("SEND_ONLY", 0, filled(0, 4));
    scene.heard("SEND_ONLY", 0, filled(0, 4), {.envelope = [](auto& e) { e.source_port = 9; }});
    CHECK(scene.found() == "");
    scene.heard("SEND_ONLY", 1, filled(0, 4), {.envelope = [](auto& e) { e.source_port = 9; }});
    CHECK(scene.found() == "ENC-02 udp.sport");
}

TEST_CASE("model: BTH fields with one value", "[model][BTH-16]") {
    CHECK(found_with_packet([](auto& p) { p.bth.version = 1; }) == "BTH-01 tver");
    CHECK(found_with_packet([](auto& p) { p.bth.reserved7 = 1; }) == "BTH-16 resv7");
    CHECK(found_with_packet([](auto& p) { p.bth.reserved6 = 1; }) == "BTH-16 resv6");
    CHECK(found_with_packet([](auto& p) { p.bth.fecn = true; }) == "CA17-29 fecn");
    CHECK(found_with_packet([](auto& p) { p.bth.becn = true; }) == "CA17-29 becn");
    CHECK(found_with_packet([](auto& p) { p.bth.solicited = true; }) == "BTH-19 se");
    CHECK(found_with_packet([](auto& p) { p.bth.ack_request = true; }) == "BTH-19 ackreq");
    CHECK(found_with_packet([](auto& p) { p.bth.pkey = {0x7FFF}; }) == "BTH-08 pkey");
    CHECK(found_with_packet([](auto& p) { p.bth.dest_qp = {0}; }) == "BTH-19 destqp");
    CHECK(found_with_packet([](auto& p) { p.bth.pad = 1; }) == "BTH-09 pad");
}

TEST_CASE("model: MigReq is one value for a QP", "[model][BTH-15]") {
    CHECK(found_with_packet([](auto& p) { p.bth.mig_req = true; }) == "");
    Scene scene;
    scene.post(request(wire::WrOpcode::Send, 0, 4));
    scene.heard("SEND_ONLY", 0, filled(0, 4));
    scene.heard("SEND_ONLY", 0, filled(0, 4), {.packet = [](auto& p) { p.bth.mig_req = true; }});
    CHECK(scene.found() == "BTH-15 migreq");
}

TEST_CASE("model: pad bytes are zero", "[model][BTH-09]") {
    Scene scene;
    scene.post(request(wire::WrOpcode::Send, 0, 3));
    scene.heard("SEND_ONLY", 0, filled(0, 3));
    CHECK(scene.found() == "");
    scene.heard("SEND_ONLY", 0, filled(0, 3), {.frame = [](auto& frame) {
                    frame[frame.size() - wire::kIcrcBytes - 1] = std::byte{1};
                }});
    CHECK(scene.found() == "BTH-09 pad bytes");
}

TEST_CASE("model: a CNP has its fixed fields", "[model][CNP-02]") {
    const std::vector<std::byte> zeros(16);
    const auto found = [&](const EditPacket& edit, wire::Bytes body) {
        Scene scene;
        scene.heard("CNP", 0, body, {.packet = edit});
        return scene.found();
    };
    CHECK(found([](auto&) {}, zeros) == "");
    CHECK(found([](auto& p) { p.bth.psn = wire::Psn(1); }, zeros) == "CNP-02 psn");
    CHECK(found([](auto& p) { p.bth.mig_req = true; }, zeros) == "CNP-02 migreq");
    CHECK(found([](auto& p) { p.bth.becn = false; }, zeros) == "CNP-02 becn");
    CHECK(found([](auto& p) { p.bth.dest_qp = {0}; }, zeros) == "CNP-02 destqp");
    const std::vector<std::byte> ones(16, std::byte{1});
    CHECK(found([](auto&) {}, ones) == "CNP-02 payload");
}

TEST_CASE("model: what a switch may change is held to less on a real link", "[model][ENC-12]") {
    Scene scene;
    scene.story.setting.exact = false;
    scene.post(request(wire::WrOpcode::Send, 0, 4));
    scene.heard("SEND_ONLY", 0, filled(0, 4), {.envelope = [](auto& e) { e.dscp = 0; }});
    const auto found = check_packets(scene.story);
    REQUIRE(found.size() == 1);
    CHECK(found[0].level == rules::Level::Should);
    CHECK(found[0].kind == rules::FindingClass::Contradiction);
}

TEST_CASE("model: a deviation is told once, with all its packets", "[model]") {
    Scene scene;
    scene.post(request(wire::WrOpcode::Send, 0, 4));
    for (int i = 0; i < 20; ++i) {
        scene.heard("SEND_ONLY", 0, filled(0, 4), {.packet = [](auto& p) { p.bth.reserved7 = 1; }});
    }
    const auto found = check_packets(scene.story);
    REQUIRE(found.size() == 1);
    CHECK(found[0].packets.size() == 8);
    CHECK(found[0].allowed == "resv7 must be 0");
    CHECK(found[0].measured == "resv7 is 1");
}

} // namespace veriroce::model::test
