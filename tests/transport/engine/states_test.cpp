// QP states, objects and their limits, and the small structures under them.
#include "tests/transport/engine/lab.hpp"

#include "transport/engine/deadlines.hpp"
#include "transport/engine/memory.hpp"
#include "transport/engine/ring.hpp"

using namespace veriroce;
using namespace veriroce::engine;
using namespace veriroce::engine::test;

namespace {

constexpr std::array states{QpState::Reset, QpState::Init, QpState::Rtr, QpState::Rts,
                            QpState::Sqd,   QpState::Sqe,  QpState::Err};

bool lawful(QpState from, QpState to) {
    if (to == QpState::Reset || to == QpState::Err) return true;
    const std::pair pair{from, to};
    return pair == std::pair{QpState::Reset, QpState::Init} ||
           pair == std::pair{QpState::Init, QpState::Init} ||
           pair == std::pair{QpState::Init, QpState::Rtr} ||
           pair == std::pair{QpState::Rtr, QpState::Rts} ||
           pair == std::pair{QpState::Rts, QpState::Rts} ||
           pair == std::pair{QpState::Rts, QpState::Sqd} ||
           pair == std::pair{QpState::Sqd, QpState::Sqd} ||
           pair == std::pair{QpState::Sqd, QpState::Rts};
}

void move_to(Lab& lab, QpState state) {
    if (state == QpState::Sqd || state == QpState::Err) {
        REQUIRE(lab.engine.modify_qp(lab.qp, {.state = state}, lab.now));
    }
    REQUIRE(lab.state() == state);
}

LabOptions in(QpState state) {
    LabOptions options;
    options.state = state == QpState::Sqd || state == QpState::Err ? QpState::Rts : state;
    return options;
}

} // namespace

TEST_CASE("states: every transition of the table and no other", "[engine][STA-08][STA-09]") {
    for (const QpState from : states) {
        if (from == QpState::Sqe) continue; // STA-08: RC has no SQE
        for (const QpState to : states) {
            INFO(name_of(from) << " -> " << name_of(to));
            Lab lab(in(from));
            move_to(lab, from);
            const auto done = lab.engine.modify_qp(lab.qp, attributes_to(from, to), lab.now);
            CHECK(done.has_value() == lawful(from, to));
            CHECK(lab.state() == (lawful(from, to) ? to : from));
        }
    }
}

TEST_CASE("states: a missing, a surplus or an impossible attribute changes nothing",
          "[engine][STA-09]") {
    LabOptions options;
    options.state = QpState::Init;
    Lab lab(options);
    const auto refused = [&lab](QpAttributes attributes) {
        const auto done = lab.engine.modify_qp(lab.qp, attributes, lab.now);
        return !done && done.error() == VerbError::InvalidArgument && lab.state() == QpState::Init;
    };
    const QpAttributes good = attributes_to(QpState::Init, QpState::Rtr);
    QpAttributes bad = good;
    bad.rq_psn.reset();
    CHECK(refused(bad));
    bad = good;
    bad.timeout = 14; // belongs to RTS
    CHECK(refused(bad));
    bad = good;
    bad.min_rnr_timer = 32;
    CHECK(refused(bad));
    bad = good;
    bad.max_dest_rd_atomic = 17;
    CHECK(refused(bad));
    bad = good;
    bad.address->destination = wire::IpAddress::parse("fd77::1").value();
    CHECK(refused(bad));
    CHECK(lab.engine.modify_qp(lab.qp, good, lab.now));
    CHECK(lab.engine.modify_qp(QpId{7}, good, lab.now).error() == VerbError::NotFound);
}

TEST_CASE("states: what each state does with a request", "[engine][STA-01][STA-02][STA-07]") {
    for (const QpState state : states) {
        if (state == QpState::Sqe) continue;
        INFO(name_of(state));
        Lab lab(in(state));
        move_to(lab, state);
        wire::Packet write = lab.packet("RDMA_WRITE_ONLY", rq_psn);
        write.reth.dma_length = 4;
        lab.receive(write, pattern(4));
        const bool serves = state == QpState::Rtr || state == QpState::Rts || state == QpState::Sqd;
        CHECK(lab.drain().size() == (serves ? 1 : 0));
        CHECK(lab.state() == state);
    }
}

