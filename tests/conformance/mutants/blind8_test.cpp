// The eighth blind sample: under some lawful use each defect does something that the right device
// does not.
#include <catch2/catch.hpp>

#include "dissector/wire/management.hpp"
#include "tests/conformance/mutants/difference.hpp"

namespace veriroce::mutants::test::of_blind8 {

namespace {

using engine::QpState;
using engine::QpType;
using engine::WrOpcode;
using wire::Operation;
using wire::Position;

// --- what responders do

void read_again_in_rnr_wait(Stage& stage) {
    stage.arrive(stage.read(100, 4));
    stage.arrive(stage.send(101));
    stage.arrive(stage.read(100, 4));
}

void send_again_without_receive(Stage& stage) {
    stage.arrive(stage.send(100));
    stage.arrive(stage.send(100));
}

void send_after_rnr_nak(Stage& stage) {
    stage.arrive(stage.send(100));
    stage.pass(std::chrono::seconds(1));
    post_receive(stage);
    stage.arrive(stage.send(100));
}

void long_write_after_rnr_nak(Stage& stage) {
    stage.arrive(stage.write(Position::First, 100, 256, 260));
    const auto last = stage.write(Position::Last, 101, 4, 260, true);
    stage.arrive(last);
    stage.pass(std::chrono::seconds(1));
    post_receive(stage);
    stage.arrive(last);
    stage.memory(256);
    stage.memory(260);
}

void send_in_sqd(Stage& stage) {
    stage.modify({.state = QpState::Sqd});
    stage.arrive(stage.send(100));
}

void gap_inside_a_write(Stage& stage) {
    stage.arrive(stage.write(Position::First, 100, 256, 772));
    stage.arrive(stage.write(Position::Middle, 102, 256, 772));
    stage.arrive(stage.write(Position::Middle, 101, 256, 772));
    stage.arrive(stage.write(Position::Middle, 102, 256, 772));
    stage.arrive(stage.write(Position::Last, 103, 4, 772));
}

void gap_while_another_goes_on(Stage& stage) {
    stage.turn_to(1);
    stage.turn_to(0);
    stage.arrive(stage.send(101));
    stage.turn_to(1);
    stage.arrive(stage.write(Position::Only, 100, 4, 4));
    stage.turn_to(0);
    stage.arrive(stage.send(102));
}

void gap(Stage& stage) {
    stage.arrive(stage.send(101));
}

void five_gaps(Stage& stage) {
    for (std::uint32_t psn = 100; psn < 110; psn += 2) {
        stage.arrive(stage.write(Position::Only, psn + 1, 4, 4));
        stage.arrive(stage.write(Position::Only, psn, 4, 4));
        stage.arrive(stage.write(Position::Only, psn + 1, 4, 4));
    }
}

void send_last_inside_a_write(Stage& stage) {
    stage.arrive(stage.write(Position::First, 100, 256, 260));
    stage.arrive(stage.packet(Operation::Send, Position::Last, 101, 4));
}

void send_before_and_after_reset(Stage& stage) {
    plain_send(stage);
    stage.connect_again(100, 500);
    stage.arrive(stage.write(Position::Only, 100, 4, 4));
}

void read_of_300_packets(Stage& stage) {
    stage.arrive(stage.read(100, 300 * 256));
    stage.arrive(stage.write(Position::Only, 400, 4, 4));
}

void empty_write(Stage& stage) {
    stage.arrive(stage.write(Position::Only, 100, 0, 0));
}

wire::Packet swap_of(Stage& stage, std::uint64_t compare) {
    auto swap = stage.packet(Operation::CompareSwap, Position::Only, 100, 0);
    swap.atomic = {
        .virtual_address = Stage::base, .rkey = stage.key(), .swap_or_add = 77, .compare = compare};
    return swap;
}

void write_after_the_end(Stage& stage) {
    stage.destroy();
    stage.arrive(stage.write(Position::Only, 100, 4, 4));
}

void failed_swap_again(Stage& stage) {
    stage.arrive(swap_of(stage, 5));
    stage.arrive(swap_of(stage, 5));
}

void add_that_does_not_ask(Stage& stage) {
    auto add = stage.add(100, 1);
    add.bth.ack_request = false;
    stage.arrive(add);
}

void flush_of_eight_bytes(Stage& stage) {
    stage.arrive(flush_of_eight(stage));
}

void atomic_write_of_eight_bytes(Stage& stage) {
    auto write = stage.packet(Operation::AtomicWrite, Position::Only, 100, 8);
    write.reth = {.virtual_address = Stage::base, .rkey = stage.key(), .dma_length = 8};
    std::array<std::byte, 8> bytes{std::byte{1}};
    write.body = bytes;
    stage.arrive(write);
    stage.memory(0);
}

void revoke_a_window_of_another_qp(Stage& stage) {
    const auto window = stage.window();
    stage.turn_to(1);
    stage.post(stage.bind_request(1, window.mw, window.rkey, 0));
    stage.turn_to(0);
    stage.arrive(revoking(stage, kSendOnlyWithInvalidate, 100, window.rkey));
}

void receive_with_a_wrong_key(Stage& stage) {
    auto piece = stage.piece(8192, 512);
    piece.lkey = {0x77};
    const std::array<engine::Sge, 1> sges{{piece}};
    stage.receive(0, sges);
    plain_send(stage);
}

// --- what requesters do

void rnr_nak_in_sqd(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    stage.modify({.state = QpState::Sqd});
    stage.arrive(stage.answer(500, wire::Syndrome::rnr(20)));
}

void fatal_nak_in_sqd(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    stage.modify({.state = QpState::Sqd});
    stage.arrive(stage.answer(500, wire::Syndrome::nak(wire::NakCode::RemoteAccess)));
    stage.completions();
}

void retries_in_sqd(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    stage.modify({.state = QpState::Sqd});
    for (int i = 0; i < 3; ++i)
        stage.wait();
}

void fenced_send_behind_a_lost_read(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::RdmaRead, 4));
    auto request = stage.request(8, WrOpcode::Send, 4);
    request.flags.fence = true;
    stage.post(request);
    stage.wait();
}

