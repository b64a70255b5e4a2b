// The fifth blind sample: under some lawful use each defect does something that the right device
// does not.
#include <catch2/catch.hpp>

#include "tests/conformance/mutants/difference.hpp"

namespace veriroce::mutants::test::of_blind5 {

namespace {

using engine::QpState;
using engine::QpType;
using engine::WrOpcode;
using wire::Operation;
using wire::Position;

constexpr auto kSequenceNak = wire::Syndrome::nak(wire::NakCode::PsnSequence);
constexpr wire::Rkey kNoKey{0x12345678};

// --- what responders do

void duplicate_write_in_rnr_wait(Stage& stage) {
    const auto write = stage.write(Position::Only, 100, 8, 8);
    stage.arrive(write);
    stage.arrive(stage.send(101));
    stage.bytes()[0] = std::byte{77};
    stage.arrive(write);
    stage.memory(0);
}

void duplicate_read_from_before_wrap(Stage& stage) {
    stage.arrive(stage.read(0xFFFFFE, 4));
    stage.arrive(stage.send(0xFFFFFF));
    stage.arrive(stage.send(0));
    stage.arrive(stage.read(0xFFFFFE, 4));
}

void duplicate_send_of_two_qps(Stage& stage) {
    stage.arrive(stage.send(100));
    stage.turn_to(1);
    for (std::uint32_t psn = 100; psn < 103; ++psn)
        stage.arrive(stage.write(Position::Only, psn, 4, 4));
    stage.turn_to(0);
    stage.arrive(stage.send(100));
}

void read_and_its_tail(Stage& stage) {
    stage.arrive(stage.read(100, 700));
    auto tail = stage.read(101, 444);
    tail.reth.virtual_address += 256;
    stage.arrive(tail);
}
void read_its_tail_and_all_again(Stage& stage) {
    read_and_its_tail(stage);
    stage.arrive(stage.read(100, 700));
}

void no_receives_on_two_qps(Stage& stage) {
    stage.arrive(stage.send(100));
    stage.turn_to(1);
    stage.modify({.min_rnr_timer = 20});
    stage.arrive(stage.send(100));
}

void gap_after_rnr_time(Stage& stage) {
    stage.arrive(stage.send(100));
    stage.pass(wire::rnr_time(1) * 2);
    stage.arrive(stage.send(102));
}

void messages_of_two_qps(Stage& stage) {
    stage.arrive(stage.send(100));
    stage.turn_to(1);
    for (std::uint32_t psn = 100; psn < 102; ++psn)
        stage.arrive(stage.write(Position::Only, psn, 4, 4));
    stage.turn_to(0);
    stage.arrive(stage.send(101));
}

void write_whose_middle_asks(Stage& stage) {
    stage.arrive(stage.write(Position::First, 100, 256, 700));
    stage.arrive(stage.write(Position::Middle, 101, 256, 700));
}

void gap_inside_send(Stage& stage) {
    stage.arrive(stage.packet(Operation::Send, Position::First, 100, 256));
    stage.arrive(stage.packet(Operation::Send, Position::Middle, 101, 256));
    stage.arrive(stage.packet(Operation::Send, Position::Last, 103, 4));
}

void gap_that_asks_not(Stage& stage) {
    auto send = stage.send(101);
    send.bth.ack_request = false;
    stage.arrive(send);
}

void gap_cnp_and_gap(Stage& stage) {
    stage.arrive(stage.send(101));
    stage.arrive(cnp_of(stage));
    stage.arrive(stage.send(102));
}

void duplicate_after_fatal_nak(Stage& stage) {
    plain_send(stage);
    auto read = stage.read(101, 4);
    read.reth.rkey = kNoKey;
    stage.arrive(read);
    plain_send(stage);
}

void read_across_4_gib(Stage& stage) {
    constexpr std::uint64_t begin = 0xFFFFFF00;
    auto read = stage.read(100, 512);
    read.reth.rkey = stage.register_at(begin, 0, 512, {.remote_read = true});
    read.reth.virtual_address = begin;
    stage.arrive(read);
}

void empty_read_after_another(Stage& stage) {
    stage.arrive(stage.read(100, 4));
    stage.arrive(stage.read(101, 0));
}

void plain_read(Stage& stage) {
    stage.arrive(stage.read(100, 4));
}

void add_read_and_add_again(Stage& stage, std::uint32_t bytes) {
    stage.arrive(stage.add(100, 1));
    stage.arrive(stage.read(101, bytes));
    stage.arrive(stage.add(100, 1));
}
void add_behind_which_a_read_came(Stage& stage) {
    add_read_and_add_again(stage, 4);
}
void add_behind_which_a_long_read_came(Stage& stage) {
    add_read_and_add_again(stage, 1100);
}

void adds_of_two_qps(Stage& stage) {
    stage.arrive(stage.add(100, 1));
    stage.turn_to(1);
    stage.arrive(stage.add(100, 1, 256));
    stage.turn_to(0);
    stage.arrive(stage.add(100, 1));
}

void add_of_zero_twice(Stage& stage) {
    stage.arrive(stage.add(100, 0));
    stage.bytes()[0] = std::byte{77};
    stage.arrive(stage.add(100, 0));
}

void add_ahead(Stage& stage) {
    stage.arrive(stage.add(101, 1, 1024));
    stage.memory(1024);
}

void misaligned_atomic_write(Stage& stage) {
    auto write = stage.packet(Operation::AtomicWrite, Position::Only, 100, 8);
    write.reth = {.virtual_address = Stage::base + 4, .rkey = stage.key(), .dma_length = 8};
    stage.arrive(write);
}

void add_to_qp_for_writes(Stage& stage) {
    stage.modify({.access = engine::Access{.remote_write = true}});
    stage.arrive(stage.add(100, 1));
}

void write_4_gib_too_high(Stage& stage) {
    auto write = stage.write(Position::Only, 100, 4, 4);
    write.reth.virtual_address += std::uint64_t{1} << 32;
    stage.arrive(write);
}

void immediate_write_to_empty_receive(Stage& stage) {
    stage.receive(0, {});
    stage.arrive(stage.write(Position::Only, 100, 4, 4, true));
}

// --- what requesters do

void two_sends(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    stage.post(stage.request(8, WrOpcode::Send, 4));
}

void rnr_nak_of_second_resend(Stage& stage) {
    two_sends(stage);
    stage.wait();
    stage.arrive(stage.answer(501, wire::Syndrome::rnr(1)));
    stage.completions();
}

void nak_of_second_resend(Stage& stage) {
    two_sends(stage);
    stage.wait();
    stage.arrive(stage.answer(501, kSequenceNak));
}

void ack_of_first_resend(Stage& stage) {
    two_sends(stage);
    stage.wait();
    stage.arrive(stage.answer(500));
    stage.completions();
}

void atomic_answered_late(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::AtomicFetchAndAdd, 8));
    stage.wait();
    stage.arrive(stage.atomic_answer(500, 1));
    stage.memory(0);
}

