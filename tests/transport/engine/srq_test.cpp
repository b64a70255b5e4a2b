// Receives that QPs share.
#include "tests/transport/engine/requests.hpp"

using namespace veriroce;
using namespace veriroce::engine;
using namespace veriroce::engine::test;

namespace {

// Two QPs on one shared queue, beside the lab's own QP.
struct Shared : Lab {
    SrqId srq;
    std::array<QpId, 2> qps{};

    explicit Shared(std::uint32_t limit = 0, const LabOptions& wanted = {})
        : Lab(wanted),
          srq(engine.create_srq({.pd = pd, .depth = 4, .max_sge = 2, .limit = limit}).value()) {
        for (QpId& one : qps)
            one = another({.pd = pd, .send_cq = send_cq, .recv_cq = receive_cq, .srq = srq});
    }
    Engine::Posted share(std::uint64_t id, std::uint32_t length = 2048,
                         std::uint64_t offset = 0x8000) {
        const Sge piece = sge(offset, length);
        const ReceiveRequest request{.id = id, .sges = std::span(&piece, 1)};
        return engine.post_srq_receive(srq, std::span(&request, 1));
    }
    void receive_at(std::size_t which, std::string_view opcode, int n, std::size_t bytes,
                    std::uint32_t seed = 1) {
        wire::Packet sent = packet(opcode, rq_psn + n);
        sent.bth.dest_qp = engine.query_qp(qps[which])->qpn;
        sent.reth.dma_length = static_cast<std::uint32_t>(bytes);
        receive(sent, pattern(bytes, seed));
    }
    [[nodiscard]] QpState state_of(std::size_t which) const {
        return engine.query_qp(qps[which])->state;
    }
    [[nodiscard]] std::uint32_t left() const { return engine.query_srq(srq)->posted; }
};

} // namespace

TEST_CASE("srq: QPs take its receives in the order in which their messages begin",
          "[engine][N-16]") {
    Shared lab;
    REQUIRE(lab.share(1).posted == 1);
    REQUIRE(lab.share(2, 2048, 0xA000).posted == 1);
    lab.receive_at(0, "SEND_FIRST", 0, 1024, 5);
    lab.receive_at(1, "SEND_ONLY", 0, 8, 6); // takes the second, and is done first
    lab.receive_at(0, "SEND_LAST", 1, 8, 7);
    lab.drain();
    const auto got = lab.receives();
    REQUIRE(got.size() == 2);
    CHECK(got[0].id == 2);
    CHECK(got[0].qp == lab.qps[1]);
    CHECK(got[1].id == 1);
    CHECK(got[1].qp == lab.qps[0]);
    CHECK(got[1].byte_len == 1032);
    CHECK(std::ranges::equal(lab.memory(0x8000, 1024), pattern(1024, 5)));
    CHECK(std::ranges::equal(lab.memory(0x8400, 8), pattern(8, 7)));
    CHECK(std::ranges::equal(lab.memory(0xA000, 8), pattern(8, 6)));
}

TEST_CASE("srq: messages may take the newest receive first", "[engine][RNR-14]") {
    LabOptions options;
    options.config.behaviour.shared_receive = SharedReceive::Newest;
    Shared lab(0, options);
    for (std::uint64_t id = 1; id <= 3; ++id)
        REQUIRE(lab.share(id, 2048, 0x8000 + id * 0x800).posted == 1);
    lab.receive_at(0, "SEND_ONLY", 0, 8, 5);
    lab.receive_at(1, "SEND_ONLY", 0, 8, 6);
    lab.drain();
    const auto got = lab.receives();
    REQUIRE(got.size() == 2);
    CHECK(got[0].id == 3);
    CHECK(got[1].id == 2);
    CHECK(std::ranges::equal(lab.memory(0x9800, 8), pattern(8, 5)));
}