engine::SendRequest flush_request(Stage& stage, std::uint64_t id) {
    auto request = stage.request(id, WrOpcode::Flush, 0);
    request.sges = {};
    request.flush_length = 64;
    return request;
}

void five_flushes(Stage& stage) {
    for (std::uint64_t id = 0; id < 5; ++id)
        stage.post(flush_request(stage, id));
}

void rnr_nak_of_a_send(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    stage.arrive(stage.answer(500, wire::Syndrome::rnr(1)));
    stage.completions();
}

void lost_after_a_nak(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    stage.arrive(stage.answer(500, wire::Syndrome::nak(wire::NakCode::PsnSequence)));
    stage.wait();
}

void nak_before_a_read(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    stage.post(stage.request(8, WrOpcode::RdmaRead, 4));
    stage.arrive(stage.answer(500, wire::Syndrome::nak(wire::NakCode::PsnSequence)));
}

void atomic_write_without_answer(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::AtomicWrite, 8));
    stage.wait();
}

void ack_behind_an_add(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::AtomicFetchAndAdd, 8));
    stage.post(stage.request(8, WrOpcode::Send, 4));
    stage.arrive(stage.answer(501));
    stage.completions();
}

void middle_comes_twice(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::RdmaRead, 1024));
    stage.arrive(stage.packet(Operation::RdmaReadResponse, Position::First, 500, 256));
    const auto middle = stage.packet(Operation::RdmaReadResponse, Position::Middle, 501, 256);
    stage.arrive(middle);
    stage.arrive(middle);
    stage.arrive(stage.packet(Operation::RdmaReadResponse, Position::Middle, 502, 256));
    stage.arrive(stage.packet(Operation::RdmaReadResponse, Position::Last, 503, 256));
    stage.memory(512);
    stage.completions();
}

void second_rnr_nak_is_longer(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    stage.arrive(stage.answer(500, wire::Syndrome::rnr(1)));
    stage.wait();
    stage.arrive(stage.answer(500, wire::Syndrome::rnr(20)));
    stage.turn_to(1); // whose timer is shorter than that wait, and longer than the first
    stage.post(stage.request(8, WrOpcode::Send, 4));
    stage.wait();
}

void ack_of_a_bth_alone(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    auto ack = stage.answer(500);
    ack.headers = {};
    stage.arrive(ack);
    stage.completions();
}

void read_response_with_a_nak(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::RdmaRead, 4));
    auto response = stage.packet(Operation::RdmaReadResponse, Position::Only, 500, 4);
    response.aeth.syndrome = wire::Syndrome::nak(wire::NakCode::RemoteAccess);
    stage.arrive(response);
    stage.completions();
}