void two_writes_without_answer(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::RdmaWrite, 4));
    auto second = stage.request(8, WrOpcode::RdmaWrite, 4);
    second.remote_address = 0x6000;
    stage.post(second);
    stage.wait();
}

void two_sends_without_answer(Stage& stage) {
    two_sends(stage);
    stage.wait();
}

void read_restarts_behind_wrap(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::RdmaRead, 700));
    stage.arrive(stage.packet(Operation::RdmaReadResponse, Position::First, 0xFFFFFF, 256));
    stage.wait();
}

void odd_send_without_answer(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 5));
    stage.wait();
}

void fenced_read_behind_read(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::RdmaRead, 4));
    auto fenced = stage.request(8, WrOpcode::RdmaRead, 4);
    fenced.flags.fence = true;
    stage.post(fenced);
}

void request_in_rnr_wait(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    stage.arrive(stage.answer(500, wire::Syndrome::rnr(20)));
    plain_send(stage);
}

void cnp_behind_send(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    stage.arrive(cnp_of(stage));
}

void one_rnr_nak_for_each_of_two_qps(Stage& stage) {
    for (const std::size_t qp : {0U, 1U}) {
        stage.turn_to(qp);
        stage.post(stage.request(qp, WrOpcode::Send, 4));
        stage.arrive(stage.answer(500, wire::Syndrome::rnr(1)));
    }
    stage.completions();
}

// --- what hosts see

void sqd_and_back(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    stage.arrive(stage.answer(500));
    stage.modify({.state = QpState::Sqd});
    stage.modify({.state = QpState::Rts});
    stage.post(stage.request(8, WrOpcode::Send, 4));
}

void class_changes_in_sqd(Stage& stage) {
    const wire::Envelope way = stage.to_device();
    stage.modify({.state = QpState::Sqd});
    stage.modify({.address = engine::AddressVector{
                      .source = way.destination, .destination = way.source, .traffic_class = 32}});
    plain_send(stage);
}

