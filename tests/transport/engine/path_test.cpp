// How packets travel: source ports, VLANs, P_Keys, and the second path of a connected QP.
#include <set>

#include "tests/transport/engine/requests.hpp"

using namespace veriroce;
using namespace veriroce::engine;
using namespace veriroce::engine::test;

namespace {

const wire::IpAddress other_address = wire::IpAddress::from_v4(0x0A4E0002);
const wire::IpAddress our_other_address = wire::IpAddress::from_v4(0x0A4E0001);

wire::Envelope from_peer() {
    return {.source = peer_address, .destination = our_address};
}
wire::Envelope from_other_path() {
    return {.source = other_address, .destination = our_other_address};
}

void change(Lab& lab, const QpAttributes& attributes) {
    REQUIRE(lab.engine.modify_qp(lab.qp, attributes, lab.now));
}

QpAttributes attributes(const Lab& lab) {
    return lab.engine.query_qp(lab.qp).value().attributes;
}

wire::Packet write(const Lab& lab, int n, bool mig_req = true) {
    wire::Packet packet = lab.packet("RDMA_WRITE_ONLY", rq_psn + n);
    packet.bth.mig_req = mig_req;
    packet.reth.dma_length = 4;
    return packet;
}

void readdress(Lab& lab, const AddressVector& address) {
    change(lab, {.state = QpState::Sqd});
    change(lab, {.address = address});
    change(lab, {.state = QpState::Rts});
}

const AlternatePath alternate{
    .address = {.source = our_other_address, .destination = other_address, .hop_limit = 9},
    .timeout = 10};

} // namespace

TEST_CASE("path: the source port follows from the two QPNs, or from the flow label",
          "[engine][ENC-02]") {
    Lab lab;
    post(lab, WrOpcode::Send, 4);
    // 0x11 * 0x22 = 0x242, which has nothing above its 14 bits.
    CHECK(lab.one().envelope.source_port == 0xC242);
    AddressVector address{.source = our_address, .destination = peer_address};
    address.flow_label = 0xABCDE; // low 14 bits 0x3CDE, the six above them 0x2A
    readdress(lab, address);
    lab.receive(lab.ack(sq_psn, 1));
    post(lab, WrOpcode::Send, 4);
    CHECK(lab.one().envelope.source_port == (0xC000 | (0x3CDE ^ 0x2A)));
    address.source_port = 1234;
    readdress(lab, address);
    post(lab, WrOpcode::Send, 4);
    const Sent sent = lab.one();
    CHECK(sent.envelope.source_port == 1234);
    CHECK(sent.envelope.flow_label == 0xABCDE);
}

TEST_CASE("path: source ports spread over QPs, by either formula", "[engine][ENC-02]") {
    const auto choice = GENERATE(SourcePort::FlowLabel, SourcePort::QpnHash);
    LabOptions options;
    options.config.behaviour.source_port = choice;
    Lab lab(options);
    std::set<std::uint16_t> ports;
    for (int n = 0; n < 64; ++n) {
        lab.qp = lab.connect_another(peer_address);
        post(lab, WrOpcode::Send, 4);
        const std::uint16_t port = lab.one().envelope.source_port;
        CHECK(port >= 0xC000);
        ports.insert(port);
    }
    CHECK(ports.size() > 60);
}

TEST_CASE("path: a packet of another VLAN is dropped unless the option says no", "[engine][N-05]") {
    const bool checked = GENERATE(true, false);
    LabOptions options;
    options.config.behaviour.vlan_checked = checked;
    Lab lab(options);
    wire::Envelope tagged = from_peer();
    tagged.vlan = wire::VlanId{.id = 0, .priority = 5}; // a priority is not a VLAN
    lab.receive(write(lab, 0), pattern(4), tagged);
    CHECK(lab.drain().size() == 1);
    tagged.vlan = wire::VlanId{.id = 7};
    lab.receive(write(lab, 1), pattern(4), tagged);
    CHECK(lab.drain().size() == (checked ? 0 : 1));
    readdress(lab, {.source = our_address,
                    .destination = peer_address,
                    .vlan = wire::VlanId{.id = 7, .priority = 2}});
    const int next = checked ? 1 : 2;
    lab.receive(write(lab, next), pattern(4), tagged);
    CHECK(lab.one().envelope.vlan == wire::VlanId{.id = 7, .priority = 2});
    lab.receive(write(lab, next + 1), pattern(4), from_peer());
    CHECK(lab.drain().size() == (checked ? 0 : 1));
}

TEST_CASE("path: a P_Key must stand in the port's table", "[engine][BTH-07]") {
    LabOptions options;
    options.config.pkeys = {wire::kDefaultPkey, {0x1234}};
    options.state = QpState::Init;
    Lab lab(options);
    CHECK(lab.engine.modify_qp(lab.qp, {.pkey = wire::Pkey{0x9999}}, lab.now).error() ==
          VerbError::InvalidArgument);
    CHECK(attributes(lab).pkey == wire::kDefaultPkey);
    change(lab, {.pkey = wire::Pkey{0x1234}});
    CHECK(attributes(lab).pkey == wire::Pkey{0x1234});
}

