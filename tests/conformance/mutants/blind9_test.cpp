// The ninth blind sample: under some lawful use each defect does something that the right device
// does not.
#include <catch2/catch.hpp>

#include "dissector/wire/management.hpp"
#include "tests/conformance/mutants/difference.hpp"

namespace veriroce::mutants::test::of_blind9 {

namespace {

using engine::QpState;
using engine::QpType;
using engine::WrOpcode;
using wire::Operation;
using wire::Position;

// --- what responders do

void read_of_600(Stage& stage) {
    stage.arrive(stage.read(100, 600));
}

void read_of_two_packets(Stage& stage) {
    stage.arrive(stage.read(100, 512));
}

void read_of_257(Stage& stage) {
    stage.arrive(stage.read(100, 257));
}

void read_again_behind_a_send(Stage& stage) {
    stage.arrive(stage.read(100, 4));
    stage.arrive(stage.send(101));
    stage.arrive(stage.read(100, 4));
}

void reads_of_two_qps(Stage& stage) {
    const auto first = stage.read(100, 512);
    stage.turn_to(1);
    auto second = stage.read(100, 512);
    second.reth.virtual_address += 4096;
    stage.turn_to(0);
    stage.arrive_together({first, second});
}

engine::Engine::Window bound_window(Stage& stage) {
    const auto window = stage.window();
    stage.post(stage.bind_request(1, window.mw, window.rkey, 0));
    return window;
}

void read_behind_the_window(Stage& stage) {
    auto read = stage.read(100, 4);
    read.reth.rkey = bound_window(stage).rkey;
    read.reth.virtual_address += 512;
    stage.arrive(read);
}

void read_through_a_window_that_is_revoked(Stage& stage) {
    auto read = stage.read(100, 4);
    read.reth.rkey = bound_window(stage).rkey;
    stage.post(
        {.id = 2, .opcode = WrOpcode::LocalInv, .sges = {}, .invalidate_rkey = read.reth.rkey});
    stage.arrive(read);
}

void send_of_512(Stage& stage) {
    stage.arrive(stage.packet(Operation::Send, Position::First, 100, 256));
    stage.arrive(stage.packet(Operation::Send, Position::Last, 101, 256));
}

void send_last_of_260(Stage& stage) {
    const std::array<engine::Sge, 1> sges{{stage.piece(8192, 1024)}};
    stage.receive(0, sges);
    stage.arrive(stage.packet(Operation::Send, Position::First, 100, 256));
    stage.arrive(stage.packet(Operation::Send, Position::Last, 101, 260));
}

void read_inside_a_send(Stage& stage) {
    stage.arrive(stage.packet(Operation::Send, Position::First, 100, 256));
    stage.arrive(stage.read(101, 4));
}

void revoke_twice(Stage& stage) {
    const auto send = revoking(stage, kSendOnlyWithInvalidate, 100, bound_window(stage).rkey);
    stage.arrive(send);
    stage.arrive(send);
}

void write_of_64_kib_and_more(Stage& stage) {
    constexpr std::uint32_t length = 65536 + 4;
    constexpr std::uint32_t first = 100;
    stage.arrive(stage.write(Position::First, first, 256, length));
    for (std::uint32_t at = 1; at < 256; ++at)
        stage.arrive(stage.write(Position::Middle, first + at, 256, length));
    auto last = stage.write(Position::Last, first + 256, 4, length);
    const std::array<std::byte, 4> body{std::byte{7}};
    last.body = body;
    stage.arrive(last);
    stage.memory(0);
    stage.memory(65536);
}

void add_the_largest_number(Stage& stage) {
    stage.arrive(stage.add(100, 0xFFFFFFFFFFFFFFFF));
    stage.memory(0);
}

void add_again_after_a_change(Stage& stage) {
    stage.arrive(stage.add(100, 1));
    stage.modify({.min_rnr_timer = 2});
    stage.arrive(stage.add(100, 1));
}

void gap_and_recovery(Stage& stage) {
    stage.arrive(stage.send(101));
    stage.arrive(stage.send(100));
}

void gap_inside_a_send(Stage& stage) {
    stage.arrive(stage.packet(Operation::Send, Position::First, 100, 256));
    stage.arrive(stage.packet(Operation::Send, Position::Last, 102, 4));
}

void two_sends_at_once(Stage& stage) {
    stage.arrive_together({stage.send(100), stage.send(101)});
}

void reads_ahead_of_a_gap(Stage& stage) {
    for (std::uint32_t psn = 101; psn < 105; ++psn)
        stage.arrive(stage.read(psn, 4));
    stage.arrive(stage.send(100));
    stage.arrive(stage.read(101, 4));
}

void sends_around_sqd(Stage& stage) {
    stage.arrive(stage.send(100));
    stage.modify({.state = QpState::Sqd});
    stage.modify({.state = QpState::Rts});
    stage.arrive(stage.send(101));
}

void read_by_an_unknown_key(Stage& stage) {
    auto read = stage.read(100, 4);
    read.reth.rkey = {0x77};
    stage.arrive(read);
    stage.events();
}

void flush_twice(Stage& stage) {
    const auto flush = flush_of_eight(stage);
    stage.arrive(flush);
    stage.arrive(flush);
}

// --- what requesters do

void bind_then_send(Stage& stage) {
    bound_window(stage);
    stage.post(stage.request(7, WrOpcode::Send, 4));
}

void inline_data(Stage& stage) {
    auto request = stage.request(7, WrOpcode::Send, 40);
    request.flags.inline_data = true;
    stage.post(request);
}

void solicited_write(Stage& stage) {
    auto request = stage.request(7, WrOpcode::RdmaWriteWithImm, 4);
    request.flags.solicited = true;
    stage.post(request);
}

void send_behind_a_solicited_one(Stage& stage) {
    auto request = stage.request(7, WrOpcode::Send, 4);
    request.flags.solicited = true;
    stage.post(request);
    stage.post(stage.request(8, WrOpcode::Send, 4));
}

engine::SendRequest fenced_send(Stage& stage) {
    auto request = stage.request(9, WrOpcode::Send, 4);
    request.flags.fence = true;
    return request;
}

void fence_behind_four_reads(Stage& stage) {
    for (std::uint64_t id = 0; id < 4; ++id)
        stage.post(stage.request(id, WrOpcode::RdmaRead, 4));
    stage.post(fenced_send(stage));
}

void write_behind_a_send(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    stage.post(stage.request(8, WrOpcode::RdmaWrite, 4));
}

engine::SendRequest of_two_pieces(Stage& stage, WrOpcode opcode,
                                  const std::array<engine::Sge, 2>& pieces) {
    auto request = stage.request(7, opcode, 0);
    request.sges = pieces;
    return request;
}

void two_pieces_sent_again(Stage& stage) {
    const std::array pieces{stage.piece(0, 4), stage.piece(1024, 4)};
    stage.post(of_two_pieces(stage, WrOpcode::Send, pieces));
    stage.wait();
}

void two_reads_sent_again(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::RdmaRead, 4));
    stage.post(stage.request(8, WrOpcode::RdmaRead, 8));
    stage.wait();
}

