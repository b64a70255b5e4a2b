// The seventh blind sample: under some lawful use each defect does something that the right device
// does not.
#include <catch2/catch.hpp>

#include "dissector/wire/management.hpp"
#include "tests/conformance/mutants/difference.hpp"

namespace veriroce::mutants::test::of_blind7 {

namespace {

using engine::QpState;
using engine::QpType;
using engine::WrOpcode;
using wire::Operation;
using wire::Position;

// --- what responders do

void first_again_between_messages(Stage& stage) {
    const auto first = stage.packet(Operation::Send, Position::First, 100, 256);
    stage.arrive(first);
    stage.arrive(stage.packet(Operation::Send, Position::Last, 101, 4));
    stage.arrive(first);
    stage.arrive(stage.send(102));
}

void add_again_inside_a_write(Stage& stage) {
    stage.arrive(stage.add(100, 1));
    stage.arrive(stage.write(Position::First, 101, 256, 260));
    stage.arrive(stage.add(100, 1));
    stage.arrive(stage.write(Position::Last, 102, 4, 260));
}

void read_twice(Stage& stage) {
    stage.arrive(stage.read(100, 600));
    stage.arrive(stage.read(100, 600));
}

void add_again_in_rnr_wait(Stage& stage) {
    stage.arrive(stage.add(100, 1));
    stage.arrive(stage.send(101));
    stage.arrive(stage.add(100, 1));
}

void send_again_in_rnr_wait(Stage& stage) {
    stage.arrive(stage.send(100));
    stage.arrive(stage.send(101));
    stage.arrive(stage.send(100));
}

void write_behind_rnr_nak(Stage& stage) {
    stage.arrive(stage.send(100));
    stage.arrive(stage.write(Position::Only, 101, 4, 4));
    stage.memory(0);
}

void read_behind_a_gap(Stage& stage) {
    stage.arrive(stage.send(101));
    stage.arrive(stage.read(102, 4));
}

void gap_before_a_read(Stage& stage) {
    stage.arrive(stage.read(102, 4));
}

void gap_before_a_last(Stage& stage) {
    stage.arrive(stage.write(Position::First, 100, 256, 516));
    stage.arrive(stage.write(Position::Last, 102, 4, 516));
}

void gap_inside_a_write(Stage& stage) {
    stage.arrive(stage.write(Position::First, 100, 256, 1024));
    stage.arrive(stage.write(Position::Middle, 102, 256, 1024));
    stage.arrive(stage.write(Position::Middle, 101, 256, 1024));
    stage.memory(256);
}

void send_inside_a_write(Stage& stage) {
    stage.arrive(stage.write(Position::First, 100, 256, 1024));
    stage.arrive(stage.packet(Operation::Send, Position::Middle, 101, 256));
}

void two_qps_take_turns(Stage& stage) {
    stage.arrive(stage.write(Position::First, 100, 256, 260));
    stage.turn_to(1);
    stage.arrive(stage.write(Position::First, 100, 256, 260));
    stage.turn_to(0);
    stage.arrive(stage.write(Position::Last, 101, 4, 260));
}

void no_receive_for_long(Stage& stage) {
    stage.modify({.min_rnr_timer = 20});
    plain_send(stage);
}

constexpr engine::Access kMayFlush{.remote_write = true, .flush_global = true};

wire::Packet flush_of(Stage& stage, wire::Rkey key) {
    auto flush = stage.packet(Operation::Flush, Position::Only, 100, 0);
    flush.feth.placement = 1;
    flush.reth = {.virtual_address = Stage::base, .rkey = key, .dma_length = 8};
    return flush;
}

void flush_and_write(Stage& stage) {
    stage.modify({.access = kMayFlush});
    constexpr engine::Access rights{.local_write = true, .flush_global = true};
    stage.arrive(flush_of(stage, stage.register_at(Stage::base, 0, 512, rights)));
}

void flush_of_another_domain(Stage& stage) {
    stage.modify({.access = kMayFlush});
    stage.arrive(
        flush_of(stage, stage.register_apart({.local_write = true, .flush_global = true})));
}

void swap_of_zero(Stage& stage) {
    auto swap = stage.packet(Operation::CompareSwap, Position::Only, 100, 0);
    swap.atomic = {
        .virtual_address = Stage::base, .rkey = stage.key(), .swap_or_add = 77, .compare = 0};
    stage.arrive(swap);
    stage.memory(0);
}

void add_where_may_be_written(Stage& stage) {
    auto add = stage.add(100, 1);
    add.atomic.virtual_address = 0x90000;
    add.atomic.rkey = stage.register_at(
        0x90000, 0, 512, {.local_write = true, .remote_write = true, .remote_read = true});
    stage.arrive(add);
}

void add_across_the_end(Stage& stage) {
    auto add = stage.add(100, 1);
    add.atomic.virtual_address = 0x90008;
    add.atomic.rkey =
        stage.register_at(0x90000, 0, 12, {.local_write = true, .remote_atomic = true});
    stage.arrive(add);
}

void overflow_at_last(Stage& stage) {
    stage.arrive(stage.packet(Operation::Send, Position::First, 100, 256));
    stage.arrive(stage.packet(Operation::Send, Position::Middle, 101, 256));
    stage.arrive(stage.packet(Operation::Send, Position::Last, 102, 4));
}

void receive_that_may_not_be_written(Stage& stage) {
    const wire::Rkey key = stage.register_at(0x90000, 0, 512, {.remote_read = true});
    const std::array<engine::Sge, 1> sges{
        {{.address = 0x90000, .length = 512, .lkey = {key.value}}}};
    stage.receive(0, sges);
    plain_send(stage);
}

void receive_of_four_pieces(Stage& stage) {
    const std::array<engine::Sge, 4> sges{
        {stage.piece(0, 1), stage.piece(8, 1), stage.piece(16, 1), stage.piece(24, 1)}};
    stage.receive(0, sges);
    plain_send(stage);
}

void atomic_write_without_right(Stage& stage) {
    stage.modify({.access = engine::Access{.remote_read = true}});
    auto write = stage.packet(Operation::AtomicWrite, Position::Only, 100, 8);
    write.reth = {.virtual_address = Stage::base, .rkey = stage.key(), .dma_length = 8};
    stage.arrive(write);
}

void revoke(Stage& stage, std::uint64_t id, wire::Rkey key) {
    auto request = stage.request(id, WrOpcode::LocalInv, 0);
    request.sges = {};
    request.invalidate_rkey = key;
    stage.post(request);
}

void window_bound_to_second_range(Stage& stage) {
    const auto window = stage.window();
    stage.post(stage.bind_request(1, window.mw, window.rkey, 0));
    revoke(stage, 2, window.rkey);
    stage.post(stage.bind_request(3, window.mw, window.rkey, 1024));
    auto read = stage.read(100, 4);
    read.reth.rkey = window.rkey;
    read.reth.virtual_address = Stage::base + 1024;
    stage.arrive(read);
}

wire::Packet revoking(Stage& stage, wire::Rkey key, std::size_t bytes) {
    auto send = stage.packet(Operation::Send, Position::Only, 100, bytes);
    send.bth.opcode = 0x17; // SEND_ONLY_WITH_INVALIDATE
    send.headers = send.info().headers;
    send.ieth.rkey = key;
    return send;
}

void revoke_another_variant(Stage& stage) {
    const auto window = stage.window();
    stage.post(stage.bind_request(1, window.mw, window.rkey, 0));
    stage.arrive(revoking(stage, {window.rkey.value ^ 1}, 4));
}

void revoke_a_region_without_bytes(Stage& stage) {
    stage.arrive(revoking(stage, stage.key(), 0)); // a region's key may not be revoked
}

// --- what requesters do

void silent_send_without_answer(Stage& stage) {
    auto request = stage.request(7, WrOpcode::Send, 4);
    request.flags.signaled = false;
    stage.post(request);
    stage.wait();
}

void pieces_of_whole_packets(Stage& stage) {
    auto request = stage.request(7, WrOpcode::Send, 0);
    const std::array<engine::Sge, 2> pieces{{stage.piece(0, 256), stage.piece(512, 256)}};
    request.sges = pieces;
    stage.post(request);
}

// The response of a READ of 700 bytes, as far as it came before the READ was asked for again.
void begin_long_read(Stage& stage, std::uint32_t packets) {
    stage.post(stage.request(7, WrOpcode::RdmaRead, 700));
    stage.arrive(stage.packet(Operation::RdmaReadResponse, Position::First, 500, 256));
    if (packets > 1)
        stage.arrive(stage.packet(Operation::RdmaReadResponse, Position::Middle, 501, 256));
    stage.wait();
}

void read_restarts_in_the_middle(Stage& stage) {
    begin_long_read(stage, 1);
    stage.arrive(stage.packet(Operation::RdmaReadResponse, Position::First, 501, 256));
    stage.arrive(stage.packet(Operation::RdmaReadResponse, Position::Last, 502, 188));
    stage.completions(true);
}

void read_restarts_at_its_last(Stage& stage) {
    begin_long_read(stage, 2);
    stage.arrive(stage.packet(Operation::RdmaReadResponse, Position::Only, 502, 188));
    stage.completions();
}

void host_ends_a_send(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    stage.modify({.state = QpState::Err});
    stage.completions();
}

void long_send_that_revokes(Stage& stage) {
    auto request = stage.request(7, WrOpcode::SendWithInv, 260);
    request.invalidate_rkey = {0x123};
    stage.post(request);
}

void fenced_add_behind_a_read(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::RdmaRead, 4));
    auto request = stage.request(8, WrOpcode::AtomicFetchAndAdd, 8);
    request.flags.fence = true;
    stage.post(request);
}