void read_response_acks_write(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::RdmaWrite, 4));
    stage.post(stage.request(8, WrOpcode::RdmaRead, 4));
    stage.arrive(stage.packet(Operation::RdmaReadResponse, Position::Only, 501, 4));
    stage.completions();
}

void unsignaled_behind_refused(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    auto silent = stage.request(8, WrOpcode::Send, 4);
    silent.flags.signaled = false;
    stage.post(silent);
    stage.arrive(stage.answer(500, wire::Syndrome::nak(wire::NakCode::RemoteAccess)));
    stage.completions();
}

void immediate_write_after_rnr(Stage& stage) {
    stage.arrive(stage.write(Position::First, 100, 256, 300));
    const auto last = stage.write(Position::Last, 101, 44, 300, true);
    stage.arrive(last);
    post_receive(stage);
    stage.arrive(last);
    stage.completions();
}

void solicited_send_closes_gap(Stage& stage) {
    stage.arrive(stage.send(101));
    auto send = stage.send(100);
    send.bth.solicited = true;
    stage.arrive(send);
    stage.notification();
}

void established_twice(Stage& stage) {
    for (int i = 0; i < 2; ++i) {
        stage.arrive(stage.write(Position::Only, 100, 4, 4));
        stage.events();
        stage.connect_again(100, 500);
    }
}

// --- what ports do

void two_qps_of_two_classes(Stage& stage) {
    stage.next_class(32);
    stage.turn_to(1);
    stage.turn_to(0);
    plain_send(stage);
}

void send_in_vlan(Stage& stage) {
    auto envelope = stage.to_device();
    envelope.vlan = wire::VlanId{.id = 5};
    stage.arrive(stage.send(100), envelope);
}

void read_response_from_elsewhere(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::RdmaRead, 4));
    auto envelope = stage.to_device();
    envelope.source = wire::IpAddress::from_v4(0x0A4D0003);
    stage.arrive(stage.packet(Operation::RdmaReadResponse, Position::Only, 500, 4), envelope);
    stage.completions();
}

void send_to_another_qp(Stage& stage) {
    auto send = stage.send(100);
    send.bth.dest_qp.value ^= 0x10000;
    stage.arrive(send);
}

void arrive_marked(Stage& stage, const wire::Packet& packet) {
    auto envelope = stage.to_device();
    envelope.ecn = wire::kCongestionExperienced;
    stage.arrive(packet, envelope);
}
void marked_request(Stage& stage) {
    arrive_marked(stage, stage.packet(Operation::Send, Position::Only, 100, 16));
}
void marked_ack(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    arrive_marked(stage, stage.answer(500));
}

void uc_gap(Stage& stage) {
    stage.arrive(stage.send(102));
}

void datagram_over_ipv4(Stage& stage) {
    stage.arrive(stage.packet(Operation::Send, Position::Only, 1, 4));
    stage.completions();
    stage.memory(8192);
}

void datagrams_of_500_and_4_bytes(Stage& stage) {
    stage.arrive(stage.packet(Operation::Send, Position::Only, 1, 500));
    stage.arrive(stage.packet(Operation::Send, Position::Only, 2, 4));
    stage.completions();
}

void datagrams_of_two_classes(Stage& stage) {
    const wire::Envelope way = stage.to_device();
    for (const std::uint8_t traffic_class : std::array<std::uint8_t, 2>{0, 32}) {
        auto request = stage.request(7, WrOpcode::Send, 4);
        request.ud = {.path = {.source = way.destination,
                               .destination = way.source,
                               .traffic_class = traffic_class},
                      .qpn = wire::Qpn{0x200},
                      .qkey = Stage::qkey};
        stage.post(request);
    }
}