void operational_nak(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    stage.arrive(stage.answer(500, wire::Syndrome::nak(wire::NakCode::RemoteOperational)));
}

void ack_of_a_far_psn(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    stage.arrive(stage.answer(500 + 0x10000));
    stage.completions();
}

void too_long_read_response(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::RdmaRead, 4));
    stage.arrive(stage.packet(Operation::RdmaReadResponse, Position::Only, 500, 8));
    stage.memory(4);
}

void response_to_a_read_behind_a_send(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    stage.post(stage.request(8, WrOpcode::RdmaRead, 4));
    stage.arrive(stage.packet(Operation::RdmaReadResponse, Position::Only, 501, 4));
    stage.completions();
}

void one_ack_for_two(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    stage.post(stage.request(8, WrOpcode::Send, 4));
    stage.arrive(stage.answer(501));
    stage.completions();
}

void two_rnr_naks_with_progress(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    stage.arrive(stage.answer(500, wire::Syndrome::rnr(1)));
    stage.wait();
    stage.arrive(stage.answer(500));
    stage.post(stage.request(8, WrOpcode::Send, 4));
    stage.arrive(stage.answer(501, wire::Syndrome::rnr(1)));
    stage.completions();
}

void two_naks_with_progress(Stage& stage) {
    const auto nak = wire::Syndrome::nak(wire::NakCode::PsnSequence);
    stage.post(stage.request(7, WrOpcode::Send, 4));
    stage.arrive(stage.answer(500, nak));
    stage.arrive(stage.answer(500));
    stage.post(stage.request(8, WrOpcode::Send, 4));
    stage.arrive(stage.answer(501, nak));
}

