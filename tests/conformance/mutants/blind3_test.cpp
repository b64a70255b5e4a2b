// The third blind sample: under some lawful use each defect does something that the right device
// does not.
#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/conformance/mutants/difference.hpp"

namespace veriroce::mutants::test::of_blind3 {

namespace {

using engine::QpState;
using engine::QpType;
using engine::WrOpcode;
using wire::Operation;
using wire::Position;

// --- what responders do

void change_rnr_timer(Stage& stage) {
    stage.modify({.min_rnr_timer = 20});
    stage.arrive(stage.send(100));
}

void gap_behind_read(Stage& stage) {
    stage.arrive(stage.read(100, 700));
    stage.arrive(stage.send(105));
}

void gap_during_read(Stage& stage) {
    stage.arrive_together({stage.read(100, 700), stage.send(105)});
}

void long_immediate_write_without_receive(Stage& stage) {
    stage.arrive(stage.write(Position::First, 100, 256, 300));
    stage.arrive(stage.write(Position::Last, 101, 44, 300, true));
}

void read_and_atomic_together(Stage& stage) {
    stage.arrive_together({stage.read(100, 300), stage.add(102, 1)});
}

void read_across_wrap(Stage& stage) {
    stage.arrive(stage.read(0xFFFFFE, 1000));
}

void four_atomics_and_the_first_again(Stage& stage) {
    for (std::uint32_t psn = 100; psn < 104; ++psn)
        stage.arrive(stage.add(psn, 1));
    stage.arrive(stage.add(100, 1));
}

void full_write_at_largest_mtu(Stage& stage) {
    stage.arrive(stage.write(Position::Only, 100, 4096, 4096));
    stage.memory(0);
    stage.memory(4095);
}

void duplicate_first_inside_write(Stage& stage) {
    stage.arrive(stage.write(Position::First, 100, 256, 600));
    stage.arrive(stage.write(Position::First, 100, 256, 600));
    stage.arrive(stage.write(Position::Middle, 101, 256, 600));
    stage.arrive(stage.write(Position::Last, 102, 88, 600));
    stage.memory(0);
    stage.memory(256);
    stage.memory(512);
}

void full_last_of_longer_write(Stage& stage) {
    stage.arrive(stage.write(Position::First, 100, 256, 768));
    stage.arrive(stage.write(Position::Last, 101, 256, 768));
}

void only_above_mtu(Stage& stage) {
    stage.arrive(stage.packet(Operation::Send, Position::Only, 100, 260));
}

void empty_read_without_key(Stage& stage) {
    auto read = stage.read(100, 0);
    read.reth.rkey = wire::Rkey{0x12345678};
    stage.arrive(read);
}

void uc_send_without_middle(Stage& stage) {
    stage.arrive(stage.packet(Operation::Send, Position::First, 100, 256));
    stage.arrive(stage.packet(Operation::Send, Position::Last, 102, 4));
    stage.completions();
}

// --- what requesters do

void rnr_naks_without_end(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    for (int i = 0; i < 7; ++i) {
        stage.arrive(stage.answer(500, wire::Syndrome::rnr(1)));
        stage.wait();
    }
    stage.completions();
}

void no_answer(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    stage.wait();
    stage.completions();
}

void six_reads_without_answer(Stage& stage) {
    for (std::uint64_t id = 0; id < 6; ++id)
        stage.post(stage.request(id, WrOpcode::RdmaRead, 4));
    stage.wait();
}

void partly_answered_read_from(Stage& stage, std::uint64_t address) {
    auto request = stage.request(7, WrOpcode::RdmaRead, 700);
    request.remote_address = address;
    stage.post(request);
    stage.arrive(stage.packet(Operation::RdmaReadResponse, Position::First, 500, 256));
    stage.wait();
}
void partly_answered_read(Stage& stage) {
    partly_answered_read_from(stage, 0x5000);
}
void partly_answered_read_across_4_gib(Stage& stage) {
    partly_answered_read_from(stage, 0x1FFFFFF80);
}

void send_of_two_whole_packets(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 512));
}

void send_behind_empty_one(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 0));
    stage.post(stage.request(8, WrOpcode::Send, 4));
}

void two_immediates_without_answer(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::SendWithImm, 4));
    stage.post(stage.request(8, WrOpcode::SendWithImm, 4));
    stage.wait();
}

void two_timeouts(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    stage.post(stage.request(8, WrOpcode::Send, 4));
    stage.wait();
    stage.wait();
}

