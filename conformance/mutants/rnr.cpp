// Defects around receiver not ready.
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/packets.hpp"

namespace veriroce::mutants {

namespace {

using engine::SendCheck;
using engine::SendView;
namespace right = engine::send_check;

void name_the_next(wire::Packet& packet) {
    if (is_rnr_nak(packet)) packet.bth.psn += 1;
}

// RNR-08: the shortest wait that there is, for the longest.
void no_wait_for_zero(wire::Packet& packet) {
    constexpr std::uint8_t shortest = 1;
    if (is_rnr_nak(packet) && packet.aeth.syndrome.code() == 0) {
        packet.aeth.syndrome = wire::Syndrome::rnr(shortest);
    }
}

bool one_counter_left(const SendView& view) {
    return view.outbound.retries + view.outbound.rnr_retries < view.connection.retry_count;
}

bool rnr_costs_a_retry(const SendView& view) {
    return right::rnr_retry_left(view) && one_counter_left(view);
}

constexpr std::array mutants{
    Mutant{.name = "rnr_nak_names_the_next_psn",
           .rule = "RNR-01",
           .passive = true,
           .description = "The RNR NAK carries the PSN behind the refused request, which the peer "
                          "takes for acknowledged.",
           .make_filter = make<EditsOutbound<name_the_next>>},
    Mutant{.name = "rnr_code_zero_is_no_wait",
           .rule = "RNR-08",
           .passive = true,
           .description = "RNR timer code 0 is a wait of 0.01 ms in place of 655.36 ms; the other "
                          "codes are right.",
           .make_filter = make<EditsInbound<no_wait_for_zero>>},
    Mutant{.name = "rnr_uses_up_retry_cnt",
           .rule = "N-10",
           .passive = false,
           .description = "Each RNR NAK costs one of retry_cnt as well: with retry_cnt 1 and "
                          "rnr_retry 7 the second one ends the request in error.",
           .checks = engine::kStandardChecks.with(SendCheck::RetryLeft, one_counter_left)
                         .with(SendCheck::RnrRetryLeft, rnr_costs_a_retry)},
};

} // namespace

std::span<const Mutant> rnr() {
    return mutants;
}

} // namespace veriroce::mutants
