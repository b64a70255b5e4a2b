// Answers, and silence, that show a requester's defects.
#include "tests/conformance/mutants/bench.hpp"

namespace veriroce::mutants::test {

using engine::WrOpcode;
using wire::Operation;
using wire::Position;
using wire::Syndrome;

namespace {

const auto sequence = Syndrome::nak(wire::NakCode::PsnSequence);
const auto ack = Syndrome::ack(wire::kNoCredits);

void nak(Bench& bench) {
    for (int i = 0; i < 3; ++i)
        bench.post(WrOpcode::Send, 4);
    bench.arrive(bench.answer(501, sequence));
    bench.wait();
}

void read_gap(Bench& bench) {
    bench.post(WrOpcode::RdmaRead, 768);
    bench.arrive(bench.packet(Operation::RdmaReadResponse, Position::First, 500, 256));
    bench.arrive(bench.packet(Operation::RdmaReadResponse, Position::Last, 502, 256));
    bench.completions();
}

void read_overtaken(Bench& bench) {
    bench.post(WrOpcode::RdmaRead, 512);
    bench.post(WrOpcode::Send, 4);
    bench.arrive(bench.answer(502, ack));
    bench.completions();
}

void silence(Bench& bench) {
    bench.post(WrOpcode::Send, 4);
    for (int i = 0; i < 4; ++i)
        bench.wait();
    bench.completions();
}

void long_silence(Bench& bench) {
    bench.post(WrOpcode::Send, 4);
    for (int i = 0; i < 9; ++i)
        bench.wait();
    bench.completions();
}

void not_ready(Bench& bench) {
    bench.post(WrOpcode::Send, 4);
    bench.arrive(bench.answer(500, Syndrome::rnr(0)));
    bench.wait();
}

void not_ready_twice(Bench& bench) {
    bench.post(WrOpcode::Send, 4);
    for (int i = 0; i < 2; ++i) {
        bench.arrive(bench.answer(500, Syndrome::rnr(1)));
        bench.wait();
    }
    bench.completions();
}

// Three transmissions (retry_cnt 2), each after one and a half times T.
constexpr std::string_view gives_up = "SEND_ONLY 500 4 bytes of 1\nafter 12288 ns\n"
                                      "SEND_ONLY 500 4 bytes of 1\nafter 12288 ns\n"
                                      "SEND_ONLY 500 4 bytes of 1\nafter 12288 ns\n"
                                      "idle\nsent RETRY_EXC_ERR\n";
constexpr std::string_view eight_transmissions =
    "SEND_ONLY 500 4 bytes of 1\nafter 12288 ns\nSEND_ONLY 500 4 bytes of 1\nafter 12288 ns\n"
    "SEND_ONLY 500 4 bytes of 1\nafter 12288 ns\nSEND_ONLY 500 4 bytes of 1\nafter 12288 ns\n"
    "SEND_ONLY 500 4 bytes of 1\nafter 12288 ns\nSEND_ONLY 500 4 bytes of 1\nafter 12288 ns\n"
    "SEND_ONLY 500 4 bytes of 1\nafter 12288 ns\nSEND_ONLY 500 4 bytes of 1\nafter 12288 ns\n"
    "idle\nsent RETRY_EXC_ERR\n";
constexpr std::string_view ten_transmissions =
    "SEND_ONLY 500 4 bytes of 1\nafter 12288 ns\nSEND_ONLY 500 4 bytes of 1\nafter 12288 ns\n"
    "SEND_ONLY 500 4 bytes of 1\nafter 12288 ns\nSEND_ONLY 500 4 bytes of 1\nafter 12288 ns\n"
    "SEND_ONLY 500 4 bytes of 1\nafter 12288 ns\nSEND_ONLY 500 4 bytes of 1\nafter 12288 ns\n"
    "SEND_ONLY 500 4 bytes of 1\nafter 12288 ns\nSEND_ONLY 500 4 bytes of 1\nafter 12288 ns\n"
    "SEND_ONLY 500 4 bytes of 1\nafter 12288 ns\nSEND_ONLY 500 4 bytes of 1\n";

} // namespace

std::vector<Play> requester_plays() {
    return {
        {"nak_resends_from_the_next",
         nak,
         "SEND_ONLY 500 4 bytes of 1\nSEND_ONLY 501 4 bytes of 1\nSEND_ONLY 502 4 bytes of 1\n"
         "SEND_ONLY 501 4 bytes of 1\nSEND_ONLY 502 4 bytes of 1\nafter 12288 ns\n"
         "SEND_ONLY 501 4 bytes of 1\nSEND_ONLY 502 4 bytes of 1\n",
         "SEND_ONLY 500 4 bytes of 1\nSEND_ONLY 501 4 bytes of 1\nSEND_ONLY 502 4 bytes of 1\n"
         "SEND_ONLY 502 4 bytes of 1\nafter 12288 ns\n"
         "SEND_ONLY 501 4 bytes of 1\nSEND_ONLY 502 4 bytes of 1\n",
         {.receives = 0}},
        {"icrc_of_resent_wrong",
         nak,
         "SEND_ONLY 500 4 bytes of 1\nSEND_ONLY 501 4 bytes of 1\nSEND_ONLY 502 4 bytes of 1\n"
         "SEND_ONLY 501 4 bytes of 1\nSEND_ONLY 502 4 bytes of 1\nafter 12288 ns\n"
         "SEND_ONLY 501 4 bytes of 1\nSEND_ONLY 502 4 bytes of 1\n",
         "SEND_ONLY 500 4 bytes of 1\nSEND_ONLY 501 4 bytes of 1\nSEND_ONLY 502 4 bytes of 1\n"
         "SEND_ONLY 501 4 bytes of 1 wrong ICRC\nSEND_ONLY 502 4 bytes of 1 wrong ICRC\n"
         "after 12288 ns\n"
         "SEND_ONLY 501 4 bytes of 1 wrong ICRC\nSEND_ONLY 502 4 bytes of 1 wrong ICRC\n",
         {.receives = 0}},
        {"read_gap_overlooked",
         read_gap,
         "RDMA_READ_REQUEST 500 for 768 bytes\nRDMA_READ_REQUEST 501 for 512 bytes\n",
         "RDMA_READ_REQUEST 500 for 768 bytes\nsent SUCCESS\n",
         {.receives = 0}},
        {"ack_completes_an_unanswered_read",
         read_overtaken,
         "RDMA_READ_REQUEST 500 for 512 bytes\nSEND_ONLY 502 4 bytes of 1\n"
         "RDMA_READ_REQUEST 500 for 512 bytes\nSEND_ONLY 502 4 bytes of 1\n",
         "RDMA_READ_REQUEST 500 for 512 bytes\nSEND_ONLY 502 4 bytes of 1\n"
         "sent SUCCESS\nsent SUCCESS\n",
         {.receives = 0}},
        {"retry_seven_is_for_ever",
         long_silence,
         eight_transmissions,
         ten_transmissions,
         {.retry_count = 7, .receives = 0}},
        {"timeout_half_as_long",
         silence,
         gives_up,
         "SEND_ONLY 500 4 bytes of 1\nafter 4096 ns\n"
         "SEND_ONLY 500 4 bytes of 1\nafter 4096 ns\n"
         "SEND_ONLY 500 4 bytes of 1\nafter 4096 ns\n"
         "idle\nsent RETRY_EXC_ERR\n",
         {.receives = 0}},
        {"one_transmission_too_few",
         silence,
         gives_up,
         "SEND_ONLY 500 4 bytes of 1\nafter 12288 ns\n"
         "SEND_ONLY 500 4 bytes of 1\nafter 12288 ns\n"
         "idle\nidle\nsent RETRY_EXC_ERR\n",
         {.receives = 0}},
        {"one_transmission_too_many",
         silence,
         gives_up,
         "SEND_ONLY 500 4 bytes of 1\nafter 12288 ns\n"
         "SEND_ONLY 500 4 bytes of 1\nafter 12288 ns\n"
         "SEND_ONLY 500 4 bytes of 1\nafter 12288 ns\n"
         "SEND_ONLY 500 4 bytes of 1\nafter 12288 ns\nsent RETRY_EXC_ERR\n",
         {.receives = 0}},
        {"gives_up_with_wrong_status",
         silence,
         gives_up,
         "SEND_ONLY 500 4 bytes of 1\nafter 12288 ns\n"
         "SEND_ONLY 500 4 bytes of 1\nafter 12288 ns\n"
         "SEND_ONLY 500 4 bytes of 1\nafter 12288 ns\n"
         "idle\nsent RNR_RETRY_EXC_ERR\n",
         {.receives = 0}},
        {"rnr_code_zero_is_no_wait", not_ready,
         "SEND_ONLY 500 4 bytes of 1\nafter 655360000 ns\nSEND_ONLY 500 4 bytes of 1\n",
         "SEND_ONLY 500 4 bytes of 1\nafter 10000 ns\nSEND_ONLY 500 4 bytes of 1\n"},
        {"rnr_uses_up_retry_cnt",
         not_ready_twice,
         "SEND_ONLY 500 4 bytes of 1\nafter 10000 ns\n"
         "SEND_ONLY 500 4 bytes of 1\nafter 10000 ns\nSEND_ONLY 500 4 bytes of 1\n",
         "SEND_ONLY 500 4 bytes of 1\nafter 10000 ns\n"
         "SEND_ONLY 500 4 bytes of 1\nidle\nsent RNR_RETRY_EXC_ERR\n",
         {.retry_count = 1, .receives = 0}},
    };
}

} // namespace veriroce::mutants::test
