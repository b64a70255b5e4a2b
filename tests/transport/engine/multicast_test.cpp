// Multicast: each attached UD QP gets one copy, and judges it for itself.
#include <algorithm>

#include "tests/transport/engine/requests.hpp"
#include "transport/engine/grh.hpp"
#include "transport/engine/multicast.hpp"

using namespace veriroce;
using namespace veriroce::engine;
using namespace veriroce::engine::test;

namespace {

const wire::IpAddress group = wire::IpAddress::from_v4(0xE0000105); // 224.0.1.5
const wire::IpAddress other_group = wire::IpAddress::parse("ff0e::105").value();

LabOptions ud() {
    LabOptions options;
    options.type = QpType::Ud;
    return options;
}

QpId second(Lab& lab) {
    return lab.another({.pd = lab.pd,
                        .type = QpType::Ud,
                        .send_cq = lab.send_cq,
                        .recv_cq = lab.receive_cq,
                        .capacity = lab.options.capacity});
}

void post_receive(Lab& lab, QpId qp, std::uint64_t id) {
    const Sge sge = lab.sge(0x100 * id, 100);
    const ReceiveRequest request{.id = id, .sges = {&sge, 1}};
    REQUIRE_FALSE(lab.engine.post_receive(qp, {&request, 1}).refused);
}

wire::Packet to_group(const Lab& lab, std::string_view opcode = "SEND_ONLY") {
    wire::Packet packet = lab.packet(opcode, wire::Psn(0));
    packet.bth.dest_qp = kMulticastQpn;
    return packet;
}

void receive(Lab& lab, const wire::Packet& packet, const wire::IpAddress& destination = group) {
    wire::Envelope envelope{.source = peer_address, .destination = destination};
    if (!destination.v4()) envelope.source = wire::IpAddress::parse("fd77::2").value();
    lab.receive(packet, pattern(4), envelope);
}

} // namespace

TEST_CASE("multicast: a group's addresses", "[engine][EXT-05]") {
    CHECK(is_multicast(wire::IpAddress::from_v4(0xE0000000)));
    CHECK(is_multicast(wire::IpAddress::from_v4(0xEFFFFFFF)));
    CHECK(is_multicast(other_group));
    CHECK_FALSE(is_multicast(wire::IpAddress::from_v4(0xDFFFFFFF)));
    CHECK_FALSE(is_multicast(wire::IpAddress::from_v4(0xF0000000)));
    CHECK_FALSE(is_multicast(wire::IpAddress::parse("fe80::1").value()));
}

TEST_CASE("multicast: each attached QP gets one copy of what its group gets", "[engine][EXT-05]") {
    Lab lab(ud());
    const QpId other = second(lab);
    for (const QpId qp : {lab.qp, other}) {
        post_receive(lab, qp, qp.value);
        post_receive(lab, qp, 10 + qp.value);
    }
    receive(lab, to_group(lab)); // no QP is attached
    CHECK(lab.receives().empty());
    CHECK(lab.engine.counters().dropped == 1);

    REQUIRE(lab.engine.attach_mcast(lab.qp, group));
    REQUIRE(lab.engine.attach_mcast(other, group));
    REQUIRE(lab.engine.attach_mcast(other, group)); // once, however often
    receive(lab, to_group(lab));
    const auto done = lab.receives();
    REQUIRE(done.size() == 2);
    CHECK(done[0].qp == lab.qp);
    CHECK(done[1].qp == other);
    for (const Completion& one : done) {
        CHECK(one.status == WcStatus::Success);
        CHECK(one.grh);
        CHECK(one.byte_len == kGrhBytes + 4);
        CHECK(one.source_qp == to_group(lab).deth.source_qp);
        CHECK(std::ranges::equal(lab.memory(0x100 * one.id + kGrhBytes, 4), pattern(4)));
    }

    receive(lab, to_group(lab), other_group);
    CHECK(lab.receives().empty());
    REQUIRE(lab.engine.detach_mcast(lab.qp, group));
    receive(lab, to_group(lab));
    const auto left = lab.receives();
    REQUIRE(left.size() == 1);
    CHECK(left[0].qp == other);
    CHECK(lab.drain().empty()); // nothing answers a datagram
}