void response_in_sqd(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::RdmaRead, 4));
    stage.modify({.state = QpState::Sqd});
    stage.arrive(stage.packet(Operation::RdmaReadResponse, Position::Only, 500, 4));
    stage.completions();
}

void timeout_in_sqd(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    stage.modify({.state = QpState::Sqd});
    stage.wait();
}

void flush_without_answer(Stage& stage) {
    auto request = stage.request(7, WrOpcode::Flush, 0);
    request.sges = {};
    request.flush_length = 64;
    stage.post(request);
    stage.wait();
}

void ack_of_an_atomic_write(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::AtomicWrite, 8));
    stage.arrive(stage.answer(500));
    stage.completions();
}

void rnr_nak_of_a_read(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::RdmaRead, 4));
    stage.arrive(stage.answer(500, wire::Syndrome::rnr(20)));
}

void slow_read(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::RdmaRead, 700));
    stage.pass(std::chrono::milliseconds(1));
    stage.arrive(stage.packet(Operation::RdmaReadResponse, Position::First, 500, 256));
}

void inline_write_without_answer(Stage& stage) {
    auto request = stage.request(7, WrOpcode::RdmaWriteWithImm, 4);
    request.flags.inline_data = true;
    stage.post(request);
    stage.bytes()[3] = std::byte{77};
    stage.wait();
}

