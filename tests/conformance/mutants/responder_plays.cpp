// Requests that show a responder's defects.
#include <algorithm>

#include "dissector/wire/icrc.hpp"
#include "tests/conformance/mutants/bench.hpp"

namespace veriroce::mutants::test {

using wire::Operation;
using wire::Position;

namespace {

std::vector<std::byte> with_wrong_icrc(Bench& bench, std::uint32_t psn) {
    auto frame = bench.frame(bench.send_only(psn));
    frame.back() ^= std::byte{1};
    return frame;
}

void corrupted(Bench& bench) {
    bench.arrive_frame(with_wrong_icrc(bench, 100));
    bench.arrive_frame(bench.frame(bench.send_only(100)));
}

void swapped(Bench& bench) {
    auto frame = bench.frame(bench.send_only(100));
    std::ranges::reverse(std::span(frame).last(4));
    bench.arrive_frame(frame);
    bench.arrive_frame(with_wrong_icrc(bench, 101));
}

void padded_frame(Bench& bench) {
    auto frame = bench.frame(bench.packet(Operation::Send, Position::Only, 100, 0));
    frame.resize(60);
    bench.arrive_frame(frame);
    bench.arrive_frame(bench.frame(bench.packet(Operation::Send, Position::Only, 101, 64)));
}

void gap(Bench& bench) {
    for (const std::uint32_t psn : {100U, 102U, 103U, 101U})
        bench.arrive(bench.send_only(psn));
}

void two_gaps(Bench& bench) {
    for (const std::uint32_t psn : {101U, 100U, 102U})
        bench.arrive(bench.send_only(psn));
}

void duplicate_send(Bench& bench) {
    bench.arrive(bench.send_only(100));
    bench.arrive(bench.send_only(100));
    bench.arrive(bench.write(101));
    bench.completions();
}

void version_one(Bench& bench) {
    auto packet = bench.send_only(100);
    packet.bth.version = 1;
    bench.arrive(packet);
}

void unknown_qp(Bench& bench) {
    auto packet = bench.send_only(100);
    packet.bth.dest_qp = {0xABCDE};
    bench.arrive(packet);
    bench.arrive(bench.send_only(100));
}

void other_service(Bench& bench) {
    auto packet = bench.send_only(100);
    packet.bth.opcode = *wire::opcode_of(wire::Service::Uc, Operation::Send, Position::Only);
    bench.arrive(packet);
}

void dead_qp(Bench& bench) {
    bench.arrive(bench.packet(Operation::Send, Position::Middle, 100, 256));
    bench.arrive(bench.send_only(100));
}

void bad_key(Bench& bench, wire::Rkey key) {
    auto packet = bench.write(100);
    packet.reth.rkey = key;
    bench.arrive(packet);
    bench.arrive(bench.send_only(100));
}

constexpr std::string_view one_nak_and_ack = "ACKNOWLEDGE 100 1f msn 1\n"
                                             "ACKNOWLEDGE 101 60 msn 1\n"
                                             "ACKNOWLEDGE 101 1f msn 2\n";
constexpr std::string_view invalid = "ACKNOWLEDGE 100 61 msn 0\n";
constexpr std::string_view no_access = "ACKNOWLEDGE 100 62 msn 0\n";

} // namespace

std::vector<Play> framing_plays() {
    return {
        {"icrc_at_the_end_of_the_frame", padded_frame,
         "ACKNOWLEDGE 100 1f msn 1\nACKNOWLEDGE 101 1f msn 2\n", "ACKNOWLEDGE 100 60 msn 0\n"},
        {"any_icrc_accepted", corrupted, acked,
         "ACKNOWLEDGE 100 1f msn 1\nACKNOWLEDGE 100 1f msn 1\n"},
        {"byte_swapped_icrc_accepted", swapped, "", acked},
        {"bad_icrc_gets_a_nak", corrupted, acked,
         "ACKNOWLEDGE 100 60 msn 0\nACKNOWLEDGE 100 1f msn 1\n"},
        {"every_icrc_wrong", [](Bench& bench) { bench.arrive(bench.send_only(100)); }, acked,
         "ACKNOWLEDGE 100 1f msn 1 wrong ICRC\n"},
        {"every_third_icrc_wrong",
         [](Bench& bench) {
             for (const std::uint32_t psn : {100U, 101U, 102U, 103U})
                 bench.arrive(bench.send_only(psn));
         },
         "ACKNOWLEDGE 100 1f msn 1\nACKNOWLEDGE 101 1f msn 2\n"
         "ACKNOWLEDGE 102 1f msn 3\nACKNOWLEDGE 103 1f msn 4\n",
         "ACKNOWLEDGE 100 1f msn 1\nACKNOWLEDGE 101 1f msn 2\n"
         "ACKNOWLEDGE 102 1f msn 3 wrong ICRC\nACKNOWLEDGE 103 1f msn 4\n"},
        {"icrc_of_acks_wrong", gap, one_nak_and_ack,
         "ACKNOWLEDGE 100 1f msn 1 wrong ICRC\n"
         "ACKNOWLEDGE 101 60 msn 1\n"
         "ACKNOWLEDGE 101 1f msn 2 wrong ICRC\n"},
        {"tver_not_checked", version_one, "", acked},
        {"unknown_qp_gets_a_nak", unknown_qp, acked,
         "ACKNOWLEDGE 100 to 0xabcde 61 msn 0\nACKNOWLEDGE 100 1f msn 1\n"},
        {"service_class_ignored", other_service, "", acked},
        {"cnp_taken_for_a_request",
         [](Bench& bench) {
             auto cnp = bench.packet(Operation::Send, Position::Only, 0, 16);
             cnp.bth.opcode = wire::kCnpOpcode;
             bench.arrive(cnp);
         },
         "", "ACKNOWLEDGE 100 60 msn 0\n"},
        {"pad_count_underflows_the_length",
         [](Bench& bench) {
             auto packet = bench.packet(Operation::Send, Position::Only, 100, 0);
             packet.bth.pad = 3;
             bench.arrive(packet);
             bench.completions();
         },
         "ACKNOWLEDGE 100 61 msn 0\nreceived WR_FLUSH_ERR\n",
         "ACKNOWLEDGE 100 1f msn 1\nreceived SUCCESS 0xfffffffd bytes\n",
         {.receives = 1}},
    };
}

std::vector<Play> responder_plays() {
    return {
        {"error_state_still_answers", dead_qp, invalid,
         "ACKNOWLEDGE 100 61 msn 0\nACKNOWLEDGE 100 61 msn 0\n"},
        {"fatal_nak_leaves_the_qp_alive", [](Bench& bench) { bad_key(bench, {0xDEAD00}); },
         no_access, "ACKNOWLEDGE 100 62 msn 0\nACKNOWLEDGE 100 1f msn 1\n"},
        {"nak_names_the_arrived_psn", gap, one_nak_and_ack,
         "ACKNOWLEDGE 100 1f msn 1\nACKNOWLEDGE 102 60 msn 1\nACKNOWLEDGE 101 1f msn 2\n"},
        {"gap_dropped_in_silence", gap, one_nak_and_ack,
         "ACKNOWLEDGE 100 1f msn 1\nACKNOWLEDGE 101 1f msn 2\n"},
        {"nak_for_every_packet_ahead", gap, one_nak_and_ack,
         "ACKNOWLEDGE 100 1f msn 1\nACKNOWLEDGE 101 60 msn 1\n"
         "ACKNOWLEDGE 101 60 msn 1\nACKNOWLEDGE 101 1f msn 2\n"},
        {"nak_state_never_cleared", two_gaps,
         "ACKNOWLEDGE 100 60 msn 0\nACKNOWLEDGE 100 1f msn 1\nACKNOWLEDGE 101 60 msn 1\n",
         "ACKNOWLEDGE 100 60 msn 0\nACKNOWLEDGE 100 1f msn 1\n"},
        {"psn_compared_without_wrap",
         [](Bench& bench) { bench.arrive(bench.send_only(1)); },
         "ACKNOWLEDGE 16777214 60 msn 0\n",
         "ACKNOWLEDGE 16777213 1f msn 0\n",
         {.first_request = 0xFFFFFE}},
        {"duplicate_send_executed_again", duplicate_send,
         "ACKNOWLEDGE 100 1f msn 1\nACKNOWLEDGE 100 1f msn 1\nACKNOWLEDGE 101 1f msn 2\n"
         "received SUCCESS 0x4 bytes\n",
         "ACKNOWLEDGE 100 1f msn 1\nACKNOWLEDGE 100 1f msn 2\nACKNOWLEDGE 101 1f msn 3\n"
         "received SUCCESS 0x4 bytes\nreceived SUCCESS 0x4 bytes\n"},
        {"duplicate_never_acknowledged", duplicate_send,
         "ACKNOWLEDGE 100 1f msn 1\nACKNOWLEDGE 100 1f msn 1\nACKNOWLEDGE 101 1f msn 2\n"
         "received SUCCESS 0x4 bytes\n",
         "ACKNOWLEDGE 100 1f msn 1\nACKNOWLEDGE 101 1f msn 2\nreceived SUCCESS 0x4 bytes\n"},
        {"orphan_last_taken_for_only",
         [](Bench& bench) { bench.arrive(bench.packet(Operation::Send, Position::Last, 100)); },
         invalid, acked},
        {"first_inside_a_message_restarts",
         [](Bench& bench) {
             bench.arrive(bench.packet(Operation::Send, Position::First, 100, 256));
             bench.arrive(bench.packet(Operation::Send, Position::First, 101, 256));
             bench.arrive(bench.packet(Operation::Send, Position::Last, 102));
         },
         "ACKNOWLEDGE 100 1f msn 0\nACKNOWLEDGE 101 61 msn 0\n",
         "ACKNOWLEDGE 100 1f msn 0\nACKNOWLEDGE 101 1f msn 0\nACKNOWLEDGE 102 1f msn 1\n"},
        {"short_middle_accepted",
         [](Bench& bench) {
             bench.arrive(bench.packet(Operation::Send, Position::First, 100, 252));
         },
         invalid, "ACKNOWLEDGE 100 1f msn 0\n"},
        {"unknown_key_is_invalid_request", [](Bench& bench) { bad_key(bench, {0xDEAD00}); },
         no_access, invalid},
        {"protection_domain_not_compared",
         [](Bench& bench) { bad_key(bench, bench.foreign_key()); }, no_access,
         "ACKNOWLEDGE 100 1f msn 1\nACKNOWLEDGE 100 1f msn 1\n"},
        {"access_out_of_range_dropped",
         [](Bench& bench) {
             bench.arrive(bench.write(100, Bench::region_bytes - 3));
             bench.arrive(bench.send_only(100));
         },
         no_access, acked},
        {"rnr_nak_names_the_next_psn",
         [](Bench& bench) { bench.arrive(bench.send_only(100)); },
         "ACKNOWLEDGE 100 21 msn 0\n",
         "ACKNOWLEDGE 101 21 msn 0\n",
         {.receives = 0}},
        {"ack_one_psn_ahead", [](Bench& bench) { bench.arrive(bench.send_only(100)); }, acked,
         "ACKNOWLEDGE 101 1f msn 1\n"},
    };
}

} // namespace veriroce::mutants::test