void send_of_three_pieces(Stage& stage) {
    const std::array<engine::Sge, 3> sges{
        {stage.piece(0, 4), stage.piece(256, 4), stage.piece(512, 4)}};
    auto request = stage.request(7, WrOpcode::Send, 0);
    request.sges = sges;
    stage.post(request);
}

void ack_of_last_psn(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    stage.arrive(stage.answer(0xFFFFFF));
    stage.completions();
}

void ack_of_twenty(Stage& stage) {
    for (std::uint64_t id = 0; id < 20; ++id)
        stage.post(stage.request(id, WrOpcode::Send, 4));
    stage.arrive(stage.answer(519));
    stage.completions();
}

void answer_to_second_atomic(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::AtomicFetchAndAdd, 8));
    stage.post(stage.request(8, WrOpcode::AtomicFetchAndAdd, 8));
    stage.arrive(stage.atomic_answer(501, 42));
    stage.completions();
}

void read_response_twice(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::RdmaRead, 4));
    const auto response = stage.packet(Operation::RdmaReadResponse, Position::Only, 500, 4);
    stage.arrive(response);
    stage.bytes().front() = std::byte{77};
    stage.arrive(response);
    stage.memory(0);
}

// --- what hosts see

void host_ends_qp_inside_send(Stage& stage) {
    stage.arrive(stage.packet(Operation::Send, Position::First, 100, 256));
    stage.modify({.state = QpState::Err});
    stage.completions();
}

void long_immediate_write(Stage& stage) {
    long_immediate_write_without_receive(stage);
    stage.completions();
}

void immediate_and_plain_send(Stage& stage) {
    stage.arrive(stage.packet(Operation::Send, Position::Only, 100, 4, true));
    stage.arrive(stage.send(101));
    stage.completions();
}

void too_long_send(Stage& stage) {
    stage.arrive(stage.packet(Operation::Send, Position::First, 100, 256));
    stage.arrive(stage.packet(Operation::Send, Position::Middle, 101, 256));
    stage.arrive(stage.packet(Operation::Send, Position::Last, 102, 4));
    stage.completions();
}

void receive_of_odd_pieces(Stage& stage) {
    const std::array<engine::Sge, 2> sges{{stage.piece(0, 6), stage.piece(256, 100)}};
    stage.receive(0, sges);
    stage.arrive(stage.packet(Operation::Send, Position::Only, 100, 8));
    for (const std::uint64_t offset : {3U, 4U, 5U, 256U, 257U, 258U})
        stage.memory(offset);
}

void solicited_immediate_write(Stage& stage) {
    auto request = stage.write(Position::Only, 100, 4, 4, true);
    request.bth.solicited = true;
    stage.arrive(request);
    stage.notification();
}

void signaled_behind_unsignaled(Stage& stage) {
    auto silent = stage.request(7, WrOpcode::Send, 4);
    silent.flags.signaled = false;
    stage.post(silent);
    stage.post(stage.request(8, WrOpcode::Send, 4));
    stage.arrive(stage.answer(501));
    stage.completions();
}

void work_posted_in_sqd(Stage& stage) {
    stage.modify({.state = QpState::Sqd});
    stage.post(stage.request(7, WrOpcode::Send, 4));
    stage.modify({.state = QpState::Err});
    stage.completions();
}

void limit_twice(Stage& stage) {
    stage.arrive(stage.send(100));
    stage.events();
    stage.share_receive(7);
    stage.arm_limit(4);
    stage.arrive(stage.send(101));
    stage.events();
}

void host_ends_qp(Stage& stage) {
    stage.modify({.state = QpState::Err});
    stage.events();
}

void atomic_through_write_window(Stage& stage) {
    auto request = stage.add(100, 1);
    request.atomic.rkey = stage.bind({.remote_write = true});
    stage.arrive(request);
}

void add_beyond_64_bits(Stage& stage) {
    std::ranges::fill(stage.bytes().first(8), std::byte{0xFF});
    stage.arrive(stage.add(100, 1));
    stage.memory(0);
    stage.memory(8);
}

void old_atomic_after_reset(Stage& stage) {
    stage.arrive(stage.add(100, 1));
    stage.connect_again(200, 600);
    stage.arrive(stage.add(100, 1));
    stage.arrive(stage.send(200));
}

// --- what ports do

void long_send(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 600));
}

void large_send(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 2048));
}

void marked_send(Stage& stage) {
    auto envelope = stage.to_device();
    envelope.ecn = 2;
    stage.arrive(stage.send(100), envelope);
}