void requests_before_and_after_reset(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    stage.connect_again(100, 900);
    stage.post(stage.request(8, WrOpcode::Send, 4));
}

void another_peer_after_reset(Stage& stage) {
    plain_send(stage);
    const wire::Envelope way = stage.to_device();
    stage.modify({.state = QpState::Reset});
    stage.modify({.state = QpState::Init, .access = engine::Access{.remote_write = true}});
    stage.modify(
        {.state = QpState::Rtr,
         .path_mtu = wire::Mtu::B256,
         .dest_qp = wire::Qpn{0x300},
         .rq_psn = wire::Psn(100),
         .address = engine::AddressVector{.source = way.destination, .destination = way.source},
         .min_rnr_timer = 1,
         .max_dest_rd_atomic = 4});
    stage.arrive(stage.write(Position::Only, 100, 4, 4));
}

void receive_with_an_empty_piece(Stage& stage) {
    const std::array<engine::Sge, 3> sges{
        {stage.piece(8192, 2), stage.piece(8300, 0), stage.piece(8400, 64)}};
    stage.receive(0, sges);
    plain_send(stage);
}

void host_ends_the_qp(Stage& stage) {
    stage.modify({.state = QpState::Err});
    stage.completions();
}

void send_with_immediate(Stage& stage) {
    stage.arrive(stage.packet(Operation::Send, Position::Only, 100, 4, true));
    stage.completions();
}

void send_behind_one_that_revokes(Stage& stage) {
    const auto window = stage.window();
    stage.post(stage.bind_request(1, window.mw, window.rkey, 0));
    stage.arrive(revoking(stage, kSendOnlyWithInvalidate, 100, window.rkey));
    stage.arrive(stage.send(101));
    stage.completions();
}

void sixteen_sends(Stage& stage) {
    for (std::uint32_t i = 0; i < 16; ++i)
        stage.arrive(stage.send(100 + i));
    stage.completions();
}

void read_by_an_unknown_key(Stage& stage) {
    auto read = stage.read(100, 4);
    read.reth.rkey = {0x77};
    stage.arrive(read);
    stage.events();
}

// --- what ports do

void last_from_another_address(Stage& stage) {
    auto way = stage.to_device();
    stage.arrive(stage.write(Position::First, 100, 256, 260));
    way.source = wire::IpAddress::from_v4(0x0A4D0009);
    stage.arrive(stage.write(Position::Last, 101, 4, 260), way);
}

void management_with_another_pkey(Stage& stage) {
    auto message = stage.packet(Operation::Send, Position::Only, 1, wire::kMadBytes);
    message.bth.pkey = {0x8123};
    stage.arrive(message);
    stage.completions();
}

void send_of_another_class(Stage& stage) {
    auto way = stage.to_device();
    way.dscp = 5;
    stage.arrive(stage.send(100), way);
}

void send_from_another_port(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    auto way = stage.to_device();
    way.source_port = 0x1234;
    stage.arrive(stage.send(100), way);
}

void send_with_hop_limit_128(Stage& stage) {
    auto way = stage.to_device();
    way.hop_limit = 128;
    stage.arrive(stage.send(100), way);
}

void marked_and_spoiled(Stage& stage) {
    auto way = stage.to_device();
    way.ecn = wire::kCongestionExperienced;
    stage.arrive_spoiled(stage.send(100), 1, way);
}

void three_bytes_with_immediate(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::SendWithImm, 3));
}

void marked_write(Stage& stage) {
    auto way = stage.to_device();
    way.ecn = wire::kCongestionExperienced;
    stage.arrive(stage.write(Position::Only, 100, 4, 4), way);
}

void marked_gap(Stage& stage) {
    auto way = stage.to_device();
    way.ecn = wire::kCongestionExperienced;
    stage.arrive(stage.write(Position::Only, 101, 4, 4), way);
}

void cnp_in_rnr_wait(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    stage.arrive(stage.answer(500, wire::Syndrome::rnr(20)));
    stage.arrive(cnp_of(stage));
}

void odd_datagram(Stage& stage) {
    stage.arrive(stage.packet(Operation::Send, Position::Only, 1, 3));
    stage.completions();
}