void second_qp_with_more_retries(Stage& stage) {
    stage.next_retry_count(2);
    stage.turn_to(1);
    stage.post(stage.request(7, WrOpcode::Send, 4));
    stage.wait();
}

void rnr_nak_of_a_send(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    stage.arrive(stage.answer(500, wire::Syndrome::rnr(1)));
    stage.completions();
}

void read_into_two_pieces(Stage& stage) {
    const std::array pieces{stage.piece(0, 4), stage.piece(1024, 8)};
    stage.post(of_two_pieces(stage, WrOpcode::RdmaRead, pieces));
    stage.arrive(stage.packet(Operation::RdmaReadResponse, Position::Only, 500, 12));
    stage.completions(true);
}

void bind_in_error(Stage& stage) {
    stage.modify({.state = QpState::Err});
    bound_window(stage);
    stage.completions();
}

void bind_behind_a_send(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    bound_window(stage);
    stage.arrive(stage.answer(500));
    stage.completions();
}

void fence_after_reset(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::RdmaRead, 4));
    stage.connect_again(100, 900);
    stage.post(fenced_send(stage));
}

void drain_behind_a_read(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::RdmaRead, 4));
    stage.modify({.state = QpState::Sqd, .sqd_async_notify = true});
    stage.arrive(stage.packet(Operation::RdmaReadResponse, Position::Only, 500, 4));
    stage.events();
}

// --- what ports do

void send_of_three_bytes(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 3));
}

void send_of_four_bytes(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
}

void lost_send(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    stage.wait();
}

void urgent_send(Stage& stage) {
    auto way = stage.to_device();
    way.vlan = wire::VlanId{.id = 5, .priority = 5};
    stage.arrive(stage.send(100), way);
}

void send_from_a_neighbour(Stage& stage) {
    auto way = stage.to_device();
    way.source = wire::IpAddress::from_v4(0x0A4D0009);
    stage.arrive(stage.send(100), way);
}

void send_with_key_zero(Stage& stage) {
    auto send = stage.send(100);
    send.bth.pkey = {0x8000};
    stage.arrive(send);
}

void spoiled_send_in_a_vlan(Stage& stage) {
    auto way = stage.to_device();
    way.vlan = wire::VlanId{.id = 5};
    stage.arrive_spoiled(stage.send(100), 1, way);
}

void marked_write_of_a_limited_member(Stage& stage) {
    auto way = stage.to_device();
    way.ecn = wire::kCongestionExperienced;
    auto write = stage.write(Position::Only, 100, 4, 4);
    write.bth.pkey = {0x7FFF};
    stage.arrive(write, way);
}

void datagram_with_immediate(Stage& stage) {
    stage.arrive(stage.packet(Operation::Send, Position::Only, 1, 4, true));
    stage.completions();
}

void grh_of_a_datagram(Stage& stage) {
    constexpr std::uint64_t last_byte_of_source = 8192 + 23;
    stage.arrive(stage.packet(Operation::Send, Position::Only, 1, 4));
    stage.completions();
    stage.memory(last_byte_of_source);
}