void send_from_another_network(Stage& stage) {
    auto envelope = stage.to_device();
    envelope.source = wire::IpAddress::parse("fd78::2").value();
    stage.arrive(stage.send(100), envelope);
}

void last_of_another_partition(Stage& stage) {
    stage.arrive(stage.packet(Operation::Send, Position::First, 100, 256));
    auto last = stage.packet(Operation::Send, Position::Last, 101, 4);
    last.bth.pkey = wire::Pkey{0x9234};
    stage.arrive(last);
    stage.completions();
}

void datagram_with_controlled_key(Stage& stage) {
    auto datagram = stage.send(1);
    datagram.deth.qkey = wire::Qkey{Stage::qkey.value | 0x80000000};
    stage.arrive(datagram);
    stage.completions();
}

void send_of_five_bytes(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 5));
}

void damaged_in_upper_half(Stage& stage) {
    stage.arrive_spoiled(stage.send(100), 0x00010000, stage.to_device());
}

void marked_and_damaged(Stage& stage) {
    auto envelope = stage.to_device();
    envelope.ecn = wire::kCongestionExperienced;
    stage.arrive_spoiled(stage.send(100), 1, envelope);
}

std::vector<Difference> responder_differences() {
    return {
        {.name = "rnr_timer_change_in_rts_ignored",
         .act = change_rnr_timer,
         .right = "ACKNOWLEDGE 100, syndrome 34 msn 0",
         .wrong = "ACKNOWLEDGE 100, syndrome 21 msn 0",
         .scene = {.receives = 0}},
        {.name = "gap_behind_read_named_inside_it",
         .act = gap_behind_read,
         .right = "ACKNOWLEDGE 103, syndrome 60 msn 1",
         .wrong = "ACKNOWLEDGE 101, syndrome 60 msn 1"},
        {.name = "no_nak_while_read_is_answered",
         .act = gap_during_read,
         .right = "ACKNOWLEDGE 103, syndrome 60 msn 1",
         .wrong = ""},
        {.name = "rnr_nak_names_first_of_write",
         .act = long_immediate_write_without_receive,
         .right = "ACKNOWLEDGE 101, syndrome 21 msn 0",
         .wrong = "ACKNOWLEDGE 100, syndrome 21 msn 0",
         .scene = {.receives = 0}},
        {.name = "atomic_answer_overtakes_read",
         .act = read_and_atomic_together,
         .right = "RDMA_READ_RESPONSE_LAST 101, 44 bytes of 2, syndrome 1f msn 1",
         .wrong = "ATOMIC_ACKNOWLEDGE 102, found 72340172838076673, syndrome 1f msn 2"},
        {.name = "read_response_begins_anew_at_wrap",
         .act = read_across_wrap,
         .right = "RDMA_READ_RESPONSE_MIDDLE 16777215, 256 bytes of 2",
         .wrong = "RDMA_READ_RESPONSE_LAST 16777215, 256 bytes of 2, syndrome 1f msn 1",
         .scene = {.first_request = 0xFFFFFE}},
        {.name = "one_replay_too_few",
         .act = four_atomics_and_the_first_again,
         .right = "ATOMIC_ACKNOWLEDGE 100, found 72340172838076673, syndrome 1f msn 4",
         .wrong = ""},
        {.name = "packet_of_4096_not_written",
         .act = full_write_at_largest_mtu,
         .right = "at 0: 100",
         .wrong = "at 0: 1",
         .scene = {.mtu = wire::Mtu::B4096}},
        {.name = "duplicate_first_rewinds_write",
         .act = duplicate_first_inside_write,
         .right = "at 0: 100",
         .wrong = "at 0: 101"},
        {.name = "full_last_ends_write_early",
         .act = full_last_of_longer_write,
         .right = "ACKNOWLEDGE 101, syndrome 61 msn 0",
         .wrong = "ACKNOWLEDGE 101, syndrome 1f msn 1"},
        {.name = "only_of_512_at_mtu_256",
         .act = only_above_mtu,
         .right = "ACKNOWLEDGE 100, syndrome 61 msn 0",
         .wrong = "ACKNOWLEDGE 100, syndrome 1f msn 1"},
        {.name = "key_of_empty_read_checked",
         .act = empty_read_without_key,
         .right = "RDMA_READ_RESPONSE_ONLY 100, syndrome 1f msn 1",
         .wrong = "ACKNOWLEDGE 100, syndrome 62 msn 0"},
        {.name = "uc_gap_overlooked",
         .act = uc_send_without_middle,
         .right = "",
         .wrong = "recv 0 SUCCESS 260 bytes",
         .scene = {.type = QpType::Uc}},
    };
}

