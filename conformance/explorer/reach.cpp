#include "conformance/explorer/reach.hpp"

#include <algorithm>

#include "conformance/dut/capabilities.hpp"

namespace veriroce::explorer {

Reach reach_of(const interpreter::Environment& environment) {
    constexpr std::uint32_t most_pieces = 3;
    constexpr std::uint32_t most_reads = 4; // what a QP of a case has if its line names no number
    return {.largest_mtu = wire::bytes_of(environment.largest_mtu),
            .reads = std::min({most_reads, std::max(1U, environment.dut.max.rd_atomic),
                               std::max(1U, environment.dut.max.dest_rd_atomic)}),
            .reading = environment.capable("read"),
            .atomics = environment.capable("atomics"),
            .immediate = environment.capable("imm"),
            .small_mtu = environment.capable("mtu256"),
            .in_order = !environment.trait("out_of_order"),
            .shared_queues = environment.capable("srq"),
            .windows = environment.capable("mw2") && environment.capable("send_inv"),
            .type_1_windows = environment.capable("mw1"),
            .two_pieces = environment.dut.max.sge >= 2,
            .pieces = std::min(most_pieces, environment.dut.max.sge),
            .inline_data = environment.dut.max.inline_bytes >= kInlineBytes,
            .draining = environment.capable("sqd"),
            .reset_reuse = environment.capable("reset_reuse"),
            .notices = environment.capable("notify"),
            .events = environment.capable("events"),
            .flush = environment.capable("flush"),
            .atomic_write = environment.capable("atomic_write"),
            .unreliable = environment.capable("uc"),
            .datagrams = environment.capable("ud"),
            .datagram_paths = environment.capable("ud_path"),
            .second_address = !environment.tester.spare.empty(),
            .chosen_addresses = environment.capable("iova"),
            .buffers_early = environment.trait("buffers_before_rtr"),
            .times_retries = !environment.trait("adaptive_retransmission") &&
                             !environment.trait("ack_timer_ignored"),
            .vlan = dut::vlan_with_both(environment.dut)};
}

} // namespace veriroce::explorer
