// UD: datagrams with a Q_Key, an address each, and 40 bytes in front of them where they arrive.
#include <algorithm>

#include "tests/transport/engine/requests.hpp"
#include "transport/engine/grh.hpp"

using namespace veriroce;
using namespace veriroce::engine;
using namespace veriroce::engine::test;

namespace {

LabOptions ud(QpState state = QpState::Rts) {
    LabOptions options;
    options.type = QpType::Ud;
    options.state = state;
    return options;
}

LabOptions qp1() {
    LabOptions options = ud();
    options.gsi = true;
    return options;
}

void send(Lab& lab, std::uint32_t length, const UdDestination& to, std::uint64_t id = 1,
          WrOpcode opcode = WrOpcode::Send) {
    Work work(lab, opcode, length, id);
    work.request.ud = to;
    work.request.imm = 0xABCD;
    post(lab, work);
}

wire::Packet datagram(const Lab& lab, std::string_view opcode = "SEND_ONLY") {
    return lab.packet(opcode, wire::Psn(0));
}

} // namespace

TEST_CASE("ud requester: a datagram carries a DETH and is complete when it is sent",
          "[engine][EXT-05]") {
    Lab lab(ud());
    UdDestination to = lab.destination();
    to.path.traffic_class = 26 << 2;
    to.path.hop_limit = 7;
    to.path.source_port = 50'000;
    to.path.vlan = wire::VlanId{.id = 12, .priority = 3};
    send(lab, 101, to);
    send(lab, 4, lab.destination(), 2, WrOpcode::SendWithImm);
    const auto all = lab.drain();
    REQUIRE(all.size() == 2);
    CHECK(all[0].packet.info().title == "UD Send Only");
    CHECK(all[0].packet.bth.pad == 3);
    CHECK(all[0].packet.deth == wire::Deth{.qkey = lab.options.qkey, .source_qp = our_qpn});
    CHECK_FALSE(all[0].packet.bth.ack_request);
    CHECK(std::ranges::equal(all[0].packet.payload(), lab.memory(0, 101)));
    CHECK(all[0].envelope.source == our_address);
    CHECK(all[0].envelope.destination == peer_address);
    CHECK(all[0].envelope.dscp == 26);
    CHECK(all[0].envelope.hop_limit == 7);
    CHECK(all[0].envelope.source_port == 50'000);
    CHECK(all[0].envelope.vlan == wire::VlanId{.id = 12, .priority = 3});
    CHECK(all[1].packet.info().title == "UD Send Only Immediate");
    CHECK(all[1].packet.imm.value == 0xABCD);
    CHECK_FALSE(all[1].envelope.vlan);
    CHECK(psns(all) == Psns{2000, 2001});
    const auto done = lab.sends();
    REQUIRE(done.size() == 2);
    CHECK(done[0].status == WcStatus::Success);
    CHECK(done[1].status == WcStatus::Success);
    CHECK_FALSE(lab.engine.next_timeout());
}

TEST_CASE("ud requester: a controlled Q_Key is the QP's own", "[engine][EXT-05]") {
    Lab lab(ud());
    UdDestination to = lab.destination();
    to.qkey = {0x80000001};
    send(lab, 4, to);
    CHECK(lab.one().packet.deth.qkey == lab.options.qkey);
    to.qkey = {0x7FFFFFFF};
    send(lab, 4, to);
    CHECK(lab.one().packet.deth.qkey == wire::Qkey{0x7FFFFFFF});
}

TEST_CASE("ud requester: what UD does not have is refused", "[engine][EXT-05]") {
    Lab lab(ud());
    const auto refusal = [&](WrOpcode opcode, const std::optional<UdDestination>& to) {
        Work work(lab, opcode, 8);
        work.request.sges = work.sges;
        work.request.ud = to;
        return lab.engine.post_send(lab.qp, std::span(&work.request, 1), lab.now).refused;
    };
    for (const WrOpcode opcode : {WrOpcode::RdmaWrite, WrOpcode::RdmaWriteWithImm,
                                  WrOpcode::RdmaRead, WrOpcode::AtomicFetchAndAdd}) {
        CHECK(refusal(opcode, lab.destination()) == VerbError::NotSupported);
    }
    CHECK(refusal(WrOpcode::Send, {}) == VerbError::InvalidArgument);
    const auto window = lab.engine.allocate_window(lab.pd, WindowType::Type1).value();
    CHECK(lab.engine.bind_window(lab.qp, window.mw, {.mr = lab.region.mr}, 7).error() ==
          VerbError::NotSupported);
    UdDestination mixed = lab.destination();
    mixed.path.destination = wire::IpAddress::parse("fd77::2").value();
    CHECK(refusal(WrOpcode::Send, mixed) == VerbError::InvalidArgument);
    UdDestination wide = lab.destination();
    wide.qpn.value = 0x1000000;
    CHECK(refusal(WrOpcode::Send, wide) == VerbError::InvalidArgument);
}

TEST_CASE("ud requester: a datagram above the MTU is not sent", "[engine][EXT-05]") {
    const auto choice = GENERATE(UdOversize::Complete, UdOversize::LengthError);
    LabOptions options = ud();
    options.config.port_mtu = wire::Mtu::B1024;
    options.config.behaviour.ud_oversize = choice;
    Lab lab(options);
    send(lab, 1025, lab.destination(), 1);
    send(lab, 1024, lab.destination(), 2);
    const auto all = lab.drain();
    const auto done = lab.sends();
    REQUIRE(done.size() == 2);
    if (choice == UdOversize::Complete) {
        CHECK(psns(all) == Psns{2000});
        CHECK(done[0].status == WcStatus::Success);
        CHECK(done[1].status == WcStatus::Success);
    } else {
        CHECK(all.empty());
        CHECK(done[0].status == WcStatus::LocLenErr);
        CHECK(done[1].status == WcStatus::WrFlushErr);
        CHECK(lab.state() == QpState::Sqe);
    }
}

TEST_CASE("ud requester: a local fault leads to SQE, and back", "[engine][STA-08]") {
    Lab lab(ud());
    Work bad(lab, WrOpcode::Send, 10, 1);
    bad.sges[0].address = 0x5;
    bad.request.ud = lab.destination();
    post(lab, bad);
    CHECK(lab.drain().empty());
    CHECK(lab.sends().front().status == WcStatus::LocProtErr);
    CHECK(lab.state() == QpState::Sqe);
    lab.post_receive(7, 100);
    lab.receive(datagram(lab), pattern(4));
    CHECK(lab.receives().size() == 1);
    REQUIRE(lab.engine.modify_qp(lab.qp, {.state = QpState::Rts}, lab.now));
    send(lab, 4, lab.destination());
    CHECK(lab.one().psn() == 2000);
}

TEST_CASE("ud receiver: 40 bytes of IPv4 header in front, source QP in the completion",
          "[engine][EXT-05]") {
    Lab lab(ud());
    lab.post_receive(3, 60);
    wire::Packet packet = datagram(lab, "SEND_ONLY_WITH_IMM");
    packet.imm.value = 99;
    lab.receive(packet, pattern(17),
                {.source = peer_address,
                 .destination = our_address,
                 .dscp = 10,
                 .ecn = 1,
                 .hop_limit = 33});
    CHECK(lab.drain().empty());
    const auto done = lab.receives();
    REQUIRE(done.size() == 1);
    CHECK(done[0].id == 3);
    CHECK(done[0].opcode == WcOpcode::Recv);
    CHECK(done[0].byte_len == 57);
    CHECK(done[0].source_qp == peer_qpn);
    CHECK(done[0].imm == 99);
    CHECK(done[0].grh);
    const wire::Bytes buffer = lab.memory(0x8000, 57);
    CHECK(std::ranges::count(buffer.first(20), std::byte{0}) == 20);
    const auto ip = wire::Ipv4::decode(buffer.subspan(20)).value();
    CHECK(ip.version == 4);
    CHECK(ip.dscp == 10);
    CHECK(ip.ecn == 1);
    CHECK(ip.ttl == 33);
    CHECK(ip.protocol == 17);
    CHECK(ip.dont_fragment);
    CHECK(ip.total_length == 20 + 8 + 12 + 8 + 4 + 20 + 4); // pad of 3 bytes
    CHECK(ip.source == peer_address.low32());
    CHECK(ip.destination == our_address.low32());
    CHECK(wire::checksum_fold(wire::checksum_add(buffer.subspan(20, 20))) == 0);
    CHECK(std::ranges::equal(buffer.subspan(40), pattern(17)));
}

TEST_CASE("ud receiver: over IPv6 the 40 bytes are the IP header", "[engine][EXT-05]") {
    const wire::Envelope envelope{.source = wire::IpAddress::parse("fd77::2").value(),
                                  .destination = wire::IpAddress::parse("fd77::1").value(),
                                  .dscp = 5,
                                  .ecn = 2,
                                  .hop_limit = 9,
                                  .flow_label = 0x12345};
    Lab lab(ud());
    lab.post_receive(3, 44);
    lab.receive(datagram(lab), pattern(4), envelope);
    REQUIRE(lab.receives().size() == 1);
    const auto ip = wire::Ipv6::decode(lab.memory(0x8000, 40)).value();
    CHECK(ip == wire::Ipv6{.dscp = 5,
                           .ecn = 2,
                           .flow_label = 0x12345,
                           .payload_length = 8 + 12 + 8 + 4 + 4,
                           .next_header = 17,
                           .hop_limit = 9,
                           .source = envelope.source,
                           .destination = envelope.destination});
}

TEST_CASE("ud receiver: a wrong Q_Key is dropped and counted", "[engine][EXT-05]") {
    Lab lab(ud());
    lab.post_receive(3, 100);
    wire::Packet packet = datagram(lab);
    packet.deth.qkey.value ^= 1;
    lab.receive(packet, pattern(4));
    CHECK(lab.receives().empty());
    CHECK(lab.drain().empty());
    CHECK(lab.engine.counters().bad_qkey == 1);
    CHECK(lab.engine.counters().dropped == 1);
    REQUIRE(lab.engine.modify_qp(lab.qp, {.qkey = packet.deth.qkey}, lab.now));
    lab.receive(packet, pattern(4));
    CHECK(lab.receives().size() == 1);
}

TEST_CASE("ud receiver: what does not fit is dropped, and the receive stays", "[engine][EXT-05]") {
    LabOptions options = ud();
    options.config.port_mtu = wire::Mtu::B256;
    Lab lab(options);
    lab.receive(datagram(lab), pattern(4)); // no receive
    lab.post_receive(3, 43);
    lab.receive(datagram(lab), pattern(4));
    CHECK(lab.receives().empty());
    lab.receive(datagram(lab), pattern(3));
    CHECK(lab.receives().size() == 1);
    lab.post_receive(4, 1000);
    lab.receive(datagram(lab), pattern(257)); // above the port's MTU
    wire::Packet padded = datagram(lab);
    padded.bth.pad = 3;
    lab.receive(padded); // BTH-12
    wire::Packet strange = datagram(lab);
    strange.bth.opcode = 0x60; // UD has no SEND FIRST
    lab.receive(strange, pattern(8));
    CHECK(lab.receives().empty());
    CHECK(lab.drain().empty());
    CHECK(lab.state() == QpState::Rts);
    CHECK(lab.engine.counters().dropped == 5);
}

TEST_CASE("ud receiver: PSNs mean nothing, and any address is heard", "[engine][EXT-05][ENC-14]") {
    Lab lab(ud());
    for (const std::uint32_t psn : {5U, 5U, 1U, 0xFFFFFFU}) {
        lab.post_receive(psn, 100);
        wire::Packet packet = datagram(lab);
        packet.bth.psn = wire::Psn(psn);
        lab.receive(packet, pattern(4),
                    {.source = wire::IpAddress::from_v4(psn + 1), .destination = our_address});
    }
    CHECK(lab.receives().size() == 4);
}

TEST_CASE("ud receiver: a receive that names bad memory ends the QP", "[engine][KEY-12]") {
    Lab lab(ud());
    Sge piece = lab.sge(0, 100);
    piece.lkey.value ^= 1;
    const ReceiveRequest request{.id = 9, .sges = std::span(&piece, 1)};
    REQUIRE_FALSE(lab.engine.post_receive(lab.qp, std::span(&request, 1)).refused);
    lab.receive(datagram(lab), pattern(4));
    REQUIRE(lab.receives().front().status == WcStatus::LocProtErr);
    CHECK(lab.state() == QpState::Err);
}

TEST_CASE("ud: states", "[engine][STA-01][STA-02][STA-03][STA-07]") {
    const auto state = GENERATE(QpState::Reset, QpState::Init, QpState::Rtr, QpState::Err);
    Lab lab(ud(state));
    if (state != QpState::Reset) lab.post_receive(1, 100);
    lab.receives();
    lab.receive(datagram(lab), pattern(4));
    CHECK(lab.receives().size() == (state == QpState::Rtr ? 1 : 0));
    Work work(lab, WrOpcode::Send, 4);
    work.request.sges = work.sges;
    work.request.ud = lab.destination();
    const auto posted = lab.engine.post_send(lab.qp, std::span(&work.request, 1), lab.now);
    CHECK(posted.refused.has_value() == (state != QpState::Err));
    CHECK(lab.drain().empty());
}

TEST_CASE("ud: a marked datagram draws a CNP to its source QP", "[engine][N-35]") {
    Lab lab(ud());
    wire::Packet packet = datagram(lab);
    packet.deth.source_qp = peer_qpn;
    lab.receive(packet, pattern(4), {.source = peer_address, .destination = our_address, .ecn = 3});
    const Sent sent = lab.one();
    CHECK(sent.name() == "CNP");
    CHECK(sent.packet.bth.dest_qp == peer_qpn);
    CHECK(sent.envelope.source == our_address);
    CHECK(sent.envelope.destination == peer_address);
}

TEST_CASE("qp1: it is created once, and speaks with the well-known Q_Key",
          "[engine][BTH-03][N-30]") {
    Lab lab(qp1());
    CHECK(lab.engine.query_qp(lab.qp).value().qpn == wire::Qpn{1});
    const QpDescription again{.pd = lab.pd,
                              .type = QpType::Ud,
                              .send_cq = lab.send_cq,
                              .recv_cq = lab.receive_cq,
                              .gsi = true};
    CHECK(lab.engine.create_qp(again).error() == VerbError::Busy);
    QpDescription connected = again;
    connected.type = QpType::Rc;
    CHECK(lab.engine.create_qp(connected).error() == VerbError::InvalidArgument);
    UdDestination to = lab.destination();
    to.qkey = {0x80010000};
    send(lab, 256, to);
    const Sent sent = lab.one();
    CHECK(sent.packet.deth == wire::Deth{.qkey = {0x80010000}, .source_qp = {1}});
    lab.post_receive(1, 296);
    lab.receive(datagram(lab), pattern(256));
    const auto done = lab.receives();
    REQUIRE(done.size() == 1);
    CHECK(done[0].byte_len == 296);
    // RC to QP1, and the number that QP1 left free.
    wire::Packet rc = datagram(lab);
    rc.bth.opcode = 0x04;
    lab.receive(rc, pattern(4));
    wire::Packet elsewhere = datagram(lab);
    elsewhere.bth.dest_qp = our_qpn;
    lab.receive(elsewhere, pattern(4));
    CHECK(lab.drain().empty());
    CHECK(lab.engine.counters().dropped == 2);
    REQUIRE(lab.engine.destroy_qp(lab.qp));
    CHECK(lab.engine.create_qp(again).has_value());
}

TEST_CASE("qp1: a reset keeps its Q_Key", "[engine][STA-10]") {
    Lab lab(qp1());
    REQUIRE(lab.engine.modify_qp(lab.qp, {.state = QpState::Reset}, lab.now));
    REQUIRE(lab.engine.modify_qp(lab.qp, {.state = QpState::Init}, lab.now));
    REQUIRE(lab.engine.modify_qp(lab.qp, {.state = QpState::Rtr}, lab.now));
    lab.post_receive(1, 100);
    lab.receive(datagram(lab), pattern(4));
    CHECK(lab.receives().size() == 1);
}