void datagram_behind_one_without_receive(Stage& stage) {
    stage.arrive(stage.packet(Operation::Send, Position::Only, 1, 4));
    stage.arrive(stage.packet(Operation::Send, Position::Only, 2, 4));
    post_receive(stage);
    stage.arrive(stage.packet(Operation::Send, Position::Only, 3, 4));
    stage.completions();
}

void reject_for_reason_8(Stage& stage) {
    constexpr std::uint16_t rej = 0x12;
    constexpr std::size_t attribute_at = 16;
    constexpr std::size_t reason_at = 34;
    const auto message = stage.bytes().first(wire::kMadBytes);
    std::ranges::fill(message, std::byte{0});
    wire::store_be<2>(message, attribute_at, rej);
    wire::store_be<2>(message, reason_at, 8U);
    const wire::Envelope way = stage.to_device();
    auto request = stage.request(7, WrOpcode::Send, wire::kMadBytes);
    request.ud =
        engine::UdDestination{.path = {.source = way.destination, .destination = way.source},
                              .qpn = wire::kGsiQpn,
                              .qkey = wire::kGsiQkey};
    stage.post(request);
}

std::vector<Difference> responder_differences() {
    return {
        {.name = "aeth_in_read_middles",
         .act = read_of_600,
         .right = "RDMA_READ_RESPONSE_MIDDLE 101, 256 bytes of 2",
         .wrong = "RDMA_READ_RESPONSE_MIDDLE 101, 260 bytes of 2"},
        {.name = "read_of_two_ends_in_only",
         .act = read_of_two_packets,
         .right = "RDMA_READ_RESPONSE_LAST 101, 256 bytes of 2, syndrome 1f msn 1",
         .wrong = "RDMA_READ_RESPONSE_ONLY 101, 256 bytes of 2, syndrome 1f msn 1"},
        {.name = "read_remainder_below_word_lost",
         .act = read_of_257,
         .right = "RDMA_READ_RESPONSE_LAST 101, 1 bytes of 2, syndrome 1f msn 1",
         .wrong = ""},
        {.name = "repeated_read_answered_at_newest_psn",
         .act = read_again_behind_a_send,
         .right = "RDMA_READ_RESPONSE_ONLY 100, 4 bytes of 1, syndrome 1f msn 2",
         .wrong = "RDMA_READ_RESPONSE_ONLY 102, 4 bytes of 1, syndrome 1f msn 2"},
        {.name = "read_of_other_qp_takes_over",
         .act = reads_of_two_qps,
         .right = "RDMA_READ_RESPONSE_LAST 101, 256 bytes of 2, syndrome 1f msn 1",
         .wrong = "RDMA_READ_RESPONSE_LAST 101, 256 bytes of 18, syndrome 1f msn 1"},
        {.name = "window_opens_whole_region",
         .act = read_behind_the_window,
         .right = "ACKNOWLEDGE 100, syndrome 62 msn 0",
         .wrong = "RDMA_READ_RESPONSE_ONLY 100, 4 bytes of 3, syndrome 1f msn 1"},
        {.name = "local_invalidate_leaves_window_open",
         .act = read_through_a_window_that_is_revoked,
         .right = "ACKNOWLEDGE 100, syndrome 62 msn 0",
         .wrong = "RDMA_READ_RESPONSE_ONLY 100, 4 bytes of 1, syndrome 1f msn 1"},
        {.name = "send_of_exact_fit_refused",
         .act = send_of_512,
         .right = "ACKNOWLEDGE 101, syndrome 1f msn 1",
         .wrong = "ACKNOWLEDGE 101, syndrome 61 msn 0"},
        {.name = "length_of_send_last_not_checked",
         .act = send_last_of_260,
         .right = "ACKNOWLEDGE 101, syndrome 61 msn 0",
         .wrong = "ACKNOWLEDGE 101, syndrome 1f msn 1",
         .scene = {.receives = 0}},
        {.name = "read_inside_send_answered",
         .act = read_inside_a_send,
         .right = "ACKNOWLEDGE 101, syndrome 61 msn 0",
         .wrong = "RDMA_READ_RESPONSE_ONLY 101, 4 bytes of 1, syndrome 1f msn 1"},
        {.name = "duplicate_invalidate_ends_qp",
         .act = revoke_twice,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .wrong = ""},
        {.name = "write_offset_in_sixteen_bits",
         .act = write_of_64_kib_and_more,
         .right = "at 0: 100",
         .wrong = "at 0: 7"},
        {.name = "fetch_add_saturates",
         .act = add_the_largest_number,
         .right = "at 0: 0",
         .wrong = "at 0: 255"},
        {.name = "replays_lost_when_qp_modified",
         .act = add_again_after_a_change,
         .right = "ATOMIC_ACKNOWLEDGE 100, found 72340172838076673, syndrome 1f msn 1",
         .wrong = ""},
        {.name = "first_ack_after_nak_reserved",
         .act = gap_and_recovery,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .wrong = "ACKNOWLEDGE 100, syndrome 5f msn 1"},
        {.name = "sequence_nak_counts_open_message",
         .act = gap_inside_a_send,
         .right = "ACKNOWLEDGE 101, syndrome 60 msn 0",
         .wrong = "ACKNOWLEDGE 101, syndrome 60 msn 1"},
        {.name = "burst_acked_by_its_first",
         .act = two_sends_at_once,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .wrong = "ACKNOWLEDGE 100, syndrome 1f msn 2"},
        {.name = "reads_ahead_use_up_resources",
         .act = reads_ahead_of_a_gap,
         .right = "RDMA_READ_RESPONSE_ONLY 101, 4 bytes of 1, syndrome 1f msn 2",
         .wrong = "ACKNOWLEDGE 101, syndrome 61 msn 1"},
        {.name = "no_acks_before_rts",
         .act = plain_send,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .wrong = "",
         .scene = {.sends = false}},
        {.name = "first_psn_expected_after_sqd",
         .act = sends_around_sqd,
         .right = "ACKNOWLEDGE 101, syndrome 1f msn 2",
         .wrong = "ACKNOWLEDGE 100, syndrome 60 msn 1, from another port"},
        {.name = "no_last_wqe_after_fatal_nak",
         .act = read_by_an_unknown_key,
         .right = "event LAST_WQE_REACHED",
         .wrong = "",
         .scene = {.shared = true}},
        {.name = "duplicate_flush_not_answered",
         .act = flush_twice,
         .right = "RDMA_READ_RESPONSE_ONLY 100, syndrome 1f msn 1",
         .wrong = ""},
    };
}

