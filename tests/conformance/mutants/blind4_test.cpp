// The fourth blind sample: under some lawful use each defect does something that the right device
// does not.
#include <algorithm>
#include <set>

#include <catch2/catch.hpp>

#include "tests/conformance/mutants/difference.hpp"

namespace veriroce::mutants::test::of_blind4 {

namespace {

using engine::QpState;
using engine::QpType;
using engine::WrOpcode;
using wire::Operation;
using wire::Position;

constexpr std::uint64_t other_base = 0x20000; // of a second region

// --- what responders do

void gap_at_once(Stage& stage) {
    stage.arrive(stage.send(101));
}

void gap_after_rnr(Stage& stage) {
    stage.arrive(stage.send(100));
    post_receive(stage);
    stage.arrive(stage.send(100));
    stage.arrive(stage.send(102));
}

void add_inside_write(Stage& stage) {
    stage.arrive(stage.write(Position::First, 100, 256, 300));
    stage.arrive(stage.add(101, 1));
}

void gaps_of_two_qps(Stage& stage) {
    stage.arrive(stage.send(102));
    stage.turn_to(1);
    stage.arrive(stage.send(102));
}

void full_last_with_immediate(Stage& stage) {
    stage.arrive(stage.packet(Operation::Send, Position::First, 100, 256));
    stage.arrive(stage.packet(Operation::Send, Position::Last, 101, 256, true));
}

void gap_behind_refused_read(Stage& stage) {
    auto read = stage.read(100, 4);
    read.reth.rkey = wire::Rkey{0x12345678};
    stage.arrive(read);
    stage.arrive(stage.send(105));
}

void duplicate_add_inside_write(Stage& stage) {
    stage.arrive(stage.add(100, 1, 1024));
    stage.arrive(stage.write(Position::First, 101, 256, 300));
    stage.arrive(stage.add(100, 1, 1024));
    stage.memory(1024);
}

void five_adds_and_the_first_again(Stage& stage) {
    for (std::uint32_t psn = 100; psn < 105; ++psn)
        stage.arrive(stage.add(psn, 1, 8 * (psn - 100)));
    stage.arrive(stage.add(100, 1));
}

wire::Packet atomic_at(Stage& stage, Operation operation, std::uint64_t address, wire::Rkey key) {
    auto request = stage.packet(operation, Position::Only, 100, 0);
    request.atomic = {.virtual_address = address, .rkey = key, .swap_or_add = 1, .compare = 0};
    return request;
}

void add_to_region_at_odd_address(Stage& stage) {
    const auto key =
        stage.register_at(other_base + 4, 0, 64, {.local_write = true, .remote_atomic = true});
    stage.arrive(atomic_at(stage, Operation::FetchAdd, other_base + 8, key));
}

void swap_in_atomic_region(Stage& stage) {
    const auto key =
        stage.register_at(other_base, 0, 64, {.local_write = true, .remote_atomic = true});
    stage.arrive(atomic_at(stage, Operation::CompareSwap, other_base, key));
}

void add_to_last_word(Stage& stage) {
    stage.arrive(stage.add(100, 1, Stage::region_bytes - 8));
}

void write_unacknowledged(Stage& stage) {
    auto write = stage.write(Position::Only, 100, 8, 8);
    write.bth.ack_request = false;
    stage.arrive(write);
}
void add_behind_write(Stage& stage) {
    write_unacknowledged(stage);
    stage.arrive(stage.add(101, 1));
}
void read_behind_write(Stage& stage) {
    write_unacknowledged(stage);
    stage.arrive(stage.read(101, 8));
}

void duplicate_read_inside_write(Stage& stage) {
    stage.arrive(stage.read(100, 4));
    stage.arrive(stage.write(Position::First, 101, 256, 300));
    stage.arrive(stage.read(100, 4));
}

void read_from_odd_address(Stage& stage) {
    auto read = stage.read(100, 510);
    read.reth.virtual_address += 3;
    stage.arrive(read);
}

void read_many_times(Stage& stage) {
    for (int i = 0; i < 9; ++i)
        stage.arrive(stage.read(100, 4));
    stage.arrive(stage.read(101, 4));
}

void empty_read_behind_read(Stage& stage) {
    stage.arrive(stage.read(100, 4));
    stage.arrive(stage.read(101, 0));
}

// --- what requesters do

void read_lost_twice(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::RdmaRead, 700));
    stage.arrive(stage.packet(Operation::RdmaReadResponse, Position::First, 500, 256));
    stage.wait();
    stage.arrive(stage.packet(Operation::RdmaReadResponse, Position::First, 501, 256));
    stage.wait();
}

