// READs and atomics that show a responder's defects.
#include "tests/conformance/mutants/bench.hpp"

namespace veriroce::mutants::test {

namespace {

void read_across_the_wrap(Bench& bench) {
    bench.arrive(bench.read(0xFFFFFF, 512));
    bench.arrive(bench.send_only(1));
    bench.arrive(bench.send_only(1));
}

void empty_read(Bench& bench) {
    bench.arrive(bench.read(100, 0));
    bench.arrive(bench.write(101));
}

void add_twice(Bench& bench) {
    const auto add = bench.packet(wire::Operation::FetchAdd, wire::Position::Only, 100, 0);
    bench.arrive(add);
    bench.arrive(add);
    bench.arrive(bench.write(101, 256));
}

} // namespace

std::vector<Play> read_plays() {
    return {
        {"pad_count_zero_in_responses", [](Bench& bench) { bench.arrive(bench.read(100, 5)); },
         "RDMA_READ_RESPONSE_ONLY 100 5 bytes of 1 1f msn 1\n",
         "RDMA_READ_RESPONSE_ONLY 100 8 bytes of 1 1f msn 1\n"},
        {"read_psns_not_wrapped",
         read_across_the_wrap,
         "RDMA_READ_RESPONSE_FIRST 16777215 256 bytes of 1 1f msn 1\n"
         "RDMA_READ_RESPONSE_LAST 0 256 bytes of 2 1f msn 1\n"
         "ACKNOWLEDGE 1 1f msn 2\nACKNOWLEDGE 1 1f msn 2\n",
         "RDMA_READ_RESPONSE_FIRST 16777215 256 bytes of 1 1f msn 1\n"
         "RDMA_READ_RESPONSE_LAST 0 256 bytes of 2 1f msn 1\n"
         "ACKNOWLEDGE 1 60 msn 1\n",
         {.first_request = 0xFFFFFF}},
        {"zero_read_moves_no_psn", empty_read,
         "RDMA_READ_RESPONSE_ONLY 100 1f msn 1\nACKNOWLEDGE 101 1f msn 2\n",
         "RDMA_READ_RESPONSE_ONLY 100 1f msn 1\nACKNOWLEDGE 100 60 msn 1\n"},
        {"full_last_followed_by_empty_last",
         [](Bench& bench) { bench.arrive(bench.read(100, 512)); },
         "RDMA_READ_RESPONSE_FIRST 100 256 bytes of 1 1f msn 1\n"
         "RDMA_READ_RESPONSE_LAST 101 256 bytes of 2 1f msn 1\n",
         "RDMA_READ_RESPONSE_FIRST 100 256 bytes of 1 1f msn 1\n"
         "RDMA_READ_RESPONSE_MIDDLE 101 256 bytes of 2\n"
         "RDMA_READ_RESPONSE_LAST 102 1f msn 1\n"},
        {"icrc_of_read_responses_wrong",
         [](Bench& bench) {
             bench.arrive(bench.read(100, 4));
             bench.arrive(bench.write(101));
         },
         "RDMA_READ_RESPONSE_ONLY 100 4 bytes of 1 1f msn 1\nACKNOWLEDGE 101 1f msn 2\n",
         "RDMA_READ_RESPONSE_ONLY 100 4 bytes of 1 1f msn 1 wrong ICRC\n"
         "ACKNOWLEDGE 101 1f msn 2\n"},
        {"read_not_in_its_msn",
         [](Bench& bench) {
             bench.arrive(bench.read(100, 4));
             bench.arrive(bench.write(101));
         },
         "RDMA_READ_RESPONSE_ONLY 100 4 bytes of 1 1f msn 1\nACKNOWLEDGE 101 1f msn 2\n",
         "RDMA_READ_RESPONSE_ONLY 100 4 bytes of 1 1f msn 0\nACKNOWLEDGE 101 1f msn 2\n"},
        {"read_tail_answered_from_the_start", read_and_its_end,
         "RDMA_READ_RESPONSE_FIRST 100 256 bytes of 1 1f msn 1\n"
         "RDMA_READ_RESPONSE_MIDDLE 101 256 bytes of 2\n"
         "RDMA_READ_RESPONSE_LAST 102 256 bytes of 3 1f msn 1\n"
         "RDMA_READ_RESPONSE_FIRST 101 256 bytes of 2 1f msn 1\n"
         "RDMA_READ_RESPONSE_LAST 102 256 bytes of 3 1f msn 1\n",
         "RDMA_READ_RESPONSE_FIRST 100 256 bytes of 1 1f msn 1\n"
         "RDMA_READ_RESPONSE_MIDDLE 101 256 bytes of 2\n"
         "RDMA_READ_RESPONSE_LAST 102 256 bytes of 3 1f msn 1\n"
         "RDMA_READ_RESPONSE_FIRST 101 256 bytes of 1 1f msn 1\n"
         "RDMA_READ_RESPONSE_LAST 102 256 bytes of 2 1f msn 1\n"},
        {"duplicate_atomic_executed_again", add_twice,
         "ATOMIC_ACKNOWLEDGE 100 found 0x101010101010101 1f msn 1\n"
         "ATOMIC_ACKNOWLEDGE 100 found 0x101010101010101 1f msn 1\n"
         "ACKNOWLEDGE 101 1f msn 2\n",
         "ATOMIC_ACKNOWLEDGE 100 found 0x101010101010101 1f msn 1\n"
         "ATOMIC_ACKNOWLEDGE 100 found 0x101010101010102 1f msn 2\n"
         "ACKNOWLEDGE 101 1f msn 3\n"},
    };
}

} // namespace veriroce::mutants::test