std::vector<Difference> responder_differences() {
    const Scene none{.receives = 0};
    const Scene wraps{.first_request = 0xFFFFFE};
    return {
        {.name = "duplicate_write_written_again_in_rnr_wait",
         .act = duplicate_write_in_rnr_wait,
         .right = "at 0: 77",
         .wrong = "at 0: 100",
         .scene = none},
        {.name = "duplicate_read_from_before_wrap_forgotten",
         .act = duplicate_read_from_before_wrap,
         .right = "RDMA_READ_RESPONSE_ONLY 16777214, 4 bytes of 1, syndrome 1f msn 3",
         .wrong = "",
         .scene = wraps},
        {.name = "duplicate_ack_names_psn_of_other_qp",
         .act = duplicate_send_of_two_qps,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .wrong = "ACKNOWLEDGE 102, syndrome 1f msn 1"},
        {.name = "read_tail_of_odd_length_dropped",
         .act = read_and_its_tail,
         .right = "RDMA_READ_RESPONSE_FIRST 101, 256 bytes of 2, syndrome 1f msn 1",
         .wrong = ""},
        {.name = "whole_read_again_after_tail_answers_tail",
         .act = read_its_tail_and_all_again,
         .right = "RDMA_READ_RESPONSE_FIRST 100, 256 bytes of 1, syndrome 1f msn 1",
         .wrong = "RDMA_READ_RESPONSE_MIDDLE 101, 256 bytes of 2"},
        {.name = "rnr_timer_of_first_qp",
         .act = no_receives_on_two_qps,
         .right = "ACKNOWLEDGE 100, syndrome 34 msn 0, to QP 0x201, from another port",
         .wrong = "ACKNOWLEDGE 100, syndrome 21 msn 0, to QP 0x201, from another port",
         .scene = none},
        {.name = "rnr_wait_over_gap_draws_nak",
         .act = gap_after_rnr_time,
         .right = "",
         .wrong = "ACKNOWLEDGE 100, syndrome 60 msn 0",
         .scene = none},
        {.name = "msn_of_all_qps",
         .act = messages_of_two_qps,
         .right = "ACKNOWLEDGE 101, syndrome 1f msn 2",
         .wrong = "ACKNOWLEDGE 101, syndrome 1f msn 3"},
        {.name = "ack_inside_write_names_its_last",
         .act = write_whose_middle_asks,
         .right = "ACKNOWLEDGE 101, syndrome 1f msn 0",
         .wrong = "ACKNOWLEDGE 102, syndrome 1f msn 0"},
        {.name = "gap_in_message_named_by_its_first",
         .act = gap_inside_send,
         .right = "ACKNOWLEDGE 102, syndrome 60 msn 0",
         .wrong = "ACKNOWLEDGE 100, syndrome 60 msn 0"},
        {.name = "gap_unasked_draws_no_nak",
         .act = gap_that_asks_not,
         .right = "ACKNOWLEDGE 100, syndrome 60 msn 0",
         .wrong = ""},
        {.name = "cnp_rearms_sequence_nak",
         .act = gap_cnp_and_gap,
         .right = "",
         .wrong = "ACKNOWLEDGE 100, syndrome 60 msn 0"},
        {.name = "ended_qp_acks_duplicates",
         .act = duplicate_after_fatal_nak,
         .right = "",
         .wrong = "ACKNOWLEDGE 100, syndrome 1f msn 1"},
        {.name = "read_beyond_4_gib_returns_start",
         .act = read_across_4_gib,
         .right = "RDMA_READ_RESPONSE_LAST 101, 256 bytes of 2, syndrome 1f msn 1",
         .wrong = "RDMA_READ_RESPONSE_LAST 101, 256 bytes of 1, syndrome 1f msn 1"},
        {.name = "empty_read_returns_word_of_before",
         .act = empty_read_after_another,
         .right = "RDMA_READ_RESPONSE_ONLY 101, syndrome 1f msn 2",
         .wrong = "RDMA_READ_RESPONSE_ONLY 101, 4 bytes of 1, syndrome 1f msn 2"},
        {.name = "read_responses_tell_zero_credits",
         .act = plain_read,
         .right = "RDMA_READ_RESPONSE_ONLY 100, 4 bytes of 1, syndrome 1f msn 1",
         .wrong = "RDMA_READ_RESPONSE_ONLY 100, 4 bytes of 1, syndrome 00 msn 1",
         .scene = {.shared = true}},
        {.name = "read_clobbers_saved_atomic",
         .act = add_behind_which_a_read_came,
         .right = "ATOMIC_ACKNOWLEDGE 100, found 72340172838076673, syndrome 1f msn 2",
         .wrong = "ATOMIC_ACKNOWLEDGE 100, found 65536, syndrome 1f msn 2"},
        {.name = "replays_shared_by_qps",
         .act = adds_of_two_qps,
         .right = "ATOMIC_ACKNOWLEDGE 100, found 72340172838076673, syndrome 1f msn 1",
         .wrong = "ATOMIC_ACKNOWLEDGE 100, found 144680345676153346, syndrome 1f msn 1"},
        {.name = "duplicate_add_of_zero_reads_again",
         .act = add_of_zero_twice,
         .right = "ATOMIC_ACKNOWLEDGE 100, found 72340172838076673, syndrome 1f msn 1",
         .wrong = "ATOMIC_ACKNOWLEDGE 100, found 72340172838076749, syndrome 1f msn 1"},
        {.name = "add_ahead_of_gap_executed",
         .act = add_ahead,
         .right = "at 1024: 5",
         .wrong = "at 1024: 6"},
        {.name = "long_read_pushes_out_replays",
         .act = add_behind_which_a_long_read_came,
         .right = "ATOMIC_ACKNOWLEDGE 100, found 72340172838076673, syndrome 1f msn 2",
         .wrong = ""},
        {.name = "atomic_write_at_any_address",
         .act = misaligned_atomic_write,
         .right = "ACKNOWLEDGE 100, syndrome 61 msn 0",
         .wrong = "RDMA_READ_RESPONSE_ONLY 100, syndrome 1f msn 1"},
        {.name = "qp_right_of_atomics_is_that_of_writes",
         .act = add_to_qp_for_writes,
         .right = "ACKNOWLEDGE 100, syndrome 61 msn 0",
         .wrong = "ATOMIC_ACKNOWLEDGE 100, found 72340172838076673, syndrome 1f msn 1"},
        {.name = "upper_address_word_ignored",
         .act = write_4_gib_too_high,
         .right = "ACKNOWLEDGE 100, syndrome 62 msn 0",
         .wrong = "ACKNOWLEDGE 100, syndrome 1f msn 1"},
        {.name = "immediate_write_must_fit_receive",
         .act = immediate_write_to_empty_receive,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .wrong = "ACKNOWLEDGE 100, syndrome 61 msn 0",
         .scene = none},
    };
}