void inline_send_without_answer(Stage& stage) {
    auto request = stage.request(7, WrOpcode::Send, 4);
    request.flags.inline_data = true;
    stage.post(request);
    stage.bytes()[3] = std::byte{77};
    stage.wait();
}

void read_of_two_pieces_restarts(Stage& stage) {
    const std::array<engine::Sge, 2> sges{{stage.piece(0, 300), stage.piece(1024, 300)}};
    auto request = stage.request(7, WrOpcode::RdmaRead, 0);
    request.sges = sges;
    stage.post(request);
    stage.arrive(stage.packet(Operation::RdmaReadResponse, Position::First, 500, 256));
    stage.wait();
    stage.arrive(stage.packet(Operation::RdmaReadResponse, Position::First, 501, 256));
    stage.memory(1024);
}

void fence_behind_atomic(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::AtomicFetchAndAdd, 8));
    auto fenced = stage.request(8, WrOpcode::Send, 4);
    fenced.flags.fence = true;
    stage.post(fenced);
}

void send_with_empty_piece(Stage& stage) {
    const std::array<engine::Sge, 3> sges{
        {stage.piece(0, 4), stage.piece(0, 0), stage.piece(256, 4)}};
    auto request = stage.request(7, WrOpcode::Send, 0);
    request.sges = sges;
    stage.post(request);
}

void two_sends_with_invalidate(Stage& stage) {
    auto first = stage.request(7, WrOpcode::SendWithInv, 4);
    first.invalidate_rkey = wire::Rkey{0x77};
    stage.post(first);
    auto second = stage.request(8, WrOpcode::SendWithInv, 300);
    second.invalidate_rkey = wire::Rkey{0x88};
    stage.post(second);
}

void rnr_nak_for_atomic(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::AtomicFetchAndAdd, 8));
    stage.arrive(stage.answer(500, wire::Syndrome::rnr(1)));
    stage.wait();
    stage.completions();
}

void rnr_naks_for_two_qps(Stage& stage) {
    stage.turn_to(1);
    stage.turn_to(0);
    for (const std::size_t qp : {0U, 1U}) {
        stage.turn_to(qp);
        stage.post(stage.request(qp, WrOpcode::Send, 4));
    }
    for (const std::size_t qp : {0U, 1U}) {
        stage.turn_to(qp);
        stage.arrive(stage.answer(500, wire::Syndrome::rnr(qp == 0 ? 1 : 20)));
    }
    stage.wait();
}

void two_reads_with_rnr_naks(Stage& stage) {
    for (std::uint32_t psn = 500; psn < 502; ++psn) {
        stage.post(stage.request(psn, WrOpcode::RdmaRead, 4));
        stage.arrive(stage.answer(psn, wire::Syndrome::rnr(1)));
        stage.wait();
        stage.arrive(stage.packet(Operation::RdmaReadResponse, Position::Only, psn, 4));
        stage.completions();
    }
}

void two_tries_without_receive(Stage& stage) {
    stage.arrive(stage.send(100));
    stage.pass(wire::rnr_time(1) * 2);
    stage.arrive(stage.send(100));
}

void immediate_after_rnr(Stage& stage) {
    stage.arrive(stage.packet(Operation::Send, Position::Only, 100, 4, true));
    post_receive(stage);
    stage.arrive(stage.packet(Operation::Send, Position::Only, 100, 4, true));
    stage.completions();
}