void datagrams_of_two(Stage& stage) {
    stage.arrive(stage.packet(Operation::Send, Position::Only, 1, 4));
    auto second = stage.packet(Operation::Send, Position::Only, 2, 4);
    second.deth.source_qp = wire::Qpn{0x300};
    stage.arrive(second);
    stage.completions();
}

std::vector<Difference> responder_differences() {
    const Scene none{.receives = 0};
    return {
        {.name = "duplicate_read_in_rnr_wait_dropped",
         .act = read_again_in_rnr_wait,
         .right = "RDMA_READ_RESPONSE_ONLY 100, 4 bytes of 1, syndrome 1f msn 1",
         .wrong = "",
         .scene = none},
        {.name = "duplicate_send_without_receive_rnr_naked",
         .act = send_again_without_receive,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .wrong = "ACKNOWLEDGE 100, syndrome 21 msn 1",
         .scene = {.receives = 1}},
        {.name = "rnr_naked_request_not_acked",
         .act = send_after_rnr_nak,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .wrong = "",
         .scene = none},
        {.name = "rnr_naked_message_counted_twice",
         .act = send_after_rnr_nak,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .wrong = "ACKNOWLEDGE 100, syndrome 1f msn 2",
         .scene = none},
        {.name = "rnr_naked_write_moves_on",
         .act = long_write_after_rnr_nak,
         .right = "at 256: 101",
         .wrong = "at 256: 2",
         .scene = none},
        {.name = "no_rnr_nak_in_sqd",
         .act = send_in_sqd,
         .right = "ACKNOWLEDGE 100, syndrome 21 msn 0",
         .wrong = "",
         .scene = none},
        {.name = "bytes_ahead_of_gap_counted",
         .act = gap_inside_a_write,
         .right = "ACKNOWLEDGE 103, syndrome 1f msn 1",
         .wrong = "ACKNOWLEDGE 103, syndrome 61 msn 0"},
        {.name = "progress_of_other_qp_rearms_nak",
         .act = gap_while_another_goes_on,
         .right = "",
         .wrong = "ACKNOWLEDGE 100, syndrome 60 msn 0, from another port"},
        {.name = "no_sequence_nak_before_rts",
         .act = gap,
         .right = "ACKNOWLEDGE 100, syndrome 60 msn 0",
         .wrong = "",
         .scene = {.sends = false}},
        {.name = "four_sequence_naks_per_connection",
         .act = five_gaps,
         .right = "ACKNOWLEDGE 108, syndrome 60 msn 8",
         .wrong = "ACKNOWLEDGE 108, syndrome 1f msn 9"},
        {.name = "send_last_ends_write",
         .act = send_last_inside_a_write,
         .right = "ACKNOWLEDGE 101, syndrome 61 msn 0",
         .wrong = "ACKNOWLEDGE 101, syndrome 1f msn 1"},
        {.name = "msn_survives_reset",
         .act = send_before_and_after_reset,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .wrong = "ACKNOWLEDGE 100, syndrome 1f msn 2"},
        {.name = "read_psns_counted_in_a_byte",
         .act = read_of_300_packets,
         .right = "ACKNOWLEDGE 400, syndrome 1f msn 2",
         .wrong = "ACKNOWLEDGE 144, syndrome 60 msn 1"},
        {.name = "empty_write_not_acked",
         .act = empty_write,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .wrong = ""},
        {.name = "more_credits_than_receives",
         .act = plain_send,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .wrong = "ACKNOWLEDGE 100, syndrome 04 msn 1"},
        {.name = "destroyed_qp_acks",
         .act = write_after_the_end,
         .right = "",
         .wrong = "ACKNOWLEDGE 100, syndrome 1f msn 0"},
        {.name = "failed_swap_forgotten",
         .act = failed_swap_again,
         .right = "ATOMIC_ACKNOWLEDGE 100, found 72340172838076673, syndrome 1f msn 1",
         .wrong = ""},
        {.name = "unasked_atomic_not_answered",
         .act = add_that_does_not_ask,
         .right = "ATOMIC_ACKNOWLEDGE 100, found 72340172838076673, syndrome 1f msn 1",
         .wrong = ""},
        {.name = "flush_answered_by_ack",
         .act = flush_of_eight_bytes,
         .right = "RDMA_READ_RESPONSE_ONLY 100, syndrome 1f msn 1",
         .wrong = "ACKNOWLEDGE 100, syndrome 1f msn 1"},
        {.name = "atomic_write_in_other_byte_order",
         .act = atomic_write_of_eight_bytes,
         .right = "at 0: 1",
         .wrong = "at 0: 0"},
        {.name = "invalidate_of_foreign_window_overlooked",
         .act = revoke_a_window_of_another_qp,
         .right = "",
         .wrong = "ACKNOWLEDGE 100, syndrome 1f msn 1"},
        {.name = "local_fault_told_as_invalid_request",
         .act = receive_with_a_wrong_key,
         .right = "ACKNOWLEDGE 100, syndrome 63 msn 0",
         .wrong = "ACKNOWLEDGE 100, syndrome 61 msn 0",
         .scene = none},
    };
}