TEST_CASE("states: what each state does with work requests", "[engine][STA-02][STA-03][STA-07]") {
    for (const QpState state : states) {
        if (state == QpState::Sqe) continue;
        INFO(name_of(state));
        Lab lab(in(state));
        move_to(lab, state);
        const std::array piece{lab.sge(0, 4)};
        const SendRequest send{.id = 1, .sges = piece};
        const ReceiveRequest receive{.id = 2, .sges = piece};
        const bool sends_taken =
            state == QpState::Rts || state == QpState::Sqd || state == QpState::Err;
        CHECK(lab.engine.post_send(lab.qp, std::span(&send, 1), lab.now).posted ==
              (sends_taken ? 1 : 0));
        CHECK(lab.engine.post_receive(lab.qp, std::span(&receive, 1)).posted ==
              (state == QpState::Reset ? 0 : 1));
        CHECK(lab.drain().size() == (state == QpState::Rts ? 1 : 0));
        CHECK(lab.sends().size() == (state == QpState::Err ? 1 : 0));
        CHECK(lab.receives().size() == (state == QpState::Err ? 1 : 0));
    }
}

TEST_CASE("states: SQD finishes what has begun, then says that it is drained",
          "[engine][STA-06][N-25]") {
    LabOptions options;
    options.config.behaviour.max_unacked_packets = 2;
    Lab lab(options);
    const std::array three{lab.sge(0, 3000)};
    const std::array chain{SendRequest{.id = 1, .sges = three},
                           SendRequest{.id = 2, .sges = three}};
    REQUIRE(lab.engine.post_send(lab.qp, chain, lab.now).posted == 2);
    CHECK(lab.drain().size() == 2);
    REQUIRE(
        lab.engine.modify_qp(lab.qp, {.state = QpState::Sqd, .sqd_async_notify = true}, lab.now));
    lab.receive(lab.ack(sq_psn + 1, 0));
    CHECK(lab.one().psn() == 2002);
    CHECK(lab.events().empty());
    REQUIRE(lab.engine.modify_qp(lab.qp, {.min_rnr_timer = 5}, lab.now));
    lab.receive(lab.ack(sq_psn + 2, 1));
    CHECK(lab.sends().size() == 1);
    CHECK(lab.drain().empty());
    const auto events = lab.events();
    REQUIRE(events.size() == 1);
    CHECK(events[0].type == EventType::SqDrained);
    REQUIRE(lab.engine.modify_qp(lab.qp, {.state = QpState::Rts}, lab.now));
    const auto rest = lab.drain();
    REQUIRE(rest.size() == 2);
    CHECK(rest[0].psn() == 2003);
}

TEST_CASE("states: RESET forgets everything", "[engine][STA-10]") {
    Lab lab;
    lab.post_receive(1, 64);
    const std::array piece{lab.sge(0, 4)};
    lab.post({.id = 1, .sges = piece});
    CHECK(lab.drain().size() == 1);
    lab.receive(lab.packet("SEND_ONLY", rq_psn + 1), pattern(4)); // a NAK is due
    REQUIRE(lab.engine.modify_qp(lab.qp, {.state = QpState::Reset}, lab.now));
    CHECK(lab.drain().empty());
    CHECK(lab.sends().empty());
    CHECK(lab.receives().empty());
    CHECK_FALSE(lab.engine.next_timeout());
    for (const auto& [from, to] :
         {std::pair{QpState::Reset, QpState::Init}, std::pair{QpState::Init, QpState::Rtr},
          std::pair{QpState::Rtr, QpState::Rts}}) {
        REQUIRE(lab.engine.modify_qp(lab.qp, attributes_to(from, to), lab.now));
    }
    lab.receive(lab.packet("SEND_ONLY", rq_psn), pattern(4));
    const Sent rnr = lab.one(); // no receive is left
    CHECK(int{rnr.syndrome()} == 0x20 + LabOptions().min_rnr_timer);
    CHECK(rnr.msn() == 0);
}