// --- what hosts see

void write_to_end_of_window(Stage& stage) {
    auto write = stage.write(Position::Only, 100, 4, 4);
    write.reth.rkey = stage.bind({.remote_write = true});
    write.reth.virtual_address += 4092;
    stage.arrive(write);
}

void flush_of_whole_region(Stage& stage) {
    const engine::Access rights{.local_write = true, .remote_write = true, .flush_global = true};
    stage.modify({.access = rights});
    const auto key = stage.register_at(other_base, 0, 64, rights);
    auto flush = stage.packet(Operation::Flush, Position::Only, 100, 0);
    flush.feth.placement = 1;
    flush.feth.selectivity = 1;
    flush.reth = {.virtual_address = 0, .rkey = key, .dma_length = 4};
    stage.arrive(flush);
}

void immediate_write_to_readable_region(Stage& stage) {
    auto write = stage.write(Position::Only, 100, 4, 4, true);
    write.reth.rkey =
        stage.register_at(other_base, 0, 64, {.local_write = true, .remote_read = true});
    write.reth.virtual_address = other_base;
    stage.arrive(write);
}

void add_with_another_key(Stage& stage) {
    auto add = stage.add(100, 1);
    add.atomic.rkey.value ^= 0x80000000;
    stage.arrive(add);
}

void long_send_revokes_nothing(Stage& stage) {
    stage.arrive(stage.packet(Operation::Send, Position::First, 100, 256));
    auto last = stage.packet(Operation::Send, Position::Last, 101, 4);
    last.bth.opcode = wire::opcode_by_name("SEND_LAST_WITH_INV").value();
    last.headers = last.info().headers;
    stage.arrive(last); // no window has the key 0
}

void refused_send_and_another(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    stage.post(stage.request(8, WrOpcode::Send, 4));
    stage.arrive(stage.answer(500, wire::Syndrome::nak(wire::NakCode::RemoteAccess)));
    stage.completions();
}

void send_and_empty_write(Stage& stage) {
    stage.arrive(stage.send(100));
    stage.arrive(stage.write(Position::Only, 101, 0, 0, true));
    stage.completions();
}

void sends_to_two_qps(Stage& stage) {
    stage.arrive(stage.send(100));
    stage.turn_to(1);
    stage.arrive(stage.send(100));
    stage.completions();
}

void solicited_last(Stage& stage) {
    stage.arrive(stage.packet(Operation::Send, Position::First, 100, 256));
    auto last = stage.packet(Operation::Send, Position::Last, 101, 4);
    last.bth.solicited = true;
    stage.arrive(last);
    stage.notification();
}

void drain(Stage& stage) {
    stage.modify({.state = QpState::Sqd});
    stage.events();
}

void peer_migrates(Stage& stage) {
    stage.arrive(stage.send(100)); // the host's path is loaded once it has heard the peer
    stage.load_alternate();
    stage.arrive(stage.send(101));
    auto send = stage.send(102);
    send.bth.mig_req = true;
    stage.arrive(send, stage.alternate_to_device());
    stage.events();
}

void datagram_of_472_bytes(Stage& stage) {
    stage.arrive(stage.packet(Operation::Send, Position::Only, 1, 472));
    stage.completions();
}

void datagram_with_high_key(Stage& stage) {
    auto request = stage.request(7, WrOpcode::Send, 4);
    const wire::Envelope way = stage.to_device();
    request.ud = {.path = {.source = way.destination, .destination = way.source},
                  .qpn = wire::Qpn{0x200},
                  .qkey = wire::Qkey{0x80000001}};
    stage.post(request);
}

void datagram_of_large_qp(Stage& stage) {
    auto datagram = stage.send(1);
    datagram.deth.source_qp = wire::Qpn{0x123456};
    stage.arrive(datagram);
    stage.completions();
}