TEST_CASE("srq: a receive that a message holds keeps its slot", "[engine][N-16]") {
    Shared lab;
    for (std::uint64_t id = 1; id <= 4; ++id)
        REQUIRE(lab.share(id, 2048, 0x8000 + id * 0x800).posted == 1);
    lab.receive_at(0, "SEND_FIRST", 0, 1024, 5);
    CHECK(lab.left() == 3);
    CHECK(lab.share(5).refused == VerbError::NoMemory); // its depth counts what is held
    for (int n = 0; n < 3; ++n)
        lab.receive_at(1, "SEND_ONLY", n, 8);
    for (std::uint64_t id = 5; id <= 7; ++id)
        REQUIRE(lab.share(id, 16, 0xC000).posted == 1); // into the slots of 2, 3 and 4
    lab.receive_at(0, "SEND_LAST", 1, 1024, 7);
    lab.drain();
    CHECK(lab.receives().back().id == 1);
    CHECK(std::ranges::equal(lab.memory(0x8C00, 1024), pattern(1024, 7)));
}

TEST_CASE("srq: empty is RNR, and a receive posted later is taken", "[engine][RNR-14][N-16]") {
    Shared lab;
    lab.receive_at(0, "SEND_ONLY", 0, 8);
    CHECK(lab.one().syndrome() == 0x20 + 12);
    lab.receive_at(0, "RDMA_WRITE_ONLY_WITH_IMM", 0, 8);
    CHECK(lab.one().syndrome() == 0x20 + 12);
    REQUIRE(lab.share(1).posted == 1);
    lab.receive_at(0, "RDMA_WRITE_ONLY_WITH_IMM", 0, 8);
    CHECK(lab.one().syndrome() == acked);
    const auto got = lab.receives();
    REQUIRE(got.size() == 1);
    CHECK(got[0].opcode == WcOpcode::RecvRdmaWithImm);
    CHECK(lab.left() == 0);
}

TEST_CASE("srq: its acknowledges say nothing of credits", "[engine][ACK-10][N-16]") {
    LabOptions options;
    options.config.behaviour.credits = true;
    Shared lab(0, options);
    (void)lab.share(1);
    lab.receive_at(0, "SEND_ONLY", 0, 8);
    CHECK(lab.one().syndrome() == acked);
    lab.receive(lab.packet("RDMA_WRITE_ONLY", rq_psn)); // the lab's own QP has a queue of its own
    CHECK(lab.one().syndrome() == 0);
}

TEST_CASE("srq: the limit is told once and armed again", "[engine][RNR-14][N-16]") {
    Shared lab(2);
    CHECK(lab.events().empty()); // armed when it was created, judged when a receive is taken
    for (std::uint64_t id = 1; id <= 4; ++id)
        (void)lab.share(id);
    const auto limit_events = [&lab] {
        std::size_t count = 0;
        for (const Event& event : lab.events()) {
            if (event.type != EventType::SrqLimitReached) continue;
            CHECK(event.srq == lab.srq);
            CHECK_FALSE(event.qp);
            ++count;
        }
        return count;
    };
    lab.receive_at(0, "SEND_ONLY", 0, 8);
    lab.receive_at(0, "SEND_ONLY", 1, 8);
    CHECK(limit_events() == 0); // two are left
    lab.receive_at(1, "SEND_FIRST", 0, 1024);
    CHECK(limit_events() == 1);
    CHECK(lab.engine.query_srq(lab.srq)->limit == 0);
    lab.receive_at(0, "SEND_ONLY", 2, 8);
    CHECK(limit_events() == 0);
    REQUIRE(lab.engine.modify_srq(lab.srq, 1));
    (void)lab.share(5);
    lab.receive_at(0, "SEND_ONLY", 3, 8);
    CHECK(limit_events() == 1);
}