TEST_CASE("states: to ERR by the host, everything is flushed and nothing goes out",
          "[engine][STA-07]") {
    Lab lab;
    lab.post_receive(10, 64);
    lab.post_receive(11, 64);
    const std::array piece{lab.sge(0, 4)};
    lab.post({.id = 1, .sges = piece, .flags = {.signaled = false}});
    lab.post({.id = 2, .sges = piece});
    CHECK(lab.drain().size() == 2);
    REQUIRE(lab.engine.modify_qp(lab.qp, {.state = QpState::Err}, lab.now));
    const auto sends = lab.sends();
    REQUIRE(sends.size() == 2);
    CHECK(sends[0].id == 1);
    CHECK(sends[1].status == WcStatus::WrFlushErr);
    const auto receives = lab.receives();
    REQUIRE(receives.size() == 2);
    CHECK(receives[0].id == 10);
    CHECK(receives[1].id == 11);
    CHECK(lab.drain().empty());
    CHECK_FALSE(lab.engine.next_timeout());
}

TEST_CASE("states: a query tells what was set", "[engine]") {
    Lab lab;
    const auto report = lab.engine.query_qp(lab.qp).value();
    CHECK(report.state == QpState::Rts);
    CHECK(report.qpn == our_qpn);
    CHECK(report.attributes.path_mtu == wire::Mtu::B1024);
    CHECK(report.attributes.dest_qp == peer_qpn);
    CHECK(report.attributes.sq_psn == sq_psn);
    CHECK(report.attributes.rnr_retry == 3);
    CHECK(report.attributes.access == every_right);
}

TEST_CASE("objects: what is in use stays, handles are not given out again", "[engine][STA-11]") {
    Lab lab;
    Engine& engine = lab.engine;
    CHECK(engine.destroy_pd(lab.pd).error() == VerbError::Busy);
    CHECK(engine.destroy_cq(lab.send_cq).error() == VerbError::Busy);
    const std::array piece{lab.sge(0, 4)};
    lab.post({.id = 1, .sges = piece});
    CHECK(lab.drain().size() == 1);
    REQUIRE(engine.destroy_qp(lab.qp));
    CHECK_FALSE(engine.next_timeout());
    CHECK(lab.drain().empty());
    CHECK(engine.destroy_qp(lab.qp).error() == VerbError::NotFound);
    lab.receive(lab.packet("SEND_ONLY", rq_psn), pattern(4));
    CHECK(lab.drain().empty());
    const auto again =
        engine.create_qp({.pd = lab.pd, .send_cq = lab.send_cq, .recv_cq = lab.receive_cq});
    REQUIRE(again);
    CHECK(*again != lab.qp);
    CHECK(engine.query_qp(*again).value().qpn.value == our_qpn.value + 1);
    REQUIRE(engine.destroy_qp(*again));
    REQUIRE(engine.deregister_region(lab.region.mr));
    CHECK(engine.deregister_region(lab.region.mr).error() == VerbError::NotFound);
    CHECK(engine.destroy_pd(lab.pd));
    CHECK(engine.destroy_cq(lab.send_cq));
    CHECK(engine.destroy_cq(lab.receive_cq));
    CHECK(engine.destroy_cq(lab.receive_cq).error() == VerbError::NotFound);
}

TEST_CASE("objects: limits and what is not there yet are errors with a name", "[engine]") {
    Engine engine({.limits = {.qps = 1, .cqs = 1, .regions = 1, .qp_wr = 8, .cqe = 16}});
    const PdId pd = engine.create_pd().value();
    CHECK(engine.create_cq(17).error() == VerbError::InvalidArgument);
    CHECK(engine.create_cq(0).error() == VerbError::InvalidArgument);
    const CqId cq = engine.create_cq(16).value();
    CHECK(engine.create_cq(16).error() == VerbError::NoMemory);
    std::vector<std::byte> bytes(64);
    CHECK(engine.register_region(PdId{9}, bytes, 0, {}).error() == VerbError::NotFound);
    CHECK(engine.register_region(pd, bytes, 0, {.remote_write = true}).error() ==
          VerbError::InvalidArgument);
    CHECK(engine.register_region(pd, bytes, ~std::uint64_t{0} - 62, {}).error() ==
          VerbError::InvalidArgument);
    CHECK(engine.register_region(pd, bytes, ~std::uint64_t{0} - 63, {}));
    CHECK(engine.register_region(pd, bytes, 0, {}).error() == VerbError::NoMemory);
    QpDescription qp{.pd = pd, .send_cq = cq, .recv_cq = cq, .capacity = {8, 8, 4, 64}};
    qp.capacity.max_send = 9;
    CHECK(engine.create_qp(qp).error() == VerbError::InvalidArgument);
    qp.capacity.max_send = 8;
    qp.recv_cq = CqId{5};
    CHECK(engine.create_qp(qp).error() == VerbError::NotFound);
    qp.recv_cq = cq;
    CHECK(engine.create_qp(qp));
    CHECK(engine.create_qp(qp).error() == VerbError::NoMemory);
}

