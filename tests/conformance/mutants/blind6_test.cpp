// The sixth blind sample: under some lawful use each defect does something that the right device
// does not.
#include <catch2/catch.hpp>

#include "tests/conformance/mutants/difference.hpp"

namespace veriroce::mutants::test::of_blind6 {

namespace {

using engine::QpState;
using engine::QpType;
using engine::WrOpcode;
using wire::Operation;
using wire::Position;

constexpr auto kRemoteAccess = wire::Syndrome::nak(wire::NakCode::RemoteAccess);

// --- what responders do

void duplicate_300_psns_behind(Stage& stage) {
    stage.arrive(stage.write(Position::Only, 100, 4, 4));
    stage.arrive(stage.read(101, 300 * 256));
    stage.arrive(stage.write(Position::Only, 100, 4, 4));
}

void empty_read_twice(Stage& stage) {
    stage.arrive(stage.read(100, 0));
    stage.arrive(stage.read(100, 0));
}

void atomic_write_twice(Stage& stage) {
    auto write = stage.packet(Operation::AtomicWrite, Position::Only, 100, 8);
    write.reth = {.virtual_address = Stage::base, .rkey = stage.key(), .dma_length = 8};
    stage.arrive(write);
    stage.bytes()[0] = std::byte{77};
    stage.arrive(write);
    stage.memory(0);
}

void add_again_in_rnr_wait(Stage& stage) {
    stage.arrive(stage.add(100, 1));
    stage.arrive(stage.send(101));
    stage.arrive(stage.add(100, 1));
    stage.memory(0);
}

void duplicate_in_open_send(Stage& stage) {
    const auto first = stage.packet(Operation::Send, Position::First, 100, 256);
    stage.arrive(first);
    stage.arrive(first);
    stage.arrive(stage.packet(Operation::Send, Position::Last, 101, 4));
    stage.completions();
}

void two_gaps_in_a_write(Stage& stage) {
    const std::uint32_t length = 4 * 256 + 4;
    stage.arrive(stage.write(Position::First, 100, 256, length));
    stage.arrive(stage.write(Position::Middle, 102, 256, length));
    stage.arrive(stage.write(Position::Middle, 101, 256, length));
    stage.arrive(stage.write(Position::Middle, 103, 256, length));
}

void gap_at_psn_zero(Stage& stage) {
    stage.arrive(stage.send(0xFFFFFF));
    stage.arrive(stage.send(1));
}

void gap_and_no_receive(Stage& stage) {
    stage.arrive(stage.send(102));
    stage.arrive(stage.send(100));
}

void invalidate_after_rnr(Stage& stage) {
    auto send = stage.packet(Operation::Send, Position::Only, 100, 4);
    send.bth.opcode = 0x17; // SEND_ONLY_WITH_INVALIDATE
    send.headers = send.info().headers;
    send.ieth.rkey = stage.key(); // a region's, which may not be revoked
    stage.arrive(send);
    post_receive(stage);
    stage.arrive(send);
}

void rnr_of_long_immediate_write(Stage& stage) {
    stage.modify({.min_rnr_timer = 20});
    stage.arrive(stage.write(Position::First, 100, 256, 260));
    stage.arrive(stage.write(Position::Last, 101, 4, 260, true));
}

void add_behind_immediate(Stage& stage) {
    stage.arrive(stage.write(Position::Only, 100, 4, 4, true));
    stage.arrive(stage.add(101, 1));
}

void empty_write(Stage& stage) {
    stage.arrive(stage.write(Position::Only, 100, 0, 0));
}

void read_of_300_packets(Stage& stage) {
    stage.arrive(stage.read(100, 300 * 256));
}

void read_of_a_page(Stage& stage) {
    stage.bytes()[4095] = std::byte{77};
    stage.arrive(stage.read(100, 4096));
}

void odd_write_of_two_packets(Stage& stage) {
    for (const auto position : {Position::First, Position::Last}) {
        const bool first = position == Position::First;
        auto write = stage.write(position, first ? 100 : 101, first ? 256 : 4, 260);
        write.reth.virtual_address = Stage::base + 1;
        stage.arrive(write);
    }
    stage.memory(257);
}

void swap_of_second_word(Stage& stage) {
    stage.bytes()[8] = std::byte{77};
    auto swap = stage.packet(Operation::CompareSwap, Position::Only, 100, 0);
    swap.atomic = {.virtual_address = Stage::base + 8,
                   .rkey = stage.key(),
                   .swap_or_add = 0,
                   .compare = 0x0101010101010101};
    stage.arrive(swap);
    stage.memory(8);
}

void write_that_lacks_a_packet(Stage& stage) {
    stage.arrive(stage.write(Position::First, 100, 256, 516));
    stage.arrive(stage.write(Position::Last, 101, 4, 516));
}

void five_bytes_for_five(Stage& stage) {
    const std::array<engine::Sge, 1> sges{{stage.piece(8192, 5)}};
    stage.receive(0, sges);
    stage.arrive(stage.packet(Operation::Send, Position::Only, 100, 5));
}

void empty_send_for_no_pieces(Stage& stage) {
    stage.receive(0, {});
    stage.arrive(stage.packet(Operation::Send, Position::Only, 100, 0));
}

void write_to_what_takes_atomics(Stage& stage) {
    auto write = stage.write(Position::Only, 100, 4, 4);
    write.reth.virtual_address = 0x90000;
    write.reth.rkey =
        stage.register_at(0x90000, 0, 512, {.local_write = true, .remote_atomic = true});
    stage.arrive(write);
}

// --- what requesters do

void invalidate_without_answer(Stage& stage) {
    auto request = stage.request(7, WrOpcode::SendWithInv, 4);
    request.invalidate_rkey = {0x123};
    stage.post(request);
    stage.wait();
}

void solicited_without_answer(Stage& stage) {
    auto request = stage.request(7, WrOpcode::Send, 4);
    request.flags.solicited = true;
    stage.post(request);
    stage.wait();
}

void read_restarts_in_the_middle(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::RdmaRead, 700));
    stage.arrive(stage.packet(Operation::RdmaReadResponse, Position::First, 500, 256));
    stage.wait();
}