TEST_CASE("srq: a QP that fails flushes what it holds and leaves the rest to others",
          "[engine][STA-07][N-16]") {
    Shared lab;
    for (std::uint64_t id = 1; id <= 3; ++id)
        (void)lab.share(id);
    lab.receive_at(0, "SEND_FIRST", 0, 1024);
    lab.drain();
    REQUIRE(lab.engine.modify_qp(lab.qps[0], {.state = QpState::Err}, lab.now));
    const auto flushed = lab.receives();
    REQUIRE(flushed.size() == 1);
    CHECK(flushed[0].id == 1);
    CHECK(flushed[0].status == WcStatus::WrFlushErr);
    const auto events = lab.events();
    REQUIRE(events.size() == 1);
    CHECK(events[0].type == EventType::LastWqeReached);
    CHECK(events[0].qp == lab.qps[0]);
    CHECK(lab.left() == 2);
    lab.receive_at(1, "SEND_ONLY", 0, 8);
    CHECK(lab.one().syndrome() == acked);
    CHECK(lab.receives().at(0).id == 2);
    // The slot of the flushed one is free again.
    for (std::uint64_t id = 4; id <= 6; ++id)
        CHECK(lab.share(id).posted == 1);
}

TEST_CASE("srq: a fault in the message completes the receive that it took",
          "[engine][KEY-12][LEN-06][N-16]") {
    const auto fails = [](const Sge& piece, WcStatus status, std::uint8_t syndrome) {
        Shared lab;
        const ReceiveRequest request{.id = 1, .sges = std::span(&piece, 1)};
        REQUIRE(lab.engine.post_srq_receive(lab.srq, std::span(&request, 1)).posted == 1);
        (void)lab.share(2);
        lab.receive_at(0, "SEND_ONLY", 0, 64);
        CHECK(lab.one().syndrome() == syndrome);
        const auto got = lab.receives();
        REQUIRE(got.size() == 1);
        CHECK(got[0].id == 1);
        CHECK(got[0].status == status);
        CHECK(lab.state_of(0) == QpState::Err);
        CHECK(lab.left() == 1);
    };
    Shared any;
    Sge piece = any.sge(0x8000, 8);
    fails(piece, WcStatus::LocLenErr, 0x61);
    piece = any.sge(0x8000, 64);
    piece.lkey.value ^= 0xFF00;
    fails(piece, WcStatus::LocProtErr, 0x63);
}

TEST_CASE("srq: its memory counts in its own domain", "[engine][KEY-12][N-16]") {
    Lab lab;
    const PdId other = lab.engine.create_pd().value();
    std::vector<std::byte> memory(64);
    const auto region =
        lab.engine.register_region(other, memory, 0x500, {.local_write = true}).value();
    const SrqId srq = lab.engine.create_srq({.pd = other, .depth = 2}).value();
    const QpId qp =
        lab.another({.pd = lab.pd, .send_cq = lab.send_cq, .recv_cq = lab.receive_cq, .srq = srq});
    const Sge piece{.address = 0x500, .length = 64, .lkey = region.lkey};
    const ReceiveRequest request{.id = 1, .sges = std::span(&piece, 1)};
    REQUIRE(lab.engine.post_srq_receive(srq, std::span(&request, 1)).posted == 1);
    wire::Packet send = lab.packet("SEND_ONLY", rq_psn);
    send.bth.dest_qp = lab.engine.query_qp(qp)->qpn;
    lab.receive(send, pattern(64));
    CHECK(lab.one().syndrome() == acked);
    CHECK(memory == pattern(64));
}

TEST_CASE("srq: a reset and a destroyed QP give back what they hold", "[engine][STA-10][N-16]") {
    Shared lab;
    for (std::uint64_t id = 1; id <= 4; ++id)
        (void)lab.share(id);
    lab.receive_at(0, "SEND_FIRST", 0, 1024);
    lab.receive_at(1, "SEND_FIRST", 0, 1024);
    REQUIRE(lab.engine.modify_qp(lab.qps[0], {.state = QpState::Reset}, lab.now));
    CHECK(lab.engine.destroy_srq(lab.srq).error() == VerbError::Busy);
    REQUIRE(lab.engine.destroy_qp(lab.qps[1]));
    CHECK(lab.receives().empty());
    CHECK(lab.left() == 2);
    CHECK(lab.share(5).posted == 1);
    CHECK(lab.share(6).posted == 1);
    CHECK(lab.share(7).refused == VerbError::NoMemory);
    REQUIRE(lab.engine.destroy_qp(lab.qps[0]));
    CHECK(lab.engine.destroy_srq(lab.srq));
}