std::vector<Difference> requester_differences() {
    return {
        {.name = "rnr_retry_six_is_for_ever",
         .act = rnr_naks_without_end,
         .right = "idle",
         .wrong = "SEND_ONLY 500, 4 bytes of 1, asks",
         .scene = {.rnr_retry = 6}},
        {.name = "one_retry_with_retry_cnt_zero",
         .act = no_answer,
         .right = "send 7 RETRY_EXC_ERR",
         .wrong = "SEND_ONLY 500, 4 bytes of 1, asks",
         .scene = {.retry_count = 0, .receives = 0}},
        {.name = "one_read_more_after_retry",
         .act = six_reads_without_answer,
         .right = "",
         .wrong = "RDMA_READ_REQUEST 504, for 4 bytes at 0x5000, asks"},
        {.name = "read_retry_asks_for_whole_length",
         .act = partly_answered_read,
         .right = "RDMA_READ_REQUEST 501, for 444 bytes at 0x5100, asks",
         .wrong = "RDMA_READ_REQUEST 501, for 700 bytes at 0x5100, asks"},
        {.name = "read_retry_loses_address_carry",
         .act = partly_answered_read_across_4_gib,
         .right = "RDMA_READ_REQUEST 501, for 444 bytes at 0x200000080, asks",
         .wrong = "RDMA_READ_REQUEST 501, for 444 bytes at 0x100000080, asks"},
        {.name = "full_last_asks_for_no_ack",
         .act = send_of_two_whole_packets,
         .right = "SEND_LAST 501, 256 bytes of 2, asks",
         .wrong = "SEND_LAST 501, 256 bytes of 2"},
        {.name = "empty_send_takes_no_psn",
         .act = send_behind_empty_one,
         .right = "SEND_ONLY 501, 4 bytes of 1, asks",
         .wrong = "SEND_ONLY 500, 4 bytes of 1, asks"},
        {.name = "resent_immediate_is_newest",
         .act = two_immediates_without_answer,
         .right = "SEND_ONLY_WITH_IMM 500, 4 bytes of 1, immediate 7, asks",
         .wrong = "SEND_ONLY_WITH_IMM 500, 4 bytes of 1, immediate 8, asks"},
        {.name = "second_resend_skips_oldest",
         .act = two_timeouts,
         .right = "SEND_ONLY 500, 4 bytes of 1, asks",
         .wrong = "SEND_ONLY 501, 4 bytes of 1, asks"},
        {.name = "third_piece_repeats_second",
         .act = send_of_three_pieces,
         .right = "SEND_ONLY 500, 12 bytes of 3, asks",
         .wrong = "SEND_ONLY 500, 12 bytes of 2, asks"},
        {.name = "ack_of_last_psn_ignored",
         .act = ack_of_last_psn,
         .right = "send 7 SUCCESS",
         .wrong = "",
         .scene = {.first_sent = 0xFFFFFF}},
        {.name = "one_ack_completes_sixteen",
         .act = ack_of_twenty,
         .right = "send 16 SUCCESS",
         .wrong = ""},
        {.name = "atomic_answers_matched_by_order",
         .act = answer_to_second_atomic,
         .right = "FETCH_ADD 500, asks",
         .wrong = "send 7 SUCCESS"},
        {.name = "late_read_response_written",
         .act = read_response_twice,
         .right = "at 0: 77",
         .wrong = "at 0: 244"},
    };
}

