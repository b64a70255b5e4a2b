// Every status that a completion of RC can have, each by what causes it.
#include "tests/transport/engine/requests.hpp"

#include <functional>
#include <set>

using namespace veriroce;
using namespace veriroce::engine;
using namespace veriroce::engine::test;

namespace {

struct Cause {
    WcStatus status;
    Queue queue;
    std::function<void(LabOptions&)> options;
    std::function<void(Lab&)> act;
};

void answered_with(Lab& lab, std::uint8_t syndrome) {
    post(lab, WrOpcode::Send, 8, 7);
    lab.drain();
    lab.receive(lab.ack(sq_psn, 0, syndrome));
}

void one_try(LabOptions& options) {
    options.retry_count = options.rnr_retry = 0;
}

void plain(LabOptions& /*options*/) {}

void refused_write_with_imm(Lab& lab) {
    lab.post_receive(7, 64);
    wire::Packet write = lab.packet("RDMA_WRITE_ONLY_WITH_IMM", rq_psn);
    write.reth.dma_length = 8;
    write.reth.rkey.value ^= 0xFF00;
    lab.receive(write, pattern(8));
    CHECK(lab.one().syndrome() == 0x62);
}

void received(Lab& lab, std::string_view opcode, std::size_t bytes, const Sge& piece) {
    const ReceiveRequest request{.id = 7, .sges = std::span(&piece, 1)};
    REQUIRE(lab.engine.post_receive(lab.qp, std::span(&request, 1)).posted == 1);
    lab.receive(lab.packet(opcode, rq_psn), pattern(bytes));
}

std::vector<Cause> causes() {
    using enum WcStatus;
    constexpr Queue send = Queue::Send;
    constexpr Queue receive = Queue::Receive;
    const auto answer = [](std::uint8_t syndrome) {
        return [syndrome](Lab& lab) { answered_with(lab, syndrome); };
    };
    return {
        {Success, send, plain, answer(0x1F)},
        {RemInvReqErr, send, plain, answer(0x61)},
        {RemAccessErr, send, plain, answer(0x62)},
        {RemOpErr, send, plain, answer(0x63)},
        {RnrRetryExcErr, send, one_try, answer(0x21)},
        {RetryExcErr, send, one_try, answer(0x60)},
        {RetryExcErr, send, one_try,
         [](Lab& lab) {
             post(lab, WrOpcode::Send, 8, 7);
             lab.drain();
             lab.next_deadline();
         }},
        {LocLenErr, send, plain, // REQ-21
         [](Lab& lab) {
             post(lab, WrOpcode::RdmaRead, 8, 7);
             lab.drain();
             lab.receive(response(lab, "RDMA_READ_RESPONSE_ONLY", 0, 1), pattern(12));
         }},
        {BadRespErr, send, // REQ-24
         [](LabOptions& o) {
             o.config.behaviour.unexpected_response = UnexpectedResponse::BadResponse;
         },
         [](Lab& lab) {
             post(lab, WrOpcode::RdmaWrite, 8, 7);
             lab.drain();
             lab.receive(response(lab, "RDMA_READ_RESPONSE_ONLY", 0, 1), pattern(8));
         }},
        {BadRespErr, send, // REQ-25
         [](LabOptions& o) {
             o.config.behaviour.unexpected_response = UnexpectedResponse::BadResponse;
         },
         [](Lab& lab) {
             post(lab, WrOpcode::RdmaRead, 8, 7);
             lab.drain();
             lab.receive(response(lab, "ATOMIC_ACKNOWLEDGE", 0, 1));
         }},
        {LocProtErr, send, plain,
         [](Lab& lab) {
             Work work(lab, WrOpcode::Send, 8, 7);
             work.sges[0].lkey.value ^= 0xFF00;
             post(lab, work);
             lab.drain();
         }},
        {LocQpOpErr, send, plain, // KEY-11
         [](Lab& lab) {
             lab.post({.id = 7, .opcode = WrOpcode::LocalInv, .invalidate_rkey = {1}});
             lab.drain();
         }},
        {MwBindErr, send, plain, // KEY-09: the region grants no binding
         [](Lab& lab) {
             const auto window = lab.engine.allocate_window(lab.pd, WindowType::Type2).value();
             lab.post(
                 {.id = 7,
                  .opcode = WrOpcode::BindMw,
                  .rkey = window.rkey,
                  .mw = window.mw,
                  .bind = BindInfo{.mr = lab.region.mr, .address = region_address, .length = 8}});
             lab.drain();
         }},
        {WrFlushErr, send, plain,
         [](Lab& lab) {
             post(lab, WrOpcode::Send, 8, 7);
             REQUIRE(lab.engine.modify_qp(lab.qp, {.state = QpState::Err}, lab.now));
         }},
        {Success, receive, plain,
         [](Lab& lab) { received(lab, "SEND_ONLY", 8, lab.sge(0x8000, 8)); }},
        {LocLenErr, receive, plain, // LEN-06
         [](Lab& lab) { received(lab, "SEND_ONLY", 16, lab.sge(0x8000, 8)); }},
        {LocProtErr, receive, plain, // KEY-12
         [](Lab& lab) {
             Sge piece = lab.sge(0x8000, 8);
             piece.lkey.value ^= 0xFF00;
             received(lab, "SEND_ONLY", 8, piece);
         }},
        {LocQpOpErr, receive, plain, // OPC-01
         [](Lab& lab) {
             received(lab, "SEND_FIRST", 1024, lab.sge(0x8000, 2048));
             lab.receive(lab.packet("RDMA_WRITE_LAST", rq_psn + 1), pattern(8));
         }},
        {LocQpOpErr, receive, plain, // KEY-11
         [](Lab& lab) { received(lab, "SEND_ONLY_WITH_INV", 8, lab.sge(0x8000, 8)); }},
        {LocAccessErr, receive, // N-14
         [](LabOptions& o) {
             o.config.behaviour.refused_immediate = RefusedImmediate::AccessError;
         },
         refused_write_with_imm},
        {WrFlushErr, receive, plain, refused_write_with_imm},
    };
}

} // namespace

TEST_CASE("status: each one that RC has, by its cause", "[engine][REQ-16][N-14][KEY-12]") {
    std::set<std::pair<WcStatus, Queue>> seen;
    for (const Cause& cause : causes()) {
        INFO(name_of(cause.status) << (cause.queue == Queue::Send ? " send" : " receive"));
        LabOptions options;
        cause.options(options);
        Lab lab(options);
        cause.act(lab);
        const auto done = cause.queue == Queue::Send ? lab.sends() : lab.receives();
        REQUIRE(done.size() == 1);
        CHECK(done[0].id == 7);
        CHECK(done[0].queue == cause.queue);
        CHECK(done[0].status == cause.status);
        CHECK(lab.state() == (cause.status == WcStatus::Success ? QpState::Rts : QpState::Err));
        seen.emplace(cause.status, cause.queue);
    }
    // All but GENERAL_ERR, which no rule gives to RC.
    std::set<WcStatus> statuses;
    for (const auto& [status, queue] : seen)
        statuses.insert(status);
    CHECK(statuses.size() == 13);
    CHECK_FALSE(statuses.contains(WcStatus::GeneralErr));
}