void silent_bind(Stage& stage) {
    const auto window = stage.window();
    auto request = stage.bind_request(1, window.mw, window.rkey, 0);
    request.flags.signaled = false;
    stage.post(request);
    stage.completions();
}

void timer_set_in_sqd(Stage& stage) {
    stage.modify({.state = QpState::Sqd});
    stage.modify({.min_rnr_timer = 20});
    stage.modify({.state = QpState::Rts});
    plain_send(stage);
}

void send_of_two_thousand(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 2000));
}

void receive_after_reset(Stage& stage) {
    stage.connect_again(100, 500);
    const std::array<engine::Sge, 1> sges{{stage.piece(8192, 512)}};
    stage.receive(9, sges);
    plain_send(stage);
    stage.completions();
}

void window_revoked_by_a_long_send(Stage& stage) {
    const auto window = stage.window();
    stage.post(stage.bind_request(1, window.mw, window.rkey, 0));
    stage.arrive(stage.packet(Operation::Send, Position::First, 100, 256));
    auto last = revoking(stage, window.rkey, 4);
    last.bth.opcode = 0x16; // SEND_LAST_WITH_INVALIDATE
    last.bth.psn = wire::Psn(101);
    stage.arrive(last);
    stage.completions();
}

// --- what ports do

void short_read(Stage& stage) {
    stage.arrive(stage.read(100, 4));
}