TEST_CASE("path: P_Keys match by membership, or only if they are equal", "[engine][BTH-07]") {
    const auto choice = GENERATE(PkeyMatch::Membership, PkeyMatch::Exact);
    LabOptions options;
    options.config.behaviour.pkey_match = choice;
    Lab lab(options);
    wire::Packet limited = write(lab, 0);
    limited.bth.pkey = {0x7FFF};
    lab.receive(limited, pattern(4));
    const bool accepted = choice == PkeyMatch::Membership;
    CHECK(lab.drain().size() == (accepted ? 1 : 0));
    CHECK(lab.engine.counters().bad_pkey == (accepted ? 0 : 1));
}

TEST_CASE("path: two limited members do not hear each other", "[engine][BTH-07]") {
    LabOptions options;
    options.state = QpState::Init;
    Lab lab(options);
    change(lab, {.pkey = wire::Pkey{0x7FFF}});
    change(lab, {.state = QpState::Rtr,
                 .path_mtu = options.mtu,
                 .dest_qp = peer_qpn,
                 .rq_psn = options.rq,
                 .address = AddressVector{.source = our_address, .destination = peer_address},
                 .min_rnr_timer = options.min_rnr_timer,
                 .max_dest_rd_atomic = options.max_dest_rd_atomic});
    wire::Packet packet = write(lab, 0);
    packet.bth.pkey = {0x7FFF};
    lab.receive(packet, pattern(4));
    CHECK(lab.drain().empty());
    packet.bth.pkey = {0xFFFF};
    lab.receive(packet, pattern(4));
    CHECK(lab.one().packet.bth.pkey == wire::Pkey{0x7FFF}); // BTH-08
}

TEST_CASE("path: QP1 hears every P_Key of the port", "[engine][N-30]") {
    LabOptions options;
    options.type = QpType::Ud;
    options.gsi = true;
    options.config.pkeys = {wire::kDefaultPkey, {0x9234}};
    Lab lab(options);
    for (const wire::Pkey pkey :
         {wire::Pkey{0xFFFF}, wire::Pkey{0x7FFF}, wire::Pkey{0x1234}, wire::Pkey{0x1235}}) {
        lab.post_receive(pkey.value, 100);
        wire::Packet packet = lab.packet("SEND_ONLY", wire::Psn(0));
        packet.bth.pkey = pkey;
        lab.receive(packet, pattern(4));
    }
    CHECK(lab.receives().size() == 3);
    CHECK(lab.engine.counters().bad_pkey == 1);
}

// --- two paths

TEST_CASE("migration: REARM becomes ARMED by the peer's packets, and their MigReq migrates",
          "[engine][N-24][BTH-15]") {
    Lab lab;
    change(lab, {.alternate = alternate, .path_mig_state = MigState::Rearm});
    lab.receive(write(lab, 0, true), pattern(4));
    CHECK(attributes(lab).path_mig_state == MigState::Rearm); // the peer is not rearmed yet
    CHECK_FALSE(lab.one().packet.bth.mig_req);
    lab.receive(write(lab, 1, false), pattern(4));
    CHECK(attributes(lab).path_mig_state == MigState::Armed);
    CHECK_FALSE(lab.one().packet.bth.mig_req);
    // ENC-14: a migrated packet must come by the other path, any other by the first.
    lab.receive(write(lab, 2, true), pattern(4), from_peer());
    lab.receive(write(lab, 2, false), pattern(4), from_other_path());
    CHECK(lab.drain().empty());
    const auto refused = lab.events();
    REQUIRE(refused.size() == 1);
    CHECK(refused[0].type == EventType::PathMigErr);
    lab.receive(write(lab, 2, true), pattern(4), from_other_path());
    const Sent sent = lab.one();
    CHECK(sent.packet.bth.mig_req);
    CHECK(sent.envelope.destination == other_address);
    CHECK(sent.envelope.source == our_other_address);
    CHECK(sent.envelope.hop_limit == 9);
    const auto events = lab.events();
    REQUIRE(events.size() == 1);
    CHECK(events[0].type == EventType::PathMig);
    CHECK(attributes(lab).path_mig_state == MigState::Migrated);
    CHECK(attributes(lab).timeout == 10);
    CHECK_FALSE(attributes(lab).alternate);
    lab.receive(write(lab, 3, true), pattern(4), from_peer()); // the first path is gone
    CHECK(lab.drain().empty());
}