std::vector<Difference> requester_differences() {
    const Scene wraps{.first_sent = 0xFFFFFF};
    return {
        {.name = "rnr_nak_after_resend_acks_nothing",
         .act = rnr_nak_of_second_resend,
         .right = "send 7 SUCCESS",
         .wrong = ""},
        {.name = "nak_after_timeout_ignored",
         .act = nak_of_second_resend,
         .right = "SEND_ONLY 501, 4 bytes of 1, asks",
         .wrong = ""},
        {.name = "ack_after_resend_completes_one_more",
         .act = ack_of_first_resend,
         .right = "",
         .wrong = "send 8 SUCCESS"},
        {.name = "result_of_resent_atomic_swapped",
         .act = atomic_answered_late,
         .right = "at 0: 1",
         .wrong = "at 0: 0"},
        {.name = "resent_write_goes_to_newest_address",
         .act = two_writes_without_answer,
         .right = "RDMA_WRITE_ONLY 500, 4 bytes of 1, for 4 bytes at 0x5000, asks",
         .wrong = "RDMA_WRITE_ONLY 500, 4 bytes of 1, for 4 bytes at 0x6000, asks"},
        {.name = "resend_skips_what_is_before_wrap",
         .act = two_sends_without_answer,
         .right = "SEND_ONLY 16777215, 4 bytes of 1, asks",
         .wrong = "SEND_ONLY 0, 4 bytes of 1, asks",
         .scene = wraps},
        {.name = "read_restart_behind_wrap_keeps_address",
         .act = read_restarts_behind_wrap,
         .right = "RDMA_READ_REQUEST 0, for 444 bytes at 0x5100, asks",
         .wrong = "RDMA_READ_REQUEST 0, for 444 bytes at 0x5000, asks",
         .scene = wraps},
        {.name = "resent_odd_packet_has_no_pad_count",
         .act = odd_send_without_answer,
         .right = "SEND_ONLY 500, 5 bytes of 1, asks",
         .wrong = "SEND_ONLY 500, 8 bytes of 0, asks"},
        {.name = "resent_packets_marked_in_reserved_bits",
         .act = two_sends_without_answer,
         .right = "SEND_ONLY 500, 4 bytes of 1, asks",
         .wrong = "SEND_ONLY 500, 4 bytes of 1, asks, reserved bits"},
        {.name = "fenced_read_does_not_wait",
         .act = fenced_read_behind_read,
         .right = "",
         .wrong = "RDMA_READ_REQUEST 501, for 4 bytes at 0x5000, asks"},
        {.name = "rnr_wait_ends_with_next_request",
         .act = request_in_rnr_wait,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .wrong = "SEND_ONLY 500, 4 bytes of 1, asks"},
        {.name = "cnp_makes_requester_resend",
         .act = cnp_behind_send,
         .right = "",
         .wrong = "SEND_ONLY 500, 4 bytes of 1, asks"},
        {.name = "rnr_retries_counted_for_all_qps",
         .act = one_rnr_nak_for_each_of_two_qps,
         .right = "",
         .wrong = "send 1 RNR_RETRY_EXC_ERR",
         .scene = {.rnr_retry = 1}},
        {.name = "sqd_resumes_at_first_psn",
         .act = sqd_and_back,
         .right = "SEND_ONLY 501, 4 bytes of 1, asks",
         .wrong = "SEND_ONLY 500, 4 bytes of 1, asks"},
        {.name = "class_change_in_sqd_not_in_answers",
         .act = class_changes_in_sqd,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1, DSCP 8",
         .wrong = "ACKNOWLEDGE 100, syndrome 1f msn 1"},
        {.name = "read_completes_before_write_it_acks",
         .act = read_response_acks_write,
         .right = "send 7 SUCCESS",
         .wrong = "send 8 SUCCESS"},
        {.name = "unsignaled_work_not_flushed",
         .act = unsignaled_behind_refused,
         .right = "send 8 WR_FLUSH_ERR",
         .wrong = "",
         .scene = {.receives = 0}},
        {.name = "immediate_write_length_after_rnr",
         .act = immediate_write_after_rnr,
         .right = "recv 0 SUCCESS 300 bytes immediate 101",
         .wrong = "recv 0 SUCCESS 44 bytes immediate 101",
         .scene = {.receives = 0}},
        {.name = "solicited_lost_after_gap",
         .act = solicited_send_closes_gap,
         .right = "notified",
         .wrong = "not notified"},
        {.name = "second_connection_not_told",
         .act = established_twice,
         .right = "event COMM_EST",
         .wrong = "",
         .scene = {.sends = false}},
    };
}