void read_of_4096_bytes(Stage& stage) {
    stage.arrive(stage.read(100, 4096));
}

void gap_of_another_pkey(Stage& stage) {
    const wire::Envelope way = stage.to_device();
    stage.modify({.state = QpState::Reset});
    stage.modify({.state = QpState::Init,
                  .access = engine::Access{.remote_write = true},
                  .pkey = wire::Pkey{0x8001}});
    stage.modify(
        {.state = QpState::Rtr,
         .path_mtu = wire::Mtu::B256,
         .dest_qp = wire::Qpn{0x200},
         .rq_psn = wire::Psn(100),
         .address = engine::AddressVector{.source = way.destination, .destination = way.source},
         .min_rnr_timer = 1,
         .max_dest_rd_atomic = 4});
    auto ahead = stage.write(Position::Only, 101, 4, 4);
    ahead.bth.pkey = wire::Pkey{0x8001};
    stage.arrive(ahead);
}

void send_after_sqd(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    stage.arrive(stage.answer(500));
    stage.modify({.state = QpState::Sqd});
    stage.modify({.state = QpState::Rts});
    stage.post(stage.request(8, WrOpcode::Send, 4));
}

void marked_write(Stage& stage) {
    auto envelope = stage.to_device();
    envelope.ecn = wire::kCongestionExperienced;
    envelope.vlan = wire::VlanId{.id = 5};
    stage.arrive(stage.write(Position::Only, 100, 4, 4), envelope);
}

void solicited_datagram(Stage& stage) {
    auto datagram = stage.packet(Operation::Send, Position::Only, 1, 4);
    datagram.bth.solicited = true;
    stage.arrive(datagram);
    stage.notification();
}

void uc_message_behind_a_broken_one(Stage& stage) {
    stage.arrive(stage.packet(Operation::Send, Position::First, 100, 256));
    stage.arrive(stage.packet(Operation::Send, Position::Only, 102, 4));
    stage.completions();
}

// The attribute of a message of connection management.
void write_attribute(wire::MutableBytes message, std::uint16_t attribute) {
    constexpr std::size_t attribute_at = 16;
    wire::store_be<2>(message, attribute_at, attribute);
}

void reject(Stage& stage) {
    constexpr std::uint16_t rej = 0x12;
    std::ranges::fill(stage.bytes().first(wire::kMadBytes), std::byte{0});
    write_attribute(stage.bytes(), rej);
    const wire::Envelope way = stage.to_device();
    auto request = stage.request(7, WrOpcode::Send, wire::kMadBytes);
    request.ud =
        engine::UdDestination{.path = {.source = way.destination, .destination = way.source},
                              .qpn = wire::kGsiQpn,
                              .qkey = wire::kGsiQkey};
    stage.post(request);
}

void dreq_twice(Stage& stage) {
    constexpr std::uint16_t dreq = 0x15;
    auto message = stage.packet(Operation::Send, Position::Only, 1, wire::kMadBytes);
    std::vector<std::byte> body(wire::kMadBytes);
    write_attribute(body, dreq);
    message.body = body;
    stage.arrive(message);
    stage.arrive(message);
    stage.completions();
}