std::vector<Difference> requester_differences() {
    return {
        {.name = "local_work_takes_psn",
         .act = bind_then_send,
         .right = "SEND_ONLY 500, 4 bytes of 1, asks",
         .wrong = "SEND_ONLY 501, 4 bytes of 1, asks"},
        {.name = "inline_behind_first_block_zero",
         .act = inline_data,
         .right = "SEND_ONLY 500, 40 bytes of 1, asks",
         .wrong = "SEND_ONLY 500, 40 bytes of 0, asks"},
        {.name = "solicited_of_immediate_write_not_sent",
         .act = solicited_write,
         .right = "RDMA_WRITE_ONLY_WITH_IMM 500, 4 bytes of 1, for 4 bytes at 0x5000, immediate 7, "
                  "asks, solicited",
         .wrong = "RDMA_WRITE_ONLY_WITH_IMM 500, 4 bytes of 1, for 4 bytes at 0x5000, immediate 7, "
                  "asks"},
        {.name = "solicited_sticks_to_next",
         .act = send_behind_a_solicited_one,
         .right = "SEND_ONLY 501, 4 bytes of 1, asks",
         .wrong = "SEND_ONLY 501, 4 bytes of 1, asks, solicited"},
        {.name = "fence_overlooks_four_reads",
         .act = fence_behind_four_reads,
         .right = "",
         .wrong = "SEND_ONLY 504, 4 bytes of 1, asks"},
        {.name = "writes_wait_for_credits",
         .act = write_behind_a_send,
         .right = "RDMA_WRITE_ONLY 501, 4 bytes of 1, for 4 bytes at 0x5000, asks",
         .wrong = ""},
        {.name = "resent_pieces_exchanged",
         .act = two_pieces_sent_again,
         .right = "SEND_ONLY 500, 8 bytes of 5, asks",
         .wrong = "SEND_ONLY 500, 8 bytes of 1, asks"},
        {.name = "resent_read_has_newest_length",
         .act = two_reads_sent_again,
         .right = "RDMA_READ_REQUEST 500, for 4 bytes at 0x5000, asks",
         .wrong = "RDMA_READ_REQUEST 500, for 8 bytes at 0x5000, asks"},
        {.name = "operational_nak_retried",
         .act = operational_nak,
         .right = "",
         .wrong = "SEND_ONLY 500, 4 bytes of 1, asks"},
        {.name = "response_psn_in_sixteen_bits",
         .act = ack_of_a_far_psn,
         .right = "",
         .wrong = "send 7 SUCCESS"},
        {.name = "excess_of_read_response_written",
         .act = too_long_read_response,
         .right = "at 4: 1",
         .wrong = "at 4: 244"},
        {.name = "read_response_before_ack_ignored",
         .act = response_to_a_read_behind_a_send,
         .right = "send 7 SUCCESS",
         .wrong = ""},
        {.name = "coalesced_ack_completes_newest_alone",
         .act = one_ack_for_two,
         .right = "send 7 SUCCESS",
         .wrong = "send 8 SUCCESS"},
        {.name = "rnr_retries_never_reloaded",
         .act = two_rnr_naks_with_progress,
         .right = "",
         .wrong = "send 8 RNR_RETRY_EXC_ERR",
         .scene = {.rnr_retry = 1}},
        {.name = "nak_retries_never_reloaded",
         .act = two_naks_with_progress,
         .right = "SEND_ONLY 501, 4 bytes of 1, asks",
         .wrong = "",
         .scene = {.retry_count = 1}},
        {.name = "retry_count_of_first_qp",
         .act = second_qp_with_more_retries,
         .right = "SEND_ONLY 500, 4 bytes of 1, asks, to QP 0x201",
         .wrong = "",
         .scene = {.retry_count = 0}},
        {.name = "rnr_retries_told_as_timeouts",
         .act = rnr_nak_of_a_send,
         .right = "send 7 RNR_RETRY_EXC_ERR",
         .wrong = "send 7 RETRY_EXC_ERR",
         .scene = {.rnr_retry = 0}},
        {.name = "read_tells_length_of_first_piece",
         .act = read_into_two_pieces,
         .right = "send 7 SUCCESS 12 bytes",
         .wrong = "send 7 SUCCESS 4 bytes"},
        {.name = "local_work_not_flushed",
         .act = bind_in_error,
         .right = "send 1 WR_FLUSH_ERR",
         .wrong = ""},
        {.name = "local_work_completes_first",
         .act = bind_behind_a_send,
         .right = "send 7 SUCCESS",
         .wrong = "send 1 SUCCESS"},
        {.name = "fence_waits_for_reads_before_reset",
         .act = fence_after_reset,
         .right = "SEND_ONLY 900, 4 bytes of 1, asks",
         .wrong = ""},
        {.name = "drain_behind_read_not_told",
         .act = drain_behind_a_read,
         .right = "event SQ_DRAINED",
         .wrong = ""},
    };
}