TEST_CASE("multicast: P_Key and Q_Key are each QP's own matter", "[engine][EXT-05][BTH-07]") {
    Lab lab(ud());
    const QpId other = second(lab);
    for (const QpId qp : {lab.qp, other}) {
        post_receive(lab, qp, qp.value);
        REQUIRE(lab.engine.attach_mcast(qp, group));
    }
    REQUIRE(lab.engine.modify_qp(other, {.qkey = wire::Qkey{0x5555}}, lab.now));
    wire::Packet packet = to_group(lab);
    packet.deth.qkey = {0x5555};
    receive(lab, packet);
    const auto done = lab.receives();
    REQUIRE(done.size() == 1);
    CHECK(done[0].qp == other);
    CHECK(lab.engine.counters().bad_qkey == 1);
    packet.bth.pkey = {0x9234};
    receive(lab, packet);
    CHECK(lab.receives().empty());
    CHECK(lab.engine.counters().bad_pkey == 2);
}

TEST_CASE("multicast: nothing but datagrams is heard at QP 0xFFFFFF", "[engine][BTH-04]") {
    Lab lab(ud());
    post_receive(lab, lab.qp, 1);
    REQUIRE(lab.engine.attach_mcast(lab.qp, group));
    wire::Packet rc = to_group(lab);
    rc.bth.opcode = wire::opcode_by_name("SEND_ONLY").value();
    rc.headers = rc.info().headers;
    receive(lab, rc);
    wire::Packet cnp = to_group(lab);
    cnp.bth.opcode = wire::kCnpOpcode;
    cnp.headers = {};
    receive(lab, cnp);
    CHECK(lab.receives().empty());
    CHECK(lab.engine.counters().cnp_handled == 0);
    CHECK(lab.engine.counters().dropped == 2);
}

TEST_CASE("multicast: a marked datagram to a group is no cause for a CNP", "[engine][CNP-01]") {
    Lab lab(ud());
    post_receive(lab, lab.qp, 1);
    REQUIRE(lab.engine.attach_mcast(lab.qp, group));
    lab.receive(
        to_group(lab), pattern(4),
        {.source = peer_address, .destination = group, .ecn = wire::kCongestionExperienced});
    CHECK(lab.receives().size() == 1);
    CHECK(lab.drain().empty());
}

TEST_CASE("multicast: a datagram to a group goes to QP 0xFFFFFF", "[engine][EXT-05]") {
    Lab lab(ud());
    Work work(lab, WrOpcode::Send, 4, 1);
    work.request.ud = lab.destination();
    work.request.ud->path.destination = group;
    work.request.ud->qpn = kMulticastQpn;
    post(lab, work);
    const Transmit* const sent = lab.engine.poll_transmit(lab.now);
    REQUIRE(sent != nullptr);
    CHECK(wire::Bth::read(sent->headers).dest_qp == kMulticastQpn);
    CHECK(sent->envelope.destination == group);
}

TEST_CASE("multicast: what may not be attached, and the limits", "[engine][EXT-05]") {
    LabOptions options = ud();
    options.config.limits.multicast_attached = 3;
    options.config.limits.multicast_group_qps = 2;
    Lab lab(options);
    Engine& engine = lab.engine;
    CHECK(engine.attach_mcast(lab.qp, peer_address).error() == VerbError::InvalidArgument);
    CHECK(engine.attach_mcast({99}, group).error() == VerbError::NotFound);
    CHECK(engine.detach_mcast(lab.qp, group).error() == VerbError::InvalidArgument);
    CHECK(engine.detach_mcast({99}, group).error() == VerbError::NotFound);
    const QpId b = second(lab);
    const QpId c = second(lab);
    REQUIRE(engine.attach_mcast(lab.qp, group));
    REQUIRE(engine.attach_mcast(b, group));
    CHECK(engine.attach_mcast(c, group).error() == VerbError::NoMemory); // of the group
    REQUIRE(engine.attach_mcast(c, other_group));
    CHECK(engine.attach_mcast(b, other_group).error() == VerbError::NoMemory); // in all
    CHECK(engine.destroy_qp(c).error() == VerbError::Busy);
    REQUIRE(engine.detach_mcast(c, other_group));
    CHECK(engine.destroy_qp(c));
    CHECK(engine.attach_mcast(b, other_group));
}

TEST_CASE("multicast: connected QPs are not attached", "[engine][EXT-05]") {
    Lab lab;
    CHECK(lab.engine.attach_mcast(lab.qp, group).error() == VerbError::InvalidArgument);
}