void two_swaps(Stage& stage) {
    for (std::uint64_t number = 1; number < 3; ++number) {
        auto request = stage.request(number, WrOpcode::AtomicCmpAndSwp, 8);
        request.swap = number;
        stage.post(request);
    }
}

void three_timeouts_with_progress(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 600));
    stage.wait();
    stage.arrive(stage.answer(500));
    stage.wait();
    stage.arrive(stage.answer(501));
    stage.wait();
    stage.completions();
}

void answer_of_atomic_twice(Stage& stage) {
    two_swaps(stage);
    stage.wait();
    stage.arrive(stage.atomic_answer(500, 1));
    stage.arrive(stage.atomic_answer(500, 1));
    stage.completions();
}

void fatal_nak_after_timeout(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    stage.wait();
    stage.arrive(stage.answer(500, kRemoteAccess));
    stage.completions();
}

void ack_of_a_silent_request(Stage& stage) {
    for (std::uint64_t id = 1; id < 10; ++id) {
        auto request = stage.request(id, WrOpcode::Send, 4);
        request.flags.signaled = id == 9;
        stage.post(request);
    }
    stage.arrive(stage.answer(500));
    stage.completions();
}

void rnr_nak_of_code_17(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    stage.arrive(stage.answer(500, wire::Syndrome::rnr(17))); // 3.84 ms
    stage.turn_to(1);
    stage.post(stage.request(8, WrOpcode::Send, 4)); // whose timer is shorter
    for (int i = 0; i < 3; ++i)
        stage.wait();
}

void old_ack_in_rnr_wait(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    stage.arrive(stage.answer(500));
    stage.post(stage.request(8, WrOpcode::Send, 4));
    stage.arrive(stage.answer(501, wire::Syndrome::rnr(20)));
    stage.arrive(stage.answer(500));
}

