// FLUSH and ATOMIC WRITE at both ends.
#include "tests/transport/engine/requests.hpp"

using namespace veriroce;
using namespace veriroce::engine;
using namespace veriroce::engine::test;

namespace {

constexpr std::uint8_t invalid = 0x61;
constexpr std::uint8_t access_fault = 0x62;
constexpr std::uint8_t global = 1;
constexpr std::uint8_t persistent = 2;

constexpr Access all_rights() {
    Access access = every_right;
    access.flush_global = access.flush_persistent = true;
    return access;
}

LabOptions with_flush() {
    LabOptions options;
    options.config.persistent_memory = true;
    options.qp_access = options.region_access = all_rights();
    return options;
}

wire::Packet flush(const Lab& lab, int n, std::uint8_t placement = global,
                   std::uint32_t length = 4096) {
    wire::Packet packet = lab.packet("FLUSH", rq_psn + n);
    packet.feth.placement = placement;
    packet.reth.dma_length = length;
    return packet;
}

wire::Packet atomic_write(const Lab& lab, int n, std::uint64_t offset = 0) {
    wire::Packet packet = lab.packet("ATOMIC_WRITE", rq_psn + n);
    packet.reth.dma_length = 8;
    packet.reth.virtual_address += offset;
    return packet;
}

// EXT-02
void check_response(const Sent& sent, std::uint32_t psn, std::uint32_t msn) {
    CHECK(sent.name() == "RDMA_READ_RESPONSE_ONLY");
    CHECK(sent.psn() == psn);
    CHECK(sent.msn() == msn);
    CHECK(sent.syndrome() == acked);
    CHECK(sent.packet.body.empty());
}

void check_refused(Lab& lab, const wire::Packet& packet, std::uint8_t syndrome,
                   std::size_t payload = 0) {
    const std::uint64_t before = lab.number(0);
    lab.receive(packet, pattern(payload));
    const Sent nak = lab.one();
    CHECK(nak.name() == "ACKNOWLEDGE");
    CHECK(nak.syndrome() == syndrome);
    CHECK(nak.msn() == 0);
    CHECK(lab.state() == QpState::Err);
    CHECK(lab.number(0) == before);
}

void refused(const LabOptions& options, auto change, std::uint8_t syndrome) {
    Lab lab(options);
    wire::Packet packet = flush(lab, 0);
    change(packet);
    check_refused(lab, packet, syndrome);
}

} // namespace

TEST_CASE("responder: an ATOMIC WRITE writes eight bytes and is answered by an empty READ response",
          "[engine][EXT-01][EXT-02]") {
    Lab lab;
    lab.receive(atomic_write(lab, 0, 16), pattern(8, 9));
    check_response(lab.one(), 1000, 1);
    CHECK(std::ranges::equal(lab.memory(16, 8), pattern(8, 9)));
    CHECK(lab.receives().empty());
    wire::Packet without_ack = atomic_write(lab, 1, 16);
    without_ack.bth.ack_request = false; // N-17
    lab.receive(without_ack, pattern(8, 10));
    check_response(lab.one(), 1001, 2);
}

TEST_CASE("responder: an ATOMIC WRITE of any other length or place is refused",
          "[engine][EXT-01][ROB-03]") {
    for (const std::size_t bytes : {0U, 4U, 7U, 9U, 16U}) {
        INFO(bytes);
        Lab lab;
        wire::Packet packet = atomic_write(lab, 0);
        packet.reth.dma_length = static_cast<std::uint32_t>(bytes);
        check_refused(lab, packet, invalid, bytes);
    }
    for (const std::uint32_t announced : {0U, 7U, 16U}) {
        INFO(announced);
        Lab lab;
        wire::Packet packet = atomic_write(lab, 0);
        packet.reth.dma_length = announced;
        check_refused(lab, packet, invalid, 8);
    }
    {
        Lab lab;
        check_refused(lab, atomic_write(lab, 0, 4), invalid, 8);
    }
    {
        Lab lab;
        check_refused(lab, atomic_write(lab, 0, region_bytes), access_fault, 8);
    }
    {
        LabOptions options;
        options.region_access.remote_write = false;
        Lab lab(options);
        check_refused(lab, atomic_write(lab, 0), access_fault, 8);
    }
    {
        LabOptions options;
        options.qp_access.remote_write = false;
        Lab lab(options);
        check_refused(lab, atomic_write(lab, 0), invalid, 8);
    }
}