TEST_CASE("migration: a request that does not fit the other path is told of, once",
          "[engine][N-24]") {
    Lab lab;
    lab.receive(write(lab, 0, true), pattern(4), from_other_path()); // MIGRATED: no request
    change(lab, {.alternate = alternate, .path_mig_state = MigState::Rearm});
    lab.receive(write(lab, 0, true), pattern(4), from_other_path()); // the peer is not rearmed
    CHECK(lab.events().empty());
    lab.receive(write(lab, 0, false), pattern(4));
    lab.drain();
    wire::Packet foreign = write(lab, 1, true);
    foreign.bth.pkey = {0x9234};
    lab.receive(foreign, pattern(4), from_other_path());
    lab.receive(write(lab, 1, true), pattern(4), from_peer());
    foreign.bth.version = 1; // no fault of the path
    lab.receive(foreign, pattern(4), from_other_path());
    CHECK(lab.drain().empty());
    const auto events = lab.events();
    REQUIRE(events.size() == 1);
    CHECK(events[0].type == EventType::PathMigErr);
    CHECK(events[0].qp == lab.qp);
    CHECK(attributes(lab).path_mig_state == MigState::Armed);
    // Rearmed after it migrated, it tells again.
    lab.receive(write(lab, 1, true), pattern(4), from_other_path());
    lab.drain();
    CHECK(lab.events().size() == 1); // PATH_MIG
    change(lab, {.alternate = alternate, .path_mig_state = MigState::Rearm});
    lab.receive(write(lab, 2, false), pattern(4), from_other_path());
    lab.drain();
    lab.receive(write(lab, 3, true), pattern(4), from_peer());
    REQUIRE(lab.events().size() == 1);
}

TEST_CASE("migration: used-up retries try the other path, with all tries anew",
          "[engine][N-24][TMO-03]") {
    LabOptions options;
    options.retry_count = 1;
    Lab lab(options);
    change(lab, {.alternate = alternate, .path_mig_state = MigState::Rearm});
    lab.receive(write(lab, 0, false), pattern(4));
    lab.drain();
    post(lab, WrOpcode::Send, 4);
    CHECK(lab.one().envelope.destination == peer_address);
    lab.next_deadline();
    CHECK(lab.one().envelope.destination == peer_address);
    lab.next_deadline();
    CHECK(lab.events().size() == 1);
    for (int n = 0; n < 2; ++n) {
        const Sent again = lab.one();
        CHECK(again.envelope.destination == other_address);
        CHECK(again.psn() == 2000);
        CHECK(again.packet.bth.mig_req);
        lab.next_deadline();
    }
    check_failed(lab, 1, WcStatus::RetryExcErr);
}

TEST_CASE("migration: the host may go over at once, and may not set ARMED", "[engine][N-24]") {
    Lab lab;
    const auto refused = [&](const QpAttributes& wanted) {
        return lab.engine.modify_qp(lab.qp, wanted, lab.now).has_value() == false;
    };
    CHECK(refused({.path_mig_state = MigState::Rearm})); // there is no second path
    CHECK(refused({.alternate = alternate, .path_mig_state = MigState::Armed}));
    CHECK_FALSE(attributes(lab).alternate); // a refused change changes nothing
    AlternatePath mixed = alternate;
    mixed.address.destination = wire::IpAddress::parse("fd77::2").value();
    CHECK(refused({.alternate = mixed}));
    change(lab, {.alternate = alternate, .path_mig_state = MigState::Rearm});
    CHECK(refused({.path_mig_state = MigState::Migrated})); // the peer is not rearmed
    CHECK(refused({.mig_req = true}));
    lab.receive(write(lab, 0, false), pattern(4));
    lab.drain();
    CHECK(refused({.path_mig_state = MigState::Rearm}));
    change(lab, {.path_mig_state = MigState::Migrated});
    CHECK(lab.events().size() == 1);
    post(lab, WrOpcode::Send, 4);
    CHECK(lab.one().envelope.destination == other_address);
}

TEST_CASE("migration: a QP in ERR stays where it is", "[engine][N-24][STA-07]") {
    Lab lab;
    change(lab, {.alternate = alternate, .path_mig_state = MigState::Rearm});
    lab.receive(write(lab, 0, false), pattern(4));
    change(lab, {.state = QpState::Err});
    lab.receive(write(lab, 1, true), pattern(4), from_other_path());
    CHECK(lab.events().empty());
    CHECK(attributes(lab).path_mig_state == MigState::Armed);
}

TEST_CASE("migration: a CNP does not rearm", "[engine][N-24]") {
    Lab lab;
    change(lab, {.alternate = alternate, .path_mig_state = MigState::Rearm});
    wire::Packet cnp;
    cnp.bth = {.opcode = wire::kCnpOpcode, .becn = true, .dest_qp = our_qpn};
    lab.receive(cnp, pattern(16));
    CHECK(attributes(lab).path_mig_state == MigState::Rearm);
}
