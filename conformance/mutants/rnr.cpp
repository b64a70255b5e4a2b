// Defects around receiver not ready.
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/of_first_qp.hpp"
#include "conformance/mutants/packets.hpp"

namespace veriroce::mutants::of_rnr {
namespace {

using engine::SendCheck;
using engine::SendView;
namespace right = engine::send_check;

constexpr std::uint8_t kShortestCode = 1; // 0.01 ms

void name_the_next(wire::Packet& packet) {
    if (is_rnr_nak(packet)) packet.bth.psn += 1;
}

// RNR-08: the shortest wait that there is, for the longest.
void no_wait_for_zero(wire::Packet& packet) {
    if (is_rnr_nak(packet) && packet.aeth.syndrome.code() == 0) {
        packet.aeth.syndrome = wire::Syndrome::rnr(kShortestCode);
    }
}

bool one_counter_left(const SendView& view) {
    return view.outbound.retries + view.outbound.rnr_retries < view.connection.retry_count;
}

bool rnr_costs_a_retry(const SendView& view) {
    return right::rnr_retry_left(view) && one_counter_left(view);
}

void shortest_rnr_code(wire::Packet& packet) {
    if (is_rnr_nak(packet)) packet.aeth.syndrome = wire::Syndrome::rnr(kShortestCode);
}

constexpr std::array kMutants{
    Mutant{.name = "rnr_nak_names_the_next_psn",
           .rule = "RNR-01",
           .passive = true,
           .description = "The RNR NAK carries the PSN after the refused request, which the peer "
                          "takes for acknowledged.",
           .cases = "rnr/kth-without-receive rnr/no-receive rnr/shared-limit-disarmed "
                    "rnr/write-with-immediate",
           .make_filter = make<EditsOutbound<name_the_next>>},
    Mutant{.name = "rnr_code_zero_is_no_wait",
           .rule = "RNR-08",
           .passive = true,
           .description = "RNR timer code 0 is a wait of 0.01 ms in place of 655.36 ms; the other "
                          "codes are right.",
           .cases = "rnr/requester-waits",
           .make_filter = make<EditsInbound<no_wait_for_zero>>},
    Mutant{.name = "rnr_uses_up_retry_cnt",
           .rule = "N-10",
           .passive = false,
           .description = "Each RNR NAK costs one of retry_cnt as well: with retry_cnt 1 and "
                          "rnr_retry 7 the second one ends the request in error.",
           .cases = "n/two-counters rnr/for-ever rnr/kth-refused",
           .checks = engine::kStandardChecks.with(SendCheck::RetryLeft, one_counter_left)
                         .with(SendCheck::RnrRetryLeft, rnr_costs_a_retry)},
    Mutant{.name = "rnr_wait_always_shortest",
           .rule = "RNR-08",
           .description =
               "The requester waits 0.01 ms after every RNR NAK and ignores its timer code.",
           .cases = "rnr/ack-timer rnr/nothing-new rnr/requester-waits",
           .make_filter = make<EditsInbound<shortest_rnr_code>>},
    Mutant{.name = "rnr_code_always_shortest",
           .rule = "RNR-07",
           .description = "RNR NAKs carry timer code 1 (0.01 ms), whatever the QP was set up with.",
           .cases = "rnr/timer-code",
           .make_filter = make<EditsOutbound<shortest_rnr_code>>},
    Mutant{.name = "rnr_retry_of_first_qp",
           .rule = "RNR-09",
           .description = "All QPs have the rnr_retry of the QP that was connected first.",
           .cases = "rnr/other-retries-on-two-qps",
           .make_filter = make<OfFirstQp<&engine::QpAttributes::rnr_retry>>},
};

} // namespace
} // namespace veriroce::mutants::of_rnr

namespace veriroce::mutants {

std::span<const Mutant> rnr() {
    return of_rnr::kMutants;
}

} // namespace veriroce::mutants