TEST_CASE("responder: a FLUSH is answered behind what it flushes",
          "[engine][EXT-02][EXT-03][N-29]") {
    Lab lab(with_flush());
    wire::Packet write = lab.packet("RDMA_WRITE_ONLY", rq_psn);
    write.reth.dma_length = 8;
    lab.receive(write, pattern(8, 3));
    for (const std::uint8_t placement : {global, persistent, std::uint8_t{global | persistent}}) {
        const int n = placement;
        lab.receive(flush(lab, n, placement));
        const auto sent = lab.drain();
        REQUIRE(sent.size() == (n == 1 ? 2 : 1)); // the WRITE's ACK goes first
        CHECK(std::ranges::equal(lab.memory(0, 8), pattern(8, 3)));
        CHECK(sent.back().psn() == 1000U + placement);
        CHECK(sent.back().msn() == 1U + placement);
        CHECK(wire::decode_packet(sent.back().bytes)->info().name == "RDMA_READ_RESPONSE_ONLY");
    }
    CHECK(lab.state() == QpState::Rts);
}

TEST_CASE("responder: a FLUSH of a whole region names no range, and one of nothing needs none",
          "[engine][EXT-03][N-29]") {
    Lab lab(with_flush());
    wire::Packet whole = flush(lab, 0, global, 0xFFFFFFFF);
    whole.feth.selectivity = 1;
    whole.reth.virtual_address = 0xDEAD;
    lab.receive(whole);
    check_response(lab.one(), 1000, 1);
    wire::Packet nothing = flush(lab, 1, global, 0);
    nothing.reth.virtual_address = 0xDEAD;
    lab.receive(nothing);
    check_response(lab.one(), 1001, 2);
    nothing = flush(lab, 2, global, 0); // but its key counts
    nothing.reth.rkey.value ^= 0xFF00;
    lab.receive(nothing);
    CHECK(lab.one().syndrome() == access_fault);
}

TEST_CASE("responder: a FLUSH that asks for what is not there is refused",
          "[engine][EXT-03][N-29]") {
    const auto with_placement = [](unsigned placement) {
        return [=](wire::Packet& p) { p.feth.placement = static_cast<std::uint8_t>(placement); };
    };
    const LabOptions good = with_flush();
    refused(good, with_placement(0), access_fault);
    refused(good, with_placement(4), access_fault);
    refused(good, with_placement(9), access_fault);
    refused(good, [](wire::Packet& p) { p.feth.selectivity = 2; }, access_fault);
    refused(good, [](wire::Packet& p) { p.reth.dma_length = region_bytes + 1; }, access_fault);
    refused(good, [](wire::Packet& p) { p.reth.rkey.value ^= 0xFF00; }, access_fault);
    LabOptions no_persistence = good;
    no_persistence.region_access.flush_persistent = false;
    refused(no_persistence, with_placement(persistent), access_fault);
    LabOptions no_visibility = good;
    no_visibility.region_access.flush_global = false;
    refused(no_visibility, with_placement(global), access_fault);
    LabOptions qp_without = good; // KEY-01
    qp_without.qp_access.flush_global = false;
    refused(qp_without, with_placement(global), invalid);
    qp_without.qp_access.flush_persistent = false;
    refused(qp_without, with_placement(persistent), invalid);
    Lab lab(good);
    check_refused(lab, flush(lab, 0), invalid, 8); // ATM-07: it carries nothing
}

TEST_CASE("responder: memory that forgets may not promise to persist", "[engine][N-29]") {
    Engine engine{Config{}};
    std::vector<std::byte> memory(64);
    const PdId pd = engine.create_pd().value();
    CHECK(engine.register_region(pd, memory, 0, {.flush_persistent = true}).error() ==
          VerbError::InvalidArgument);
    CHECK(engine.register_region(pd, memory, 0, {.flush_global = true}));
}