void inline_of_two_pieces(Stage& stage) {
    auto request = stage.request(7, WrOpcode::Send, 4);
    const std::array<engine::Sge, 2> pieces{{stage.piece(0, 4), stage.piece(256, 4)}};
    request.sges = pieces;
    request.flags.inline_data = true;
    stage.post(request);
}

void read_of_three_pieces(Stage& stage) {
    auto request = stage.request(7, WrOpcode::RdmaRead, 12);
    const std::array<engine::Sge, 3> pieces{
        {stage.piece(0, 4), stage.piece(256, 4), stage.piece(512, 4)}};
    request.sges = pieces;
    stage.post(request);
    std::vector<std::byte> body(12, std::byte{99});
    body[8] = std::byte{98};
    auto response = stage.packet(Operation::RdmaReadResponse, Position::Only, 500, 12);
    response.body = body;
    stage.arrive(response);
    stage.memory(256);
}

void send_with_immediate_zero(Stage& stage) {
    auto request = stage.request(7, WrOpcode::SendWithImm, 4);
    request.imm = 0;
    stage.post(request);
}

void write_to_high_address(Stage& stage) {
    auto request = stage.request(7, WrOpcode::RdmaWrite, 4);
    request.remote_address = 0xFFFF888000001000;
    stage.post(request);
}

// --- what hosts see

void send_of_large_id(Stage& stage) {
    stage.post(stage.request(0x700000007, WrOpcode::Send, 4));
    stage.arrive(stage.answer(500));
    stage.completions();
}

void twenty_receives_flushed(Stage& stage) {
    for (std::uint64_t id = 0; id < 17; ++id) {
        const std::array<engine::Sge, 1> sges{{stage.piece(8192, 512)}};
        stage.receive(id, sges);
    }
    stage.modify({.state = QpState::Err});
    stage.completions();
}

// With one right and a long RNR timer.
void connect_otherwise(Stage& stage, wire::Pkey pkey = wire::kDefaultPkey) {
    const wire::Envelope way = stage.to_device();
    stage.modify({.state = QpState::Reset});
    stage.modify(
        {.state = QpState::Init, .access = engine::Access{.remote_write = true}, .pkey = pkey});
    stage.modify(
        {.state = QpState::Rtr,
         .path_mtu = wire::Mtu::B256,
         .dest_qp = wire::Qpn{0x200},
         .rq_psn = wire::Psn(100),
         .address = engine::AddressVector{.source = way.destination, .destination = way.source},
         .min_rnr_timer = 20,
         .max_dest_rd_atomic = 4});
    stage.modify({.state = QpState::Rts,
                  .sq_psn = wire::Psn(500),
                  .timeout = 1,
                  .retry_count = 2,
                  .rnr_retry = 7,
                  .max_rd_atomic = 4});
}
void no_receive_in_second_connection(Stage& stage) {
    connect_otherwise(stage);
    stage.arrive(stage.send(100));
}
void read_without_right_in_second_connection(Stage& stage) {
    connect_otherwise(stage);
    stage.arrive(stage.read(100, 4));
}

// --- what ports do

void version_one_ack(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    auto ack = stage.answer(500);
    ack.bth.version = 1;
    stage.arrive(ack);
    stage.completions();
}

void spoiled_send_of_4096_bytes(Stage& stage) {
    stage.arrive_spoiled(stage.write(Position::Only, 100, 4096, 4096), 1, stage.to_device());
}

void send_without_answer(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    stage.wait();
}

void send_of_pkey_without_answer(Stage& stage) {
    connect_otherwise(stage, wire::Pkey{0x8001});
    send_without_answer(stage);
}

void two_marked_writes(Stage& stage) {
    auto envelope = stage.to_device();
    envelope.ecn = wire::kCongestionExperienced;
    for (std::uint32_t psn = 100; psn < 102; ++psn) {
        stage.arrive(stage.write(Position::Only, psn, 4, 4), envelope);
        stage.pass(std::chrono::seconds(1));
    }
}

void write_with_fecn(Stage& stage) {
    auto write = stage.write(Position::Only, 100, 4, 4);
    write.bth.fecn = true;
    stage.arrive(write);
}