std::vector<Difference> responder_differences() {
    const Scene none{.receives = 0};
    return {
        {.name = "duplicate_first_opens_message",
         .act = first_again_between_messages,
         .right = "ACKNOWLEDGE 102, syndrome 1f msn 2",
         .wrong = "ACKNOWLEDGE 102, syndrome 61 msn 1"},
        {.name = "duplicate_atomic_ends_open_write",
         .act = add_again_inside_a_write,
         .right = "ACKNOWLEDGE 102, syndrome 1f msn 2",
         .wrong = "ACKNOWLEDGE 102, syndrome 61 msn 1"},
        {.name = "repeated_read_ends_after_first_packet",
         .act = read_twice,
         .right = "RDMA_READ_RESPONSE_MIDDLE 101, 256 bytes of 2",
         .wrong = ""},
        {.name = "atomic_replays_lost_at_rnr_nak",
         .act = add_again_in_rnr_wait,
         .right = "ATOMIC_ACKNOWLEDGE 100, found 72340172838076673, syndrome 1f msn 1",
         .wrong = "",
         .scene = none},
        {.name = "duplicate_in_rnr_wait_draws_rnr_nak",
         .act = send_again_in_rnr_wait,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .wrong = "ACKNOWLEDGE 100, syndrome 21 msn 1, from another port",
         .scene = {.receives = 1}},
        {.name = "write_behind_rnr_nak_written",
         .act = write_behind_rnr_nak,
         .right = "at 0: 1",
         .wrong = "at 0: 101",
         .scene = none},
        {.name = "read_ahead_naked_again",
         .act = read_behind_a_gap,
         .right = "",
         .wrong = "ACKNOWLEDGE 100, syndrome 60 msn 0, from another port"},
        {.name = "gap_before_read_named_by_read",
         .act = gap_before_a_read,
         .right = "ACKNOWLEDGE 100, syndrome 60 msn 0",
         .wrong = "ACKNOWLEDGE 102, syndrome 60 msn 0"},
        {.name = "gap_before_last_overlooked",
         .act = gap_before_a_last,
         .right = "ACKNOWLEDGE 101, syndrome 60 msn 0",
         .wrong = "ACKNOWLEDGE 102, syndrome 1f msn 1"},
        {.name = "bytes_ahead_of_gap_written_behind_it",
         .act = gap_inside_a_write,
         .right = "at 256: 101",
         .wrong = "at 256: 102"},
        {.name = "fatal_nak_names_first_of_message",
         .act = send_inside_a_write,
         .right = "ACKNOWLEDGE 101, syndrome 61 msn 0",
         .wrong = "ACKNOWLEDGE 100, syndrome 61 msn 0"},
        {.name = "one_open_message_for_all_qps",
         .act = two_qps_take_turns,
         .right = "ACKNOWLEDGE 101, syndrome 1f msn 1",
         .wrong = "ACKNOWLEDGE 101, syndrome 61 msn 0"},
        {.name = "rnr_timer_sent_in_four_bits",
         .act = no_receive_for_long,
         .right = "ACKNOWLEDGE 100, syndrome 34 msn 0",
         .wrong = "ACKNOWLEDGE 100, syndrome 24 msn 0",
         .scene = none},
        {.name = "flush_not_counted",
         .act = flush_and_write,
         .right = "RDMA_READ_RESPONSE_ONLY 100, syndrome 1f msn 1",
         .wrong = "RDMA_READ_RESPONSE_ONLY 100, syndrome 1f msn 0"},
        {.name = "compare_with_zero_always_swaps",
         .act = swap_of_zero,
         .right = "at 0: 1",
         .wrong = "at 0: 77"},
        {.name = "atomics_by_rights_to_read_and_write",
         .act = add_where_may_be_written,
         .right = "ACKNOWLEDGE 100, syndrome 62 msn 0",
         .wrong = "ATOMIC_ACKNOWLEDGE 100, found 72340172838076673, syndrome 1f msn 1"},
        {.name = "atomic_across_region_end_not_naked",
         .act = add_across_the_end,
         .right = "ACKNOWLEDGE 100, syndrome 62 msn 0",
         .wrong = ""},
        {.name = "overflow_at_last_in_silence",
         .act = overflow_at_last,
         .right = "ACKNOWLEDGE 102, syndrome 61 msn 0",
         .wrong = ""},
        {.name = "receive_without_local_write_in_silence",
         .act = receive_that_may_not_be_written,
         .right = "ACKNOWLEDGE 100, syndrome 63 msn 0",
         .wrong = "",
         .scene = none},
        {.name = "receive_of_three_pieces",
         .act = receive_of_four_pieces,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .wrong = "ACKNOWLEDGE 100, syndrome 61 msn 0",
         .scene = none},
        {.name = "flush_in_any_domain",
         .act = flush_of_another_domain,
         .right = "ACKNOWLEDGE 100, syndrome 62 msn 0",
         .wrong = "RDMA_READ_RESPONSE_ONLY 100, syndrome 1f msn 1"},
        {.name = "qp_right_of_atomic_write_not_checked",
         .act = atomic_write_without_right,
         .right = "ACKNOWLEDGE 100, syndrome 61 msn 0",
         .wrong = "RDMA_READ_RESPONSE_ONLY 100, syndrome 1f msn 1"},
        {.name = "window_bound_again_keeps_first_range",
         .act = window_bound_to_second_range,
         .right = "RDMA_READ_RESPONSE_ONLY 100, 4 bytes of 5, syndrome 1f msn 1",
         .wrong = "ACKNOWLEDGE 100, syndrome 62 msn 0"},
        {.name = "any_variant_revokes",
         .act = revoke_another_variant,
         .right = "",
         .wrong = "ACKNOWLEDGE 100, syndrome 1f msn 1"},
        {.name = "empty_send_revokes_nothing",
         .act = revoke_a_region_without_bytes,
         .right = "",
         .wrong = "ACKNOWLEDGE 100, syndrome 1f msn 1"},
    };
}