std::vector<Difference> requester_differences() {
    return {
        {.name = "no_rnr_wait_in_sqd",
         .act = rnr_nak_in_sqd,
         .right = "",
         .wrong = "SEND_ONLY 500, 4 bytes of 1, asks"},
        {.name = "fatal_nak_ignored_in_sqd",
         .act = fatal_nak_in_sqd,
         .right = "send 7 REM_ACCESS_ERR",
         .wrong = ""},
        {.name = "retries_for_ever_in_sqd",
         .act = retries_in_sqd,
         .right = "",
         .wrong = "SEND_ONLY 500, 4 bytes of 1, asks"},
        {.name = "fence_ends_with_retry",
         .act = fenced_send_behind_a_lost_read,
         .right = "",
         .wrong = "SEND_ONLY 501, 4 bytes of 1, asks"},
        {.name = "flushes_beyond_the_read_limit",
         .act = five_flushes,
         .right = "",
         .wrong = "FLUSH 504, for 64 bytes at 0x5000, asks"},
        {.name = "one_retry_with_rnr_retry_zero",
         .act = rnr_nak_of_a_send,
         .right = "send 7 RNR_RETRY_EXC_ERR",
         .wrong = "",
         .scene = {.rnr_retry = 0}},
        {.name = "resent_once_after_nak",
         .act = lost_after_a_nak,
         .right = "SEND_ONLY 500, 4 bytes of 1, asks",
         .wrong = ""},
        {.name = "reads_wait_for_timeout_after_nak",
         .act = nak_before_a_read,
         .right = "RDMA_READ_REQUEST 501, for 4 bytes at 0x5000, asks",
         .wrong = ""},
        {.name = "resent_atomic_write_is_zero",
         .act = atomic_write_without_answer,
         .right = "ATOMIC_WRITE 500, 8 bytes of 1, for 8 bytes at 0x5000, asks",
         .wrong = "ATOMIC_WRITE 500, 8 bytes of 0, for 8 bytes at 0x5000, asks"},
        {.name = "ack_completes_unanswered_atomic",
         .act = ack_behind_an_add,
         .right = "FETCH_ADD 500, asks",
         .wrong = "send 7 SUCCESS"},
        {.name = "repeated_read_middle_taken_for_next",
         .act = middle_comes_twice,
         .right = "at 512: 246",
         .wrong = "at 512: 245"},
        {.name = "first_rnr_time_stays",
         .act = second_rnr_nak_is_longer,
         .right = "SEND_ONLY 500, 4 bytes of 1, asks, to QP 0x201, from another port",
         .wrong = "SEND_ONLY 500, 4 bytes of 1, asks"},
        {.name = "ack_without_aeth_taken",
         .act = ack_of_a_bth_alone,
         .right = "",
         .wrong = "send 7 SUCCESS"},
        {.name = "syndrome_of_read_responses_ignored",
         .act = read_response_with_a_nak,
         .right = "",
         .wrong = "send 7 SUCCESS"},
        {.name = "old_psns_after_reset",
         .act = requests_before_and_after_reset,
         .right = "SEND_ONLY 900, 4 bytes of 1, asks",
         .wrong = "SEND_ONLY 501, 4 bytes of 1, asks"},
        {.name = "answers_to_first_peer",
         .act = another_peer_after_reset,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1, to QP 0x300, from another port",
         .wrong = "ACKNOWLEDGE 100, syndrome 1f msn 1, from another port"},
        {.name = "empty_piece_ends_receive",
         .act = receive_with_an_empty_piece,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .wrong = "ACKNOWLEDGE 100, syndrome 61 msn 0",
         .scene = {.receives = 0}},
        {.name = "first_flushed_receive_told_twice",
         .act = host_ends_the_qp,
         .right = "recv 1 WR_FLUSH_ERR",
         .wrong = "recv 0 WR_FLUSH_ERR"},
        {.name = "length_of_send_counts_immediate",
         .act = send_with_immediate,
         .right = "recv 0 SUCCESS 4 bytes immediate 100",
         .wrong = "recv 0 SUCCESS 8 bytes immediate 100"},
        {.name = "revoked_key_told_once_more",
         .act = send_behind_one_that_revokes,
         .right = "recv 1 SUCCESS 4 bytes",
         .wrong = "recv 1 SUCCESS 4 bytes revoked 0x200"},
        {.name = "each_sixteenth_receive_keeps_wr_id",
         .act = sixteen_sends,
         .right = "recv 15 SUCCESS 4 bytes",
         .wrong = "recv 14 SUCCESS 4 bytes",
         .scene = {.receives = 16}},
        {.name = "access_error_of_reads_not_told",
         .act = read_by_an_unknown_key,
         .right = "event QP_ACCESS_ERR",
         .wrong = ""},
    };
}