void datagram_with_immediate(Stage& stage) {
    stage.arrive(stage.packet(Operation::Send, Position::Only, 1, 4, true));
    stage.completions();
}

// --- what ports do

void ack_of_another_partition(Stage& stage) {
    stage.post(stage.request(7, WrOpcode::Send, 4));
    auto ack = stage.answer(500);
    ack.bth.pkey = wire::Pkey{0x9234};
    stage.arrive(ack);
    stage.completions();
}

void damaged_add(Stage& stage) {
    stage.arrive_spoiled(stage.add(100, 1), 1, stage.to_device());
}

void send_of_limited_member(Stage& stage) {
    auto send = stage.send(100);
    send.bth.pkey = wire::Pkey{0x7FFF};
    stage.arrive(send);
}

void send_with_tag(Stage& stage, wire::VlanId tag) {
    auto envelope = stage.to_device();
    envelope.vlan = tag;
    stage.arrive(stage.send(100), envelope);
}
void send_with_priority(Stage& stage) {
    send_with_tag(stage, {.id = 0, .priority = 5});
}
void send_in_vlan(Stage& stage) {
    send_with_tag(stage, {.id = 5});
}

void second_connection_with_larger_mtu(Stage& stage) {
    stage.connect_again(100, 500, wire::Mtu::B512);
    stage.arrive(stage.write(Position::Only, 100, 512, 512));
}

void marked_send(Stage& stage) {
    auto envelope = stage.to_device();
    envelope.ecn = wire::kCongestionExperienced;
    auto send = stage.send(100);
    send.bth.solicited = true;
    stage.arrive(send, envelope);
}

void cnp_inside_send(Stage& stage) {
    stage.arrive(stage.packet(Operation::Send, Position::First, 100, 256));
    stage.arrive(cnp_of(stage));
    stage.arrive(stage.packet(Operation::Send, Position::Last, 101, 4));
}

void uc_send_behind_gap(Stage& stage) {
    stage.arrive(stage.send(102));
    stage.completions();
}