std::vector<Difference> requester_differences() {
    return {
        {.name = "unsignaled_request_not_resent",
         .act = silent_send_without_answer,
         .right = "SEND_ONLY 500, 4 bytes of 1, asks",
         .wrong = ""},
        {.name = "piece_of_whole_packets_sent_twice",
         .act = pieces_of_whole_packets,
         .right = "SEND_LAST 501, 256 bytes of 3, asks",
         .wrong = "SEND_LAST 501, 256 bytes of 1, asks"},
        {.name = "restarted_read_tells_length_of_tail",
         .act = read_restarts_in_the_middle,
         .right = "send 7 SUCCESS 700 bytes",
         .wrong = "send 7 SUCCESS 444 bytes"},
        {.name = "sent_requests_not_flushed",
         .act = host_ends_a_send,
         .right = "send 7 WR_FLUSH_ERR",
         .wrong = "recv 0 WR_FLUSH_ERR"},
        {.name = "long_send_with_invalidate_names_no_key",
         .act = long_send_that_revokes,
         .right = "SEND_LAST_WITH_INV 501, 4 bytes of 2, revokes 0x123, asks",
         .wrong = "SEND_LAST 501, 4 bytes of 2, asks"},
        {.name = "fenced_atomic_does_not_wait",
         .act = fenced_add_behind_a_read,
         .right = "",
         .wrong = "FETCH_ADD 501, asks"},
        {.name = "read_responses_ignored_in_sqd",
         .act = response_in_sqd,
         .right = "send 7 SUCCESS",
         .wrong = ""},
        {.name = "nothing_resent_in_sqd",
         .act = timeout_in_sqd,
         .right = "SEND_ONLY 500, 4 bytes of 1, asks",
         .wrong = ""},
        {.name = "resent_flush_covers_nothing",
         .act = flush_without_answer,
         .right = "FLUSH 500, for 64 bytes at 0x5000, asks",
         .wrong = "FLUSH 500, for 0 bytes at 0x5000, asks"},
        {.name = "ack_completes_atomic_write",
         .act = ack_of_an_atomic_write,
         .right = "",
         .wrong = "send 7 SUCCESS"},
        {.name = "only_response_to_read_tail_ignored",
         .act = read_restarts_at_its_last,
         .right = "send 7 SUCCESS",
         .wrong = ""},
        {.name = "no_rnr_wait_for_reads",
         .act = rnr_nak_of_a_read,
         .right = "",
         .wrong = "RDMA_READ_REQUEST 500, for 4 bytes at 0x5000, asks"},
        {.name = "read_timer_not_restarted_by_responses",
         .act = slow_read,
         .right = "",
         .wrong = "RDMA_READ_REQUEST 500, for 700 bytes at 0x5000, asks"},
        {.name = "inline_write_with_immediate_read_later",
         .act = inline_write_without_answer,
         .right = "RDMA_WRITE_ONLY_WITH_IMM 500, 4 bytes of 1, for 4 bytes at 0x5000, "
                  "immediate 7, asks",
         .wrong = "RDMA_WRITE_ONLY_WITH_IMM 500, 4 bytes of 77, for 4 bytes at 0x5000, "
                  "immediate 7, asks"},
        {.name = "unsignaled_local_work_completes",
         .act = silent_bind,
         .right = "",
         .wrong = "send 1 SUCCESS"},
        {.name = "rnr_timer_change_in_sqd_ignored",
         .act = timer_set_in_sqd,
         .right = "ACKNOWLEDGE 100, syndrome 34 msn 0",
         .wrong = "ACKNOWLEDGE 100, syndrome 21 msn 0",
         .scene = {.receives = 0}},
        {.name = "mtu_2048_acts_as_1024",
         .act = send_of_two_thousand,
         .right = "SEND_ONLY 500, 2000 bytes of 8, asks",
         .wrong = "SEND_FIRST 500, 1024 bytes of 4",
         .scene = {.mtu = wire::Mtu::B2048}},
        {.name = "receives_survive_reset",
         .act = receive_after_reset,
         .right = "recv 9 SUCCESS 4 bytes",
         .wrong = "recv 0 SUCCESS 4 bytes"},
        {.name = "revoked_key_of_long_send_not_told",
         .act = window_revoked_by_a_long_send,
         .right = "recv 0 SUCCESS 260 bytes revoked 0x200",
         .wrong = "recv 0 SUCCESS 260 bytes"},
    };
}