TEST_CASE("memory: a slot that is used again has another key", "[engine][KEY-08]") {
    Memory memory(0x105, 2, 2);
    std::vector<std::byte> bytes(16);
    const auto first = memory.add(PdId{1}, bytes, 0x1000, {}).value();
    CHECK(first.key == 0x105);
    CHECK(memory.slot(0x105).live);
    CHECK(memory.slot(0x1FF).live); // the variant is judged elsewhere
    CHECK_FALSE(memory.slot(0x005).live);
    CHECK_FALSE(memory.slot(0xFFFFFFFF).live);
    REQUIRE(memory.remove(first.mr));
    CHECK_FALSE(memory.slot(0x105).live);
    const auto second = memory.add(PdId{1}, bytes, 0x1000, {}).value();
    CHECK(second.key == 0x106);
    CHECK(second.mr != first.mr);
}

TEST_CASE("memory: a range is inside or it is not", "[engine][KEY-05][N-37]") {
    std::vector<std::byte> bytes(16);
    const Region region{.address = ~std::uint64_t{0} - 15, .bytes = bytes};
    const std::uint64_t begin = region.address;
    CHECK(region.covers(begin, 16));
    CHECK(region.covers(begin + 15, 1));
    CHECK_FALSE(region.covers(begin, 17));
    CHECK_FALSE(region.covers(begin - 1, 1));
    CHECK_FALSE(region.covers(begin + 15, 2));
    CHECK_FALSE(region.covers(0, 1));
}

TEST_CASE("deadlines: the earliest is always known, ties go to the lower QP", "[engine]") {
    Deadlines deadlines;
    deadlines.make_room(4);
    const auto at = [](int us) { return wire::Instant{std::chrono::microseconds(us)}; };
    CHECK_FALSE(deadlines.next());
    deadlines.arm(2, Timer::Ack, at(50));
    deadlines.arm(1, Timer::Ack, at(50));
    deadlines.arm(0, Timer::Rnr, at(70));
    CHECK(deadlines.next() == at(50));
    deadlines.arm(1, Timer::Ack, at(90)); // later
    deadlines.arm(3, Timer::Ack, at(40));
    deadlines.arm(0, Timer::Rnr, at(60)); // earlier
    deadlines.disarm(3, Timer::Ack);
    CHECK(deadlines.next() == at(50));
    CHECK_FALSE(deadlines.take_due(at(49)));
    CHECK(deadlines.take_due(at(100))->qp == 2);
    const auto rnr = deadlines.take_due(at(100));
    CHECK(rnr->qp == 0);
    CHECK(rnr->timer == Timer::Rnr);
    CHECK(deadlines.next() == at(90));
    deadlines.disarm(1, Timer::Ack);
    CHECK_FALSE(deadlines.next());
    deadlines.arm(1, Timer::Ack, at(5));
    CHECK(deadlines.next() == at(5));
}

TEST_CASE("ring: goes round, inserts and grows", "[engine]") {
    Ring<int> ring(3);
    for (const int i : {1, 2, 3})
        ring.push(i);
    CHECK(ring.full());
    CHECK(ring.pop() == 1);
    ring.insert(1, 9);
    CHECK(ring[0] == 2);
    CHECK(ring[1] == 9);
    CHECK(ring[2] == 3);
    ring.grow(5);
    ring.push(4);
    CHECK(ring.size() == 4);
    CHECK(ring.back() == 4);
    CHECK(ring.pop() == 2);
}