std::vector<Difference> responder_differences() {
    return {
        {.name = "no_nak_before_first_request",
         .act = gap_at_once,
         .right = "ACKNOWLEDGE 100, syndrome 60 msn 0",
         .wrong = ""},
        {.name = "no_sequence_nak_after_rnr",
         .act = gap_after_rnr,
         .right = "ACKNOWLEDGE 101, syndrome 60 msn 1",
         .wrong = "",
         .scene = {.receives = 0}},
        {.name = "fetch_add_accepted_inside_write",
         .act = add_inside_write,
         .right = "ACKNOWLEDGE 101, syndrome 61 msn 0",
         .wrong = "ATOMIC_ACKNOWLEDGE 101, found 7234017283807667300, syndrome 1f msn 1"},
        {.name = "one_sequence_nak_for_all_qps",
         .act = gaps_of_two_qps,
         .right = "ACKNOWLEDGE 100, syndrome 60 msn 0, to QP 0x201, from another port",
         .wrong = ""},
        {.name = "immediate_counted_against_mtu",
         .act = full_last_with_immediate,
         .right = "ACKNOWLEDGE 101, syndrome 1f msn 1",
         .wrong = "ACKNOWLEDGE 101, syndrome 61 msn 0"},
        {.name = "gap_nak_from_ended_qp",
         .act = gap_behind_refused_read,
         .right = "",
         .wrong = "ACKNOWLEDGE 100, syndrome 60 msn 0"},
        {.name = "duplicate_add_executed_inside_message",
         .act = duplicate_add_inside_write,
         .right = "at 1024: 6",
         .wrong = "at 1024: 7"},
        {.name = "forgotten_atomic_told_of_newer",
         .act = five_adds_and_the_first_again,
         .right = "",
         .wrong = "ATOMIC_ACKNOWLEDGE 100, found 72340172838076673, syndrome 1f msn 5"},
        {.name = "atomic_alignment_of_offset",
         .act = add_to_region_at_odd_address,
         .right = "ATOMIC_ACKNOWLEDGE 100, found 72340172838076673, syndrome 1f msn 1",
         .wrong = "ACKNOWLEDGE 100, syndrome 61 msn 0"},
        {.name = "compare_swap_needs_read_right",
         .act = swap_in_atomic_region,
         .right = "ATOMIC_ACKNOWLEDGE 100, found 72340172838076673, syndrome 1f msn 1",
         .wrong = "ACKNOWLEDGE 100, syndrome 62 msn 0"},
        {.name = "atomic_in_last_word_refused",
         .act = add_to_last_word,
         .right = "ATOMIC_ACKNOWLEDGE 100, found 4629771061636907072, syndrome 1f msn 1",
         .wrong = "ACKNOWLEDGE 100, syndrome 62 msn 0"},
        {.name = "add_behind_write_takes_old_value",
         .act = add_behind_write,
         .right = "ATOMIC_ACKNOWLEDGE 101, found 7234017283807667300, syndrome 1f msn 2",
         .wrong = "ATOMIC_ACKNOWLEDGE 101, found 72340172838076673, syndrome 1f msn 2"},
        {.name = "read_behind_write_returns_old_bytes",
         .act = read_behind_write,
         .right = "RDMA_READ_RESPONSE_ONLY 101, 8 bytes of 100, syndrome 1f msn 2",
         .wrong = "RDMA_READ_RESPONSE_ONLY 101, 8 bytes of 1, syndrome 1f msn 2"},
        {.name = "duplicate_read_dropped_inside_message",
         .act = duplicate_read_inside_write,
         .right = "RDMA_READ_RESPONSE_ONLY 100, 4 bytes of 101, syndrome 1f msn 1",
         .wrong = ""},
        {.name = "later_read_packets_from_word",
         .act = read_from_odd_address,
         .right = "RDMA_READ_RESPONSE_LAST 101, 254 bytes of 3, syndrome 1f msn 1",
         .wrong = "RDMA_READ_RESPONSE_LAST 101, 254 bytes of 2, syndrome 1f msn 1"},
        {.name = "duplicate_reads_use_up_resources",
         .act = read_many_times,
         .right = "RDMA_READ_RESPONSE_ONLY 101, 4 bytes of 1, syndrome 1f msn 2",
         .wrong = "ACKNOWLEDGE 101, syndrome 61 msn 1"},
        {.name = "empty_read_merged_with_read_before",
         .act = empty_read_behind_read,
         .right = "RDMA_READ_RESPONSE_ONLY 101, syndrome 1f msn 2",
         .wrong = ""},
    };
}