std::vector<Difference> port_differences() {
    return {
        {.name = "read_responses_may_be_fragmented",
         .act = short_read,
         .right = "RDMA_READ_RESPONSE_ONLY 100, 4 bytes of 1, syndrome 1f msn 1",
         .wrong = "RDMA_READ_RESPONSE_ONLY 100, 4 bytes of 1, syndrome 1f msn 1, without DF"},
        {.name = "icrc_of_large_packets_wrong",
         .act = read_of_4096_bytes,
         .right = "RDMA_READ_RESPONSE_ONLY 100, 4096 bytes of 16, syndrome 1f msn 1",
         .wrong = "RDMA_READ_RESPONSE_ONLY 100, 4096 bytes of 16, syndrome 1f msn 1, damaged",
         .scene = {.mtu = wire::Mtu::B4096}},
        {.name = "naks_with_default_pkey",
         .act = gap_of_another_pkey,
         .right = "ACKNOWLEDGE 100, syndrome 60 msn 0, P_Key 0x8001",
         .wrong = "ACKNOWLEDGE 100, syndrome 60 msn 0"},
        {.name = "source_port_changes_with_sqd",
         .act = send_after_sqd,
         .right = "SEND_ONLY 501, 4 bytes of 1, asks",
         .wrong = "SEND_ONLY 501, 4 bytes of 1, asks, from another port"},
        {.name = "cnp_without_vlan",
         .act = marked_write,
         .right = "CNP 0, 16 bytes of 0, DSCP 48, VLAN 5",
         .wrong = "CNP 0, 16 bytes of 0, DSCP 48",
         .scene = {.vlan = 5}},
        {.name = "datagrams_never_solicited",
         .act = solicited_datagram,
         .right = "notified",
         .wrong = "not notified",
         .scene = {.type = QpType::Ud}},
        {.name = "uc_message_after_broken_one_lost",
         .act = uc_message_behind_a_broken_one,
         .right = "recv 0 SUCCESS 4 bytes",
         .wrong = "",
         .scene = {.type = QpType::Uc}},
        {.name = "rej_names_another_message",
         .act = reject,
         .right = "SEND_ONLY 500, 256 bytes of 0, Q_Key 0x80010000, to QP 0x1, rejects 0",
         .wrong = "SEND_ONLY 500, 256 bytes of 0, Q_Key 0x80010000, to QP 0x1, rejects 2",
         .scene = {.type = QpType::Ud, .gsi = true}},
        {.name = "repeated_dreq_not_answered",
         .act = dreq_twice,
         .right = "recv 1 SUCCESS 296 bytes",
         .wrong = "",
         .scene = {.type = QpType::Ud, .gsi = true}},
    };
}

} // namespace

TEST_CASE("blind: each defect of the seventh sample differs from the right device", "[mutants]") {
    check_differences({responder_differences, requester_differences, port_differences}, blind(7));
}

} // namespace veriroce::mutants::test::of_blind7