TEST_CASE("responder: duplicates of FLUSH and ATOMIC WRITE are answered and not executed",
          "[engine][EXT-04][N-29]") {
    Lab lab(with_flush());
    lab.receive(atomic_write(lab, 0), pattern(8, 1));
    lab.receive(flush(lab, 1));
    CHECK(lab.drain().size() == 2);
    std::ranges::fill(lab.memory(0, 8), std::byte{0x55});
    const std::uint64_t changed = lab.number(0);
    lab.receive(atomic_write(lab, 0), pattern(8, 1));
    check_response(lab.one(), 1000, 2);
    CHECK(lab.number(0) == changed);
    lab.receive(flush(lab, 1));
    check_response(lab.one(), 1001, 2);
    // RSP-12, ATM-05: a different request at that PSN is not a duplicate.
    lab.receive(atomic_write(lab, 0, 8), pattern(8, 1));
    lab.receive(flush(lab, 0));
    lab.receive(atomic_write(lab, 1), pattern(8, 1));
    CHECK(lab.drain().empty());
    // Its key may be gone by now.
    REQUIRE(lab.engine.deregister_region(lab.region.mr));
    lab.receive(atomic_write(lab, 0), pattern(8, 1));
    check_response(lab.one(), 1000, 2);
    CHECK(lab.state() == QpState::Rts);
}

TEST_CASE("responder: READ, atomics, FLUSH and ATOMIC WRITE share their resources",
          "[engine][N-28][RDR-09]") {
    LabOptions options = with_flush();
    options.max_dest_rd_atomic = 3;
    Lab lab(options);
    wire::Packet read = lab.packet("RDMA_READ_REQUEST", rq_psn);
    read.reth.dma_length = 8;
    lab.receive(read);
    lab.receive(lab.packet("FETCH_ADD", rq_psn + 1));
    lab.receive(flush(lab, 2));
    lab.receive(atomic_write(lab, 3), pattern(8));
    const auto sent = lab.drain();
    REQUIRE(sent.size() == 4);
    CHECK(psns(sent) == Psns{1000, 1001, 1002, 1003});
    CHECK(wire::decode_packet(sent[3].bytes)->aeth.syndrome.value == invalid);
    CHECK(lab.state() == QpState::Err);
}

TEST_CASE("requester: an ATOMIC WRITE carries its eight bytes and ends with the response",
          "[engine][EXT-01][EXT-02]") {
    for (const bool inline_data : {false, true}) {
        Lab lab;
        post(lab, Work(lab, WrOpcode::AtomicWrite, 8, 1, 0x40), {.inline_data = inline_data});
        const Sent sent = lab.one();
        CHECK(sent.name() == "ATOMIC_WRITE");
        CHECK(sent.psn() == 2000);
        CHECK(sent.packet.bth.ack_request);
        CHECK(sent.packet.reth.virtual_address == remote);
        CHECK(sent.packet.reth.rkey == remote_key);
        CHECK(sent.packet.reth.dma_length == 8);
        CHECK(std::ranges::equal(sent.packet.payload(), lab.memory(0x40, 8)));
        lab.receive(lab.ack(sq_psn, 1)); // REQ-20: an ACK is not the answer
        CHECK(lab.sends().empty());
        lab.receive(response(lab, "RDMA_READ_RESPONSE_ONLY", 0, 1));
        const auto done = lab.sends();
        REQUIRE(done.size() == 1);
        CHECK(done[0].status == WcStatus::Success);
        CHECK(done[0].opcode == WcOpcode::AtomicWrite);
        CHECK_FALSE(lab.engine.next_timeout());
    }
}

TEST_CASE("requester: a FLUSH says what is to be flushed and how", "[engine][EXT-02][EXT-03]") {
    Lab lab;
    lab.post({.id = 1,
              .opcode = WrOpcode::Flush,
              .remote_address = remote,
              .rkey = remote_key,
              .flush_length = 5000,
              .flush_placement = persistent,
              .flush_selectivity = 1});
    const Sent sent = lab.one();
    CHECK(sent.name() == "FLUSH");
    CHECK(sent.packet.feth.placement == persistent);
    CHECK(sent.packet.feth.selectivity == 1);
    CHECK(sent.packet.feth.reserved == 0);
    CHECK(sent.packet.reth.dma_length == 5000);
    CHECK(sent.packet.body.empty());
    lab.receive(response(lab, "RDMA_READ_RESPONSE_ONLY", 0, 1));
    const auto done = lab.sends();
    REQUIRE(done.size() == 1);
    CHECK(done[0].opcode == WcOpcode::Flush);
    CHECK(done[0].byte_len == 0);
}