void uc_send_across_wrap(Stage& stage) {
    stage.arrive(stage.packet(Operation::Send, Position::First, 0xFFFFFF, 256));
    stage.arrive(stage.packet(Operation::Send, Position::Last, 0, 4));
    stage.completions();
}

void datagram_over_ipv6(Stage& stage) {
    stage.arrive(stage.packet(Operation::Send, Position::Only, 1, 4));
    stage.completions();
    stage.memory(8192 + 23); // the last byte of the source's address
}

std::vector<Difference> responder_differences() {
    const Scene none{.receives = 0};
    const Scene wraps{.first_request = 0xFFFFFF};
    return {
        {.name = "duplicate_far_behind_not_answered",
         .act = duplicate_300_psns_behind,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 2",
         .wrong = ""},
        {.name = "duplicate_empty_read_not_answered",
         .act = empty_read_twice,
         .right = "RDMA_READ_RESPONSE_ONLY 100, syndrome 1f msn 1",
         .wrong = ""},
        {.name = "duplicate_atomic_write_executed_again",
         .act = atomic_write_twice,
         .right = "at 0: 77",
         .wrong = "at 0: 100"},
        {.name = "duplicate_add_executed_in_rnr_wait",
         .act = add_again_in_rnr_wait,
         .right = "at 0: 2",
         .wrong = "at 0: 3",
         .scene = none},
        {.name = "duplicate_counted_in_open_send",
         .act = duplicate_in_open_send,
         .right = "recv 0 SUCCESS 260 bytes",
         .wrong = "recv 0 SUCCESS 516 bytes"},
        {.name = "second_gap_in_message_not_naked",
         .act = two_gaps_in_a_write,
         .right = "ACKNOWLEDGE 102, syndrome 60 msn 0",
         .wrong = ""},
        {.name = "gap_at_psn_zero_named_by_last_psn",
         .act = gap_at_psn_zero,
         .right = "ACKNOWLEDGE 0, syndrome 60 msn 1",
         .wrong = "ACKNOWLEDGE 16777215, syndrome 60 msn 1",
         .scene = wraps},
        {.name = "rnr_nak_after_gap_names_packet_ahead",
         .act = gap_and_no_receive,
         .right = "ACKNOWLEDGE 100, syndrome 21 msn 0",
         .wrong = "ACKNOWLEDGE 102, syndrome 21 msn 0",
         .scene = none},
        {.name = "invalidate_forgotten_after_rnr",
         .act = invalidate_after_rnr,
         .right = "",
         .wrong = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .scene = none},
        {.name = "rnr_timer_of_long_write_shortest",
         .act = rnr_of_long_immediate_write,
         .right = "ACKNOWLEDGE 101, syndrome 34 msn 0",
         .wrong = "ACKNOWLEDGE 101, syndrome 21 msn 0",
         .scene = none},
        {.name = "atomic_behind_immediate_counted_twice",
         .act = add_behind_immediate,
         .right = "ATOMIC_ACKNOWLEDGE 101, found 72340174505534564, syndrome 1f msn 2",
         .wrong = "ATOMIC_ACKNOWLEDGE 101, found 72340174505534564, syndrome 1f msn 3"},
        {.name = "empty_write_not_counted",
         .act = empty_write,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .wrong = "ACKNOWLEDGE 100, syndrome 1f msn 0"},
        {.name = "read_responses_counted_in_a_byte",
         .act = read_of_300_packets,
         .right = "RDMA_READ_RESPONSE_MIDDLE 356, 256 bytes of 1",
         .wrong = "RDMA_READ_RESPONSE_FIRST 356, 256 bytes of 1, syndrome 1f msn 0"},
        {.name = "read_to_end_of_page_repeats_a_byte",
         .act = read_of_a_page,
         .right = "RDMA_READ_RESPONSE_LAST 115, 256 bytes of 77, syndrome 1f msn 1",
         .wrong = "RDMA_READ_RESPONSE_LAST 115, 256 bytes of 16, syndrome 1f msn 1"},
        {.name = "odd_write_repeats_byte_at_packet_border",
         .act = odd_write_of_two_packets,
         .right = "at 257: 101",
         .wrong = "at 257: 100"},
        {.name = "swap_of_odd_word_compares_even_one",
         .act = swap_of_second_word,
         .right = "at 8: 77",
         .wrong = "at 8: 0"},
        {.name = "write_may_lack_whole_packets",
         .act = write_that_lacks_a_packet,
         .right = "ACKNOWLEDGE 101, syndrome 61 msn 0",
         .wrong = "ACKNOWLEDGE 101, syndrome 1f msn 1"},
        {.name = "pad_must_fit_receive",
         .act = five_bytes_for_five,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .wrong = "ACKNOWLEDGE 100, syndrome 61 msn 0",
         .scene = none},
        {.name = "receive_without_pieces_refused",
         .act = empty_send_for_no_pieces,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .wrong = "ACKNOWLEDGE 100, syndrome 63 msn 0",
         .scene = none},
        {.name = "short_write_by_right_to_atomics",
         .act = write_to_what_takes_atomics,
         .right = "ACKNOWLEDGE 100, syndrome 62 msn 0",
         .wrong = "ACKNOWLEDGE 100, syndrome 1f msn 1"},
    };
}