std::vector<Difference> port_differences() {
    return {
        {.name = "source_of_later_packets_not_checked",
         .act = last_from_another_address,
         .right = "",
         .wrong = "ACKNOWLEDGE 101, syndrome 1f msn 1"},
        {.name = "pkey_of_management_not_checked",
         .act = management_with_another_pkey,
         .right = "",
         .wrong = "recv 0 SUCCESS 296 bytes",
         .scene = {.type = QpType::Ud, .gsi = true}},
        {.name = "answers_echo_class",
         .act = send_of_another_class,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .wrong = "ACKNOWLEDGE 100, syndrome 1f msn 1, DSCP 5"},
        {.name = "answers_echo_source_port",
         .act = send_from_another_port,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .wrong = "ACKNOWLEDGE 100, syndrome 1f msn 1, from another port"},
        {.name = "high_hop_limit_dropped",
         .act = send_with_hop_limit_128,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .wrong = ""},
        {.name = "icrc_of_marked_not_checked",
         .act = marked_and_spoiled,
         .right = "",
         .wrong = "CNP 0, 16 bytes of 0, DSCP 48"},
        {.name = "icrc_of_padded_immediate_wrong",
         .act = three_bytes_with_immediate,
         .right = "SEND_ONLY_WITH_IMM 500, 3 bytes of 1, immediate 7, asks",
         .wrong = "SEND_ONLY_WITH_IMM 500, 3 bytes of 1, immediate 7, asks, damaged"},
        {.name = "cnp_with_hop_limit_64",
         .act = marked_write,
         .right = "CNP 0, 16 bytes of 0, DSCP 48, hop limit 9",
         .wrong = "CNP 0, 16 bytes of 0, DSCP 48",
         .scene = {.hop_limit = 9}},
        {.name = "cnp_of_headers_alone",
         .act = marked_write,
         .right = "CNP 0, 16 bytes of 0, DSCP 48",
         .wrong = "CNP 0, DSCP 48"},
        {.name = "marked_gap_not_naked",
         .act = marked_gap,
         .right = "ACKNOWLEDGE 100, syndrome 60 msn 0",
         .wrong = ""},
        {.name = "cnp_ends_rnr_wait",
         .act = cnp_in_rnr_wait,
         .right = "",
         .wrong = "SEND_ONLY 500, 4 bytes of 1, asks"},
        {.name = "datagram_length_counts_pad",
         .act = odd_datagram,
         .right = "recv 0 SUCCESS 43 bytes",
         .wrong = "recv 0 SUCCESS 44 bytes",
         .scene = {.type = QpType::Ud}},
        {.name = "first_source_qp_stays",
         .act = datagrams_of_two,
         .right = "recv 1 SUCCESS 44 bytes from QP 0x300",
         .wrong = "recv 1 SUCCESS 44 bytes",
         .scene = {.type = QpType::Ud}},
    };
}

} // namespace

TEST_CASE("blind: each defect of the eighth sample differs from the right device", "[mutants]") {
    check_differences({responder_differences, requester_differences, port_differences}, blind(8));
}

} // namespace veriroce::mutants::test::of_blind8