std::vector<Difference> requester_differences() {
    return {
        {.name = "second_read_restart_adds_twice",
         .act = read_lost_twice,
         .right = "RDMA_READ_REQUEST 502, for 188 bytes at 0x5200, asks",
         .wrong = "RDMA_READ_REQUEST 502, for 188 bytes at 0x5300, asks"},
        {.name = "resent_inline_data_read_again",
         .act = inline_send_without_answer,
         .right = "SEND_ONLY 500, 4 bytes of 1, asks",
         .wrong = "SEND_ONLY 500, 4 bytes of 77, asks"},
        {.name = "restarted_read_goes_on_in_first_piece",
         .act = read_of_two_pieces_restarts,
         .right = "at 1024: 245",
         .wrong = "at 1024: 5"},
        {.name = "fence_ignores_atomics",
         .act = fence_behind_atomic,
         .right = "",
         .wrong = "SEND_ONLY 501, 4 bytes of 1, asks"},
        {.name = "empty_piece_ends_list",
         .act = send_with_empty_piece,
         .right = "SEND_ONLY 500, 8 bytes of 2, asks",
         .wrong = "SEND_ONLY 500, 4 bytes of 1, asks"},
        {.name = "long_send_revokes_previous_key",
         .act = two_sends_with_invalidate,
         .right = "SEND_LAST_WITH_INV 502, 44 bytes of 2, revokes 0x88, asks",
         .wrong = "SEND_LAST_WITH_INV 502, 44 bytes of 2, revokes 0x77, asks"},
        {.name = "rnr_nak_of_atomic_ends_qp",
         .act = rnr_nak_for_atomic,
         .right = "FETCH_ADD 500, asks",
         .wrong = "idle"},
        {.name = "one_rnr_timer_for_all_qps",
         .act = rnr_naks_for_two_qps,
         .right = "",
         .wrong = "SEND_ONLY 500, 4 bytes of 1, asks, to QP 0x201, from another port"},
        {.name = "read_reloads_no_rnr_retries",
         .act = two_reads_with_rnr_naks,
         .right = "RDMA_READ_REQUEST 501, for 4 bytes at 0x5000, asks",
         .wrong = "idle",
         .scene = {.rnr_retry = 1}},
        {.name = "one_rnr_nak_per_request",
         .act = two_tries_without_receive,
         .right = "ACKNOWLEDGE 100, syndrome 21 msn 0",
         .wrong = "",
         .scene = {.receives = 0}},
        {.name = "immediate_lost_after_rnr",
         .act = immediate_after_rnr,
         .right = "recv 0 SUCCESS 4 bytes immediate 100",
         .wrong = "recv 0 SUCCESS 4 bytes immediate 0",
         .scene = {.receives = 0}},
    };
}

std::vector<Difference> host_differences() {
    const Scene datagrams{.type = QpType::Ud};
    return {
        {.name = "window_last_byte_refused",
         .act = write_to_end_of_window,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .wrong = "ACKNOWLEDGE 100, syndrome 62 msn 0"},
        {.name = "flush_of_region_checks_range",
         .act = flush_of_whole_region,
         .right = "RDMA_READ_RESPONSE_ONLY 100, syndrome 1f msn 1",
         .wrong = "ACKNOWLEDGE 100, syndrome 62 msn 0"},
        {.name = "immediate_write_needs_no_right",
         .act = immediate_write_to_readable_region,
         .right = "ACKNOWLEDGE 100, syndrome 62 msn 0",
         .wrong = "ACKNOWLEDGE 100, syndrome 1f msn 1"},
        {.name = "shared_receive_in_domain_of_qp",
         .act = plain_send,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .wrong = "ACKNOWLEDGE 100, syndrome 63 msn 0",
         .scene = {.shared = true, .apart = true}},
        {.name = "atomic_key_without_highest_byte",
         .act = add_with_another_key,
         .right = "ACKNOWLEDGE 100, syndrome 62 msn 0",
         .wrong = "ATOMIC_ACKNOWLEDGE 100, found 72340172838076673, syndrome 1f msn 1"},
        {.name = "last_with_invalidate_taken_for_last",
         .act = long_send_revokes_nothing,
         .right = "",
         .wrong = "ACKNOWLEDGE 101, syndrome 1f msn 1"},
        {.name = "failure_told_after_first_flush",
         .act = refused_send_and_another,
         .right = "send 7 REM_ACCESS_ERR",
         .wrong = "send 8 WR_FLUSH_ERR",
         .scene = {.receives = 0}},
        {.name = "empty_write_has_length_of_before",
         .act = send_and_empty_write,
         .right = "recv 1 SUCCESS 0 bytes immediate 101",
         .wrong = "recv 1 SUCCESS 4 bytes immediate 101"},
        {.name = "shared_receive_names_first_qp",
         .act = sends_to_two_qps,
         .right = "recv 1 SUCCESS 4 bytes",
         .wrong = "recv 1 SUCCESS 4 bytes of another QP",
         .scene = {.shared = true}},
        {.name = "last_never_solicited",
         .act = solicited_last,
         .right = "notified",
         .wrong = "not notified"},
        {.name = "drain_told_unasked", .act = drain, .right = "", .wrong = "event SQ_DRAINED"},
        {.name = "migration_by_peer_not_told",
         .act = peer_migrates,
         .right = "event PATH_MIG",
         .wrong = ""},
        {.name = "datagram_of_exact_fit_dropped",
         .act = datagram_of_472_bytes,
         .right = "recv 0 SUCCESS 512 bytes",
         .wrong = "",
         .scene = datagrams},
        {.name = "controlled_qkey_sent_as_posted",
         .act = datagram_with_high_key,
         .right = "SEND_ONLY 500, 4 bytes of 1, Q_Key 0x11111111",
         .wrong = "SEND_ONLY 500, 4 bytes of 1, Q_Key 0x80000001",
         .scene = datagrams},
        {.name = "source_qp_in_sixteen_bits",
         .act = datagram_of_large_qp,
         .right = "recv 0 SUCCESS 44 bytes from QP 0x123456",
         .wrong = "recv 0 SUCCESS 44 bytes from QP 0x3456",
         .scene = datagrams},
        {.name = "datagram_length_counts_immediate",
         .act = datagram_with_immediate,
         .right = "recv 0 SUCCESS 44 bytes immediate 1",
         .wrong = "recv 0 SUCCESS 48 bytes immediate 1",
         .scene = datagrams},
    };
}