std::vector<Difference> requester_differences() {
    return {
        {.name = "resent_invalidate_names_key_zero",
         .act = invalidate_without_answer,
         .right = "SEND_ONLY_WITH_INV 500, 4 bytes of 1, revokes 0x123, asks",
         .wrong = "SEND_ONLY_WITH_INV 500, 4 bytes of 1, revokes 0x0, asks"},
        {.name = "solicited_lost_when_resent",
         .act = solicited_without_answer,
         .right = "SEND_ONLY 500, 4 bytes of 1, asks, solicited",
         .wrong = "SEND_ONLY 500, 4 bytes of 1, asks"},
        {.name = "read_restart_rounds_length_up",
         .act = read_restarts_in_the_middle,
         .right = "RDMA_READ_REQUEST 501, for 444 bytes at 0x5100, asks",
         .wrong = "RDMA_READ_REQUEST 501, for 512 bytes at 0x5100, asks"},
        {.name = "pipelined_atomics_share_operand",
         .act = two_swaps,
         .right = "COMPARE_SWAP 501, operand 2, asks",
         .wrong = "COMPARE_SWAP 501, operand 1, asks"},
        {.name = "ack_inside_message_is_no_progress",
         .act = three_timeouts_with_progress,
         .right = "SEND_MIDDLE 501, 256 bytes of 2",
         .wrong = "SEND_FIRST 500, 256 bytes of 1"},
        {.name = "repeated_atomic_answer_taken_for_next",
         .act = answer_of_atomic_twice,
         .right = "",
         .wrong = "send 2 SUCCESS"},
        {.name = "fatal_nak_after_resend_ignored",
         .act = fatal_nak_after_timeout,
         .right = "send 7 REM_ACCESS_ERR",
         .wrong = ""},
        {.name = "ack_of_silent_run_completes_all",
         .act = ack_of_a_silent_request,
         .right = "",
         .wrong = "send 9 SUCCESS"},
        {.name = "rnr_timer_code_of_four_bits",
         .act = rnr_nak_of_code_17,
         .right = "SEND_ONLY 500, 4 bytes of 1, asks, to QP 0x201, from another port",
         .wrong = "SEND_ONLY 500, 4 bytes of 1, asks"},
        {.name = "old_ack_ends_rnr_wait",
         .act = old_ack_in_rnr_wait,
         .right = "",
         .wrong = "SEND_ONLY 501, 4 bytes of 1, asks"},
        {.name = "second_inline_piece_repeats_first",
         .act = inline_of_two_pieces,
         .right = "SEND_ONLY 500, 8 bytes of 2, asks",
         .wrong = "SEND_ONLY 500, 8 bytes of 1, asks"},
        {.name = "read_fills_pieces_out_of_order",
         .act = read_of_three_pieces,
         .right = "at 256: 99",
         .wrong = "at 256: 98"},
        {.name = "immediate_zero_not_sent",
         .act = send_with_immediate_zero,
         .right = "SEND_ONLY_WITH_IMM 500, 4 bytes of 1, immediate 0, asks",
         .wrong = "SEND_ONLY 500, 4 bytes of 1, asks"},
        {.name = "remote_address_of_48_bits",
         .act = write_to_high_address,
         .right = "RDMA_WRITE_ONLY 500, 4 bytes of 1, for 4 bytes at 0xffff888000001000, asks",
         .wrong = "RDMA_WRITE_ONLY 500, 4 bytes of 1, for 4 bytes at 0x888000001000, asks"},
        {.name = "wr_id_of_32_bits",
         .act = send_of_large_id,
         .right = "send 30064771079 SUCCESS",
         .wrong = "send 7 SUCCESS"},
        {.name = "sixteen_receives_flushed",
         .act = twenty_receives_flushed,
         .right = "recv 16 WR_FLUSH_ERR",
         .wrong = "",
         .scene = {.receives = 0}},
        {.name = "rnr_timer_of_first_connection",
         .act = no_receive_in_second_connection,
         .right = "ACKNOWLEDGE 100, syndrome 34 msn 0",
         .wrong = "ACKNOWLEDGE 100, syndrome 21 msn 0"},
        {.name = "rights_of_first_connection",
         .act = read_without_right_in_second_connection,
         .right = "ACKNOWLEDGE 100, syndrome 61 msn 0",
         .wrong = "RDMA_READ_RESPONSE_ONLY 100, 4 bytes of 1, syndrome 1f msn 1"},
    };
}

