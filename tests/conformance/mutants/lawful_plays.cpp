// Traffic in which a device may do one or another thing.
#include "tests/conformance/mutants/bench.hpp"

namespace veriroce::mutants::test {

using engine::WrOpcode;
using wire::Operation;
using wire::Position;

namespace {

void send_before_read(Bench& bench) {
    bench.arrive(bench.send_only(100));
    bench.arrive(bench.read(101, 4, 256));
    bench.arrive(bench.send_only(100));
}

void quiet_duplicate(Bench& bench) {
    auto packet = bench.send_only(100);
    packet.bth.ack_request = false;
    bench.arrive(packet);
    bench.arrive(packet);
}

void read_gap_left_alone(Bench& bench) {
    bench.post(WrOpcode::RdmaRead, 768);
    bench.arrive(bench.packet(Operation::RdmaReadResponse, Position::First, 500, 256));
    bench.arrive(bench.packet(Operation::RdmaReadResponse, Position::Last, 502, 256));
    bench.wait();
}

void sixteen_writes(Bench& bench) {
    for (std::uint32_t psn = 100; psn < 115; ++psn) {
        auto packet = bench.write(psn);
        packet.bth.ack_request = psn == 114;
        bench.arrive(packet);
    }
    bench.arrive(bench.write(115));
    bench.arrive(bench.write(116));
    bench.arrive(bench.write(115));
    bench.arrive(bench.write(116));
}

void wrong_size(Bench& bench) {
    bench.post(WrOpcode::RdmaRead, 8);
    bench.arrive(bench.packet(Operation::RdmaReadResponse, Position::Only, 500, 4));
    bench.completions();
    bench.wait();
}

void burst(Bench& bench) {
    bench.arrive_together({bench.send_only(100), bench.send_only(101), bench.send_only(102)});
}

void two_reads_and_the_first_again(Bench& bench) {
    bench.arrive(bench.read(100, 4));
    bench.arrive(bench.read(101, 4, 256));
    bench.arrive(bench.read(100, 4));
}

constexpr std::string_view asks_for_the_rest =
    "RDMA_READ_REQUEST 500 for 768 bytes\nRDMA_READ_REQUEST 501 for 512 bytes\n"
    "after 12288 ns\nRDMA_READ_REQUEST 501 for 512 bytes\n";

} // namespace

std::vector<Play> lawful_plays() {
    return {
        {"partial_read_retry_goes_on_with_middle", read_and_its_end,
         "RDMA_READ_RESPONSE_FIRST 100 256 bytes of 1 1f msn 1\n"
         "RDMA_READ_RESPONSE_MIDDLE 101 256 bytes of 2\n"
         "RDMA_READ_RESPONSE_LAST 102 256 bytes of 3 1f msn 1\n"
         "RDMA_READ_RESPONSE_FIRST 101 256 bytes of 2 1f msn 1\n"
         "RDMA_READ_RESPONSE_LAST 102 256 bytes of 3 1f msn 1\n",
         "RDMA_READ_RESPONSE_FIRST 100 256 bytes of 1 1f msn 1\n"
         "RDMA_READ_RESPONSE_MIDDLE 101 256 bytes of 2\n"
         "RDMA_READ_RESPONSE_LAST 102 256 bytes of 3 1f msn 1\n"
         "RDMA_READ_RESPONSE_MIDDLE 101 256 bytes of 2\n"
         "RDMA_READ_RESPONSE_LAST 102 256 bytes of 3 1f msn 1\n"},
        {"duplicate_send_answered_by_read_response", send_before_read,
         "ACKNOWLEDGE 100 1f msn 1\nRDMA_READ_RESPONSE_ONLY 101 4 bytes of 2 1f msn 2\n"
         "ACKNOWLEDGE 100 1f msn 2\n",
         "ACKNOWLEDGE 100 1f msn 1\nRDMA_READ_RESPONSE_ONLY 101 4 bytes of 2 1f msn 2\n"
         "RDMA_READ_RESPONSE_ONLY 101 4 bytes of 2 1f msn 2\n"},
        {"duplicate_without_ack_request_ignored", quiet_duplicate, acked, ""},
        {"whole_read_asked_for_again", read_gap_left_alone, asks_for_the_rest,
         "RDMA_READ_REQUEST 500 for 768 bytes\nRDMA_READ_REQUEST 500 for 768 bytes\n"
         "after 12288 ns\nRDMA_READ_REQUEST 500 for 768 bytes\n"},
        {"implied_nak_waits_for_the_timer", read_gap_left_alone, asks_for_the_rest,
         "RDMA_READ_REQUEST 500 for 768 bytes\nafter 12288 ns\n"
         "RDMA_READ_REQUEST 501 for 512 bytes\n"},
        {"read_first_with_old_msn", [](Bench& bench) { bench.arrive(bench.read(100, 512)); },
         "RDMA_READ_RESPONSE_FIRST 100 256 bytes of 1 1f msn 1\n"
         "RDMA_READ_RESPONSE_LAST 101 256 bytes of 2 1f msn 1\n",
         "RDMA_READ_RESPONSE_FIRST 100 256 bytes of 1 1f msn 0\n"
         "RDMA_READ_RESPONSE_LAST 101 256 bytes of 2 1f msn 1\n"},
        {"occasional_rnr_for_write", sixteen_writes,
         "ACKNOWLEDGE 114 1f msn 15\nACKNOWLEDGE 115 1f msn 16\nACKNOWLEDGE 116 1f msn 17\n"
         "ACKNOWLEDGE 116 1f msn 17\nACKNOWLEDGE 116 1f msn 17\n",
         "ACKNOWLEDGE 114 1f msn 15\nACKNOWLEDGE 115 21 msn 15\nACKNOWLEDGE 115 1f msn 16\n"
         "ACKNOWLEDGE 116 1f msn 17\n"},
        {"wrong_sized_read_response_dropped",
         wrong_size,
         "RDMA_READ_REQUEST 500 for 8 bytes\nsent LOC_LEN_ERR\nidle\n",
         "RDMA_READ_REQUEST 500 for 8 bytes\nafter 12288 ns\n"
         "RDMA_READ_REQUEST 500 for 8 bytes\n",
         {.receives = 0}},
        {"timeout_just_below_four_times",
         [](Bench& bench) {
             bench.post(WrOpcode::Send, 4);
             bench.wait();
         },
         "SEND_ONLY 500 4 bytes of 1\nafter 12288 ns\nSEND_ONLY 500 4 bytes of 1\n",
         "SEND_ONLY 500 4 bytes of 1\nafter 31744 ns\nSEND_ONLY 500 4 bytes of 1\n"},
        {"acks_coalesced_to_the_end", burst,
         "ACKNOWLEDGE 100 1f msn 1\nACKNOWLEDGE 101 1f msn 2\nACKNOWLEDGE 102 1f msn 3\n",
         "ACKNOWLEDGE 102 1f msn 3\n"},
        {"every_message_acknowledged", quiet_duplicate, acked,
         "ACKNOWLEDGE 100 1f msn 1\nACKNOWLEDGE 100 1f msn 1\n"},
        {"credits_reported", [](Bench& bench) { bench.arrive(bench.send_only(100)); }, acked,
         "ACKNOWLEDGE 100 03 msn 1\n"},
        {"later_responses_resent_too", two_reads_and_the_first_again,
         "RDMA_READ_RESPONSE_ONLY 100 4 bytes of 1 1f msn 1\n"
         "RDMA_READ_RESPONSE_ONLY 101 4 bytes of 2 1f msn 2\n"
         "RDMA_READ_RESPONSE_ONLY 100 4 bytes of 1 1f msn 2\n",
         "RDMA_READ_RESPONSE_ONLY 100 4 bytes of 1 1f msn 1\n"
         "RDMA_READ_RESPONSE_ONLY 101 4 bytes of 2 1f msn 2\n"
         "RDMA_READ_RESPONSE_ONLY 100 4 bytes of 1 1f msn 2\n"
         "RDMA_READ_RESPONSE_ONLY 101 4 bytes of 2 1f msn 2\n"},
    };
}

} // namespace veriroce::mutants::test