std::vector<Difference> port_differences() {
    return {
        {.name = "pkey_of_responses_not_checked",
         .act = ack_of_another_partition,
         .right = "",
         .wrong = "send 7 SUCCESS"},
        {.name = "icrc_of_packets_without_payload_not_checked",
         .act = damaged_add,
         .right = "",
         .wrong = "ATOMIC_ACKNOWLEDGE 100, found 72340172838076673, syndrome 1f msn 1"},
        {.name = "answers_echo_pkey",
         .act = send_of_limited_member,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .wrong = "ACKNOWLEDGE 100, syndrome 1f msn 1, P_Key 0x7fff"},
        {.name = "urgent_priority_tag_dropped",
         .act = send_with_priority,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .wrong = ""},
        {.name = "answers_without_vlan",
         .act = send_in_vlan,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1, VLAN 5",
         .wrong = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .scene = {.vlan = 5}},
        {.name = "answers_on_first_path",
         .act = peer_migrates,
         .right = "ACKNOWLEDGE 102, syndrome 1f msn 3, to another address",
         .wrong = "ACKNOWLEDGE 102, syndrome 1f msn 3"},
        {.name = "first_path_mtu_stays",
         .act = second_connection_with_larger_mtu,
         .right = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .wrong = "ACKNOWLEDGE 100, syndrome 61 msn 0"},
        {.name = "no_cnp_before_rts",
         .act = marked_send,
         .right = "CNP 0, 16 bytes of 0, DSCP 48",
         .wrong = "ACKNOWLEDGE 100, syndrome 1f msn 1",
         .scene = {.sends = false}},
        {.name = "cnp_ends_open_message",
         .act = cnp_inside_send,
         .right = "ACKNOWLEDGE 101, syndrome 1f msn 1",
         .wrong = "ACKNOWLEDGE 101, syndrome 61 msn 0"},
        {.name = "cnp_copies_solicited",
         .act = marked_send,
         .right = "CNP 0, 16 bytes of 0, DSCP 48",
         .wrong = "CNP 0, 16 bytes of 0, solicited, DSCP 48"},
        {.name = "cnp_to_senders_port",
         .act = marked_send,
         .right = "CNP 0, 16 bytes of 0, DSCP 48",
         .wrong = "UDP, but not to port 4791"},
        {.name = "uc_only_lost_after_gap",
         .act = uc_send_behind_gap,
         .right = "recv 0 SUCCESS 4 bytes",
         .wrong = "",
         .scene = {.type = QpType::Uc}},
    };
}

} // namespace

TEST_CASE("blind: each defect of the fourth sample differs from the right device", "[mutants]") {
    check_differences(
        {responder_differences, requester_differences, host_differences, port_differences},
        blind(4));
}

} // namespace veriroce::mutants::test::of_blind4