TEST_CASE("requester: FLUSH and ATOMIC WRITE count as READs do", "[engine][N-28][REQ-27][REQ-28]") {
    LabOptions options;
    options.max_rd_atomic = 2;
    Lab lab(options);
    const SendRequest one_flush{.opcode = WrOpcode::Flush, .remote_address = remote};
    lab.post(one_flush);
    post(lab, WrOpcode::AtomicWrite, 8, 2);
    lab.post(one_flush);
    post(lab, WrOpcode::RdmaWrite, 8, 4);
    CHECK(lab.drain().size() == 2);
    lab.receive(response(lab, "RDMA_READ_RESPONSE_ONLY", 0, 1));
    CHECK(psns(lab.drain()) == Psns{2002, 2003});
    // REQ-08: a response to later work makes the unanswered ATOMIC WRITE go again.
    lab.receive(response(lab, "RDMA_READ_RESPONSE_ONLY", 2, 3));
    CHECK(psns(lab.drain()) == Psns{2001, 2002, 2003});
    lab.receive(response(lab, "RDMA_READ_RESPONSE_ONLY", 1, 2));
    lab.receive(response(lab, "RDMA_READ_RESPONSE_ONLY", 2, 3));
    lab.receive(lab.ack(sq_psn + 3, 4));
    CHECK(lab.sends().size() == 4);
}

TEST_CASE("requester: a lost FLUSH and ATOMIC WRITE go again unchanged",
          "[engine][REQ-31][EXT-04]") {
    for (const WrOpcode opcode : {WrOpcode::Flush, WrOpcode::AtomicWrite}) {
        Lab lab;
        post(lab, opcode, opcode == WrOpcode::Flush ? 0 : 8);
        const auto before = lab.one().bytes;
        lab.next_deadline();
        CHECK(lab.one().bytes == before);
        lab.receive(response(lab, "RDMA_READ_RESPONSE_ONLY", 0, 1));
        CHECK(lab.sends().size() == 1);
    }
}

TEST_CASE("requester: a response with data to FLUSH or ATOMIC WRITE is an error",
          "[engine][REQ-21][REQ-22][EXT-02]") {
    Lab lab;
    const std::uint64_t before = lab.number(0x40);
    post(lab, Work(lab, WrOpcode::AtomicWrite, 8, 1, 0x40));
    lab.drain();
    lab.receive(response(lab, "RDMA_READ_RESPONSE_ONLY", 0, 1), pattern(8));
    check_failed(lab, 1, WcStatus::LocLenErr);
    CHECK(lab.number(0x40) == before);
}

TEST_CASE("requester: FLUSH and ATOMIC WRITE that cannot be are refused", "[engine][EXT-01]") {
    const auto refusal = [](const LabOptions& options, WrOpcode opcode, std::uint32_t length,
                            bool inline_data = false) {
        Lab lab(options);
        const Sge piece = lab.sge(0, length);
        const SendRequest request{
            .opcode = opcode, .sges = std::span(&piece, 1), .flags = {.inline_data = inline_data}};
        return lab.engine.post_send(lab.qp, std::span(&request, 1), lab.now).refused;
    };
    const LabOptions good;
    CHECK(refusal(good, WrOpcode::AtomicWrite, 4) == VerbError::InvalidArgument);
    CHECK(refusal(good, WrOpcode::AtomicWrite, 16) == VerbError::InvalidArgument);
    CHECK(refusal(good, WrOpcode::Flush, 8) == VerbError::InvalidArgument);
    LabOptions none;
    none.max_rd_atomic = 0;
    CHECK(refusal(none, WrOpcode::AtomicWrite, 8) == VerbError::InvalidArgument);
    CHECK(refusal(none, WrOpcode::Flush, 0) == VerbError::InvalidArgument);
}