std::vector<Difference> host_differences() {
    return {
        {.name = "held_receive_not_flushed",
         .act = host_ends_qp_inside_send,
         .right = "recv 0 WR_FLUSH_ERR",
         .wrong = "recv 1 WR_FLUSH_ERR"},
        {.name = "immediate_write_length_of_last",
         .act = long_immediate_write,
         .right = "recv 0 SUCCESS 300 bytes immediate 101",
         .wrong = "recv 0 SUCCESS 44 bytes immediate 101"},
        {.name = "immediate_told_once_more",
         .act = immediate_and_plain_send,
         .right = "recv 1 SUCCESS 4 bytes",
         .wrong = "recv 1 SUCCESS 4 bytes immediate 100"},
        {.name = "too_long_send_names_next_receive",
         .act = too_long_send,
         .right = "recv 0 LOC_LEN_ERR",
         .wrong = "recv 1 LOC_LEN_ERR"},
        {.name = "odd_receive_piece_cut_to_word",
         .act = receive_of_odd_pieces,
         .right = "at 4: 100",
         .wrong = "at 4: 1",
         .scene = {.receives = 0}},
        {.name = "immediate_write_never_solicited",
         .act = solicited_immediate_write,
         .right = "notified",
         .wrong = "not notified"},
        {.name = "completion_names_unsignaled",
         .act = signaled_behind_unsignaled,
         .right = "send 8 SUCCESS",
         .wrong = "send 7 SUCCESS"},
        {.name = "work_posted_in_sqd_not_flushed",
         .act = work_posted_in_sqd,
         .right = "send 7 WR_FLUSH_ERR",
         .wrong = "recv 0 WR_FLUSH_ERR"},
        {.name = "srq_limit_reached_only_once",
         .act = limit_twice,
         .right = "event SRQ_LIMIT_REACHED",
         .wrong = "",
         .scene = {.shared = true, .limit = 4}},
        {.name = "no_last_wqe_if_host_ends_qp",
         .act = host_ends_qp,
         .right = "event LAST_WQE_REACHED",
         .wrong = "",
         .scene = {.shared = true}},
        {.name = "write_window_takes_atomics",
         .act = atomic_through_write_window,
         .right = "ACKNOWLEDGE 100, syndrome 62 msn 0",
         .wrong = "ATOMIC_ACKNOWLEDGE 100, found 72340172838076673, syndrome 1f msn 1"},
        {.name = "fetch_add_carries_into_neighbour",
         .act = add_beyond_64_bits,
         .right = "at 8: 1",
         .wrong = "at 8: 2"},
        {.name = "atomic_replays_survive_reset",
         .act = old_atomic_after_reset,
         .right = "ACKNOWLEDGE 200, syndrome 21 msn 0",
         .wrong = "ATOMIC_ACKNOWLEDGE 100, found 72340172838076673, syndrome 1f msn 1"},
    };
}

std::vector<Difference> port_differences() {
    return {
        {.name = "v6_class_cut_to_precedence",
         .act = plain_send,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1, DSCP 46",
         .wrong = "ACKNOWLEDGE 100, syndrome 1f msn 1, DSCP 40",
         .scene = {.v6 = true, .traffic_class = 46 << 2}},
        {.name = "source_port_follows_psn",
         .act = long_send,
         .right = "SEND_MIDDLE 501, 256 bytes of 2",
         .wrong = "SEND_MIDDLE 501, 256 bytes of 2, from another port"},
        {.name = "large_packets_may_be_fragmented",
         .act = large_send,
         .right = "SEND_ONLY 500, 2048 bytes of 8, asks",
         .wrong = "SEND_ONLY 500, 2048 bytes of 8, asks, without DF",
         .scene = {.mtu = wire::Mtu::B2048}},
        {.name = "answers_reflect_ecn",
         .act = marked_send,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .wrong = "ACKNOWLEDGE 100, syndrome 1f msn 1, ECN 2"},
        {.name = "v6_source_compared_in_low_half",
         .act = send_from_another_network,
         .right = "",
         .wrong = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .scene = {.v6 = true}},
        {.name = "pkey_of_later_packets_not_checked",
         .act = last_of_another_partition,
         .right = "",
         .wrong = "ACKNOWLEDGE 101, syndrome 1f msn 1"},
        {.name = "qkey_compared_without_high_bit",
         .act = datagram_with_controlled_key,
         .right = "",
         .wrong = "recv 0 SUCCESS 44 bytes",
         .scene = {.type = QpType::Ud}},
        {.name = "icrc_wrong_with_three_pad_bytes",
         .act = send_of_five_bytes,
         .right = "SEND_ONLY 500, 5 bytes of 1, asks",
         .wrong = "SEND_ONLY 500, 5 bytes of 1, asks, damaged"},
        {.name = "icrc_compared_in_low_half",
         .act = damaged_in_upper_half,
         .right = "",
         .wrong = "ACKNOWLEDGE 100, syndrome 1f msn 1"},
        {.name = "cnp_for_spoiled_packet",
         .act = marked_and_damaged,
         .right = "",
         .wrong = "CNP 0, 16 bytes of 0, DSCP 48"},
    };
}

} // namespace

TEST_CASE("blind: each defect of the third sample differs from the right device", "[mutants]") {
    check_differences(
        {responder_differences, requester_differences, host_differences, port_differences},
        blind(3));
}

} // namespace veriroce::mutants::test::of_blind3