TEST_CASE("srq: verbs refuse what cannot be", "[engine][N-16]") {
    Config config;
    config.limits.srqs = 1;
    config.limits.srq_wr = 8;
    LabOptions options;
    options.config = config;
    Shared lab(0, options);
    CHECK(lab.engine.create_srq({.pd = lab.pd}).error() == VerbError::InvalidArgument); // 64 deep
    CHECK(lab.engine.create_srq({.pd = lab.pd, .depth = 0}).error() == VerbError::InvalidArgument);
    CHECK(lab.engine.create_srq({.pd = lab.pd, .depth = 2, .limit = 3}).error() ==
          VerbError::InvalidArgument);
    CHECK(lab.engine.create_srq({.pd = PdId{9}, .depth = 2}).error() == VerbError::NotFound);
    CHECK(lab.engine.create_srq({.pd = lab.pd, .depth = 2}).error() == VerbError::NoMemory);
    CHECK(lab.engine.modify_srq(lab.srq, 5).error() == VerbError::InvalidArgument);
    const SrqId none{9};
    CHECK(lab.engine.modify_srq(none, 1).error() == VerbError::NotFound);
    CHECK(lab.engine.query_srq(none).error() == VerbError::NotFound);
    CHECK(lab.engine.destroy_srq(none).error() == VerbError::NotFound);
    CHECK(lab.engine.post_srq_receive(none, {}).refused == VerbError::NotFound);
    CHECK(lab.engine
              .create_qp(
                  {.pd = lab.pd, .send_cq = lab.send_cq, .recv_cq = lab.receive_cq, .srq = none})
              .error() == VerbError::NotFound);
    const std::array<Sge, 3> three{};
    const ReceiveRequest wide{.sges = three};
    CHECK(lab.engine.post_srq_receive(lab.srq, std::span(&wide, 1)).refused ==
          VerbError::InvalidArgument);
    const ReceiveRequest plain{};
    CHECK(lab.engine.post_receive(lab.qps[0], std::span(&plain, 1)).refused ==
          VerbError::InvalidArgument);
    const auto report = lab.engine.query_srq(lab.srq).value();
    CHECK(report.depth == 4);
    CHECK(report.max_sge == 2);
}

TEST_CASE("srq: UC and UD take their receives from it too", "[engine][RNR-14][EXT-05][EXT-06]") {
    const auto type = GENERATE(QpType::Uc, QpType::Ud);
    LabOptions options;
    options.type = type;
    Lab lab(options);
    const SrqId srq = lab.engine.create_srq({.pd = lab.pd, .depth = 2, .max_sge = 1}).value();
    const QpId qp = lab.another({.pd = lab.pd,
                                 .type = type,
                                 .send_cq = lab.send_cq,
                                 .recv_cq = lab.receive_cq,
                                 .srq = srq});
    const Sge piece = lab.sge(0x8000, 100);
    const auto post_shared = [&](std::uint64_t id) {
        const ReceiveRequest request{.id = id, .sges = std::span(&piece, 1)};
        REQUIRE_FALSE(lab.engine.post_srq_receive(srq, std::span(&request, 1)).refused);
    };
    const auto arrive = [&](int n) {
        wire::Packet packet = lab.packet("SEND_ONLY", rq_psn + n);
        packet.bth.dest_qp = lab.engine.query_qp(qp).value().qpn;
        lab.receive(packet, pattern(8));
    };
    arrive(0); // nothing there: silence
    CHECK(lab.receives().empty());
    for (std::uint64_t id = 1; id <= 5; ++id) { // more than it has slots: they are given back
        post_shared(id);
        arrive(static_cast<int>(id));
        const auto done = lab.receives();
        REQUIRE(done.size() == 1);
        CHECK(done[0].id == id);
        CHECK(done[0].status == WcStatus::Success);
    }
    CHECK(lab.drain().empty());
}