std::vector<Difference> port_differences() {
    const Scene datagrams{.type = QpType::Ud};
    return {
        {.name = "class_of_newest_qp_for_all",
         .act = two_qps_of_two_classes,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .wrong = "ACKNOWLEDGE 100, syndrome 1f msn 1, DSCP 8"},
        {.name = "icrc_of_tagged_frames_wrong",
         .act = send_in_vlan,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1, VLAN 5",
         .wrong = "ACKNOWLEDGE 100, syndrome 1f msn 1, VLAN 5, damaged",
         .scene = {.vlan = 5}},
        {.name = "source_of_read_responses_not_checked",
         .act = read_response_from_elsewhere,
         .right = "",
         .wrong = "send 7 SUCCESS"},
        {.name = "qpn_compared_in_sixteen_bits",
         .act = send_to_another_qp,
         .right = "",
         .wrong = "ACKNOWLEDGE 100, syndrome 1f msn 1"},
        {.name = "cnp_takes_place_of_ack",
         .act = marked_request,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .wrong = ""},
        {.name = "cnp_for_response_names_own_qp",
         .act = marked_ack,
         .right = "CNP 0, 16 bytes of 0, DSCP 48",
         .wrong = "CNP 0, 16 bytes of 0, to QP 0x11, DSCP 48"},
        {.name = "cnp_carries_marked_payload",
         .act = marked_request,
         .right = "CNP 0, 16 bytes of 0, DSCP 48",
         .wrong = "CNP 0, 16 bytes of 100, DSCP 48"},
        {.name = "uc_gap_draws_nak",
         .act = uc_gap,
         .right = "",
         .wrong = "ACKNOWLEDGE 100, syndrome 60 msn 0",
         .scene = {.type = QpType::Uc}},
        {.name = "ipv4_header_at_start_of_grh",
         .act = datagram_over_ipv4,
         .right = "at 8192: 0",
         .wrong = "at 8192: 69",
         .scene = datagrams},
        {.name = "too_long_datagram_ends_qp",
         .act = datagrams_of_500_and_4_bytes,
         .right = "recv 0 SUCCESS 44 bytes",
         .wrong = "",
         .scene = datagrams},
        {.name = "datagrams_keep_class_of_first",
         .act = datagrams_of_two_classes,
         .right = "SEND_ONLY 501, 4 bytes of 1, Q_Key 0x11111111, DSCP 8",
         .wrong = "SEND_ONLY 501, 4 bytes of 1, Q_Key 0x11111111",
         .scene = datagrams},
    };
}

} // namespace

TEST_CASE("blind: each defect of the fifth sample differs from the right device", "[mutants]") {
    check_differences({responder_differences, requester_differences, port_differences}, blind(5));
}

} // namespace veriroce::mutants::test::of_blind5