std::vector<Difference> port_differences() {
    return {
        {.name = "lowest_bit_of_dscp_not_sent",
         .act = plain_send,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1, DSCP 1",
         .wrong = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .scene = {.traffic_class = 4}},
        {.name = "version_of_responses_not_checked",
         .act = version_one_ack,
         .right = "",
         .wrong = "send 7 SUCCESS"},
        {.name = "icrc_of_large_packets_not_checked",
         .act = spoiled_send_of_4096_bytes,
         .right = "",
         .wrong = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .scene = {.mtu = wire::Mtu::B4096}},
        {.name = "resent_without_vlan",
         .act = send_without_answer,
         .right = "SEND_ONLY 500, 4 bytes of 1, asks, VLAN 5",
         .wrong = "SEND_ONLY 500, 4 bytes of 1, asks",
         .scene = {.vlan = 5}},
        {.name = "resent_with_default_pkey",
         .act = send_of_pkey_without_answer,
         .right = "SEND_ONLY 500, 4 bytes of 1, asks, P_Key 0x8001",
         .wrong = "SEND_ONLY 500, 4 bytes of 1, asks"},
        {.name = "one_cnp_per_connection",
         .act = two_marked_writes,
         .right = "CNP 0, 16 bytes of 0, DSCP 48",
         .wrong = "ACKNOWLEDGE 101, syndrome 1f msn 2"},
        {.name = "icrc_of_cnp_wrong_over_v6",
         .act = two_marked_writes,
         .right = "CNP 0, 16 bytes of 0, DSCP 48",
         .wrong = "CNP 0, 16 bytes of 0, DSCP 48, damaged",
         .scene = {.v6 = true}},
        {.name = "fecn_brings_cnp",
         .act = write_with_fecn,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .wrong = "CNP 0, 16 bytes of 0, DSCP 48"},
        {.name = "uc_message_across_wrap_lost",
         .act = uc_send_across_wrap,
         .right = "recv 0 SUCCESS 260 bytes",
         .wrong = "",
         .scene = {.type = QpType::Uc, .first_request = 0xFFFFFF}},
        {.name = "v6_addresses_of_grh_exchanged",
         .act = datagram_over_ipv6,
         .right = "at 8215: 2",
         .wrong = "at 8215: 1",
         .scene = {.type = QpType::Ud, .v6 = true}},
    };
}

} // namespace

TEST_CASE("blind: each defect of the sixth sample differs from the right device", "[mutants]") {
    check_differences({responder_differences, requester_differences, port_differences}, blind(6));
}

} // namespace veriroce::mutants::test::of_blind6