std::vector<Difference> port_differences() {
    return {
        {.name = "acks_to_senders_port",
         .act = plain_send,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .wrong = "UDP, but not to port 4791"},
        {.name = "udp_length_without_pad",
         .act = send_of_three_bytes,
         .right = "SEND_ONLY 500, 3 bytes of 1, asks",
         .wrong = "SEND_ONLY 500, 2 bytes of 1, asks, damaged"},
        {.name = "ip_checksum_before_class",
         .act = send_of_four_bytes,
         .right = "SEND_ONLY 500, 4 bytes of 1, asks, DSCP 8",
         .wrong = "SEND_ONLY 500, 4 bytes of 1, asks, DSCP 8, damaged",
         .scene = {.traffic_class = 0x20}},
        {.name = "resent_with_hop_limit_64",
         .act = lost_send,
         .right = "SEND_ONLY 500, 4 bytes of 1, asks, hop limit 9",
         .wrong = "SEND_ONLY 500, 4 bytes of 1, asks",
         .scene = {.hop_limit = 9}},
        {.name = "urgent_frames_of_vlan_dropped",
         .act = urgent_send,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1, VLAN 5",
         .wrong = "",
         .scene = {.vlan = 5}},
        {.name = "v4_source_compared_by_network",
         .act = send_from_a_neighbour,
         .right = "",
         .wrong = "ACKNOWLEDGE 100, syndrome 1f msn 1"},
        {.name = "key_zero_opens_all",
         .act = send_with_key_zero,
         .right = "",
         .wrong = "ACKNOWLEDGE 100, syndrome 1f msn 1"},
        {.name = "v6_class_spoils_icrc",
         .act = send_of_four_bytes,
         .right = "SEND_ONLY 500, 4 bytes of 1, asks, DSCP 8",
         .wrong = "SEND_ONLY 500, 4 bytes of 1, asks, DSCP 8, damaged",
         .scene = {.v6 = true, .traffic_class = 0x20}},
        {.name = "icrc_of_tagged_not_checked",
         .act = spoiled_send_in_a_vlan,
         .right = "",
         .wrong = "ACKNOWLEDGE 100, syndrome 1f msn 1, VLAN 5",
         .scene = {.vlan = 5}},
        {.name = "cnp_asks_for_ack",
         .act = marked_write_of_a_limited_member,
         .right = "CNP 0, 16 bytes of 0, P_Key 0x7fff, DSCP 48",
         .wrong = "CNP 0, 16 bytes of 0, asks, P_Key 0x7fff, DSCP 48"},
        {.name = "cnp_has_default_pkey",
         .act = marked_write_of_a_limited_member,
         .right = "CNP 0, 16 bytes of 0, P_Key 0x7fff, DSCP 48",
         .wrong = "CNP 0, 16 bytes of 0, DSCP 48"},
        {.name = "uc_messages_acked",
         .act = plain_send,
         .right = "",
         .wrong = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .scene = {.type = QpType::Uc}},
        {.name = "immediate_of_datagram_not_told",
         .act = datagram_with_immediate,
         .right = "recv 0 SUCCESS 44 bytes immediate 1",
         .wrong = "recv 0 SUCCESS 44 bytes",
         .scene = {.type = QpType::Ud}},
        {.name = "grh_addresses_exchanged",
         .act = grh_of_a_datagram,
         .right = "at 8215: 2",
         .wrong = "at 8215: 1",
         .scene = {.type = QpType::Ud, .v6 = true}},
        {.name = "datagram_behind_missed_lost",
         .act = datagram_behind_one_without_receive,
         .right = "recv 0 SUCCESS 44 bytes",
         .wrong = "",
         .scene = {.type = QpType::Ud, .receives = 1}},
        {.name = "rej_reason_swapped",
         .act = reject_for_reason_8,
         .right = "SEND_ONLY 500, 256 bytes of 0, Q_Key 0x80010000, to QP 0x1, rejects 0, reason 8",
         .wrong = "SEND_ONLY 500, 256 bytes of 0, Q_Key 0x80010000, to QP 0x1, rejects 0, "
                  "reason 2048",
         .scene = {.type = QpType::Ud, .gsi = true}},
    };
}

} // namespace

TEST_CASE("blind: each defect of the ninth sample differs from the right device", "[mutants]") {
    check_differences({responder_differences, requester_differences, port_differences}, blind(9));
}

} // namespace veriroce::mutants::test::of_blind9
