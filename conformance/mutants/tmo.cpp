// Defects in timeouts and retries.
#include <chrono>

#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/packets.hpp"

namespace veriroce::mutants::of_tmo {
namespace {

using engine::SendCheck;
using engine::SendView;

bool one_less(const SendView& view) {
    return view.outbound.retries + 1 < view.connection.retry_count;
}

bool one_more(const SendView& view) {
    return view.outbound.retries <= view.connection.retry_count;
}

class ReportsRnr final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        engine::Completion seen = completion;
        if (seen.status == engine::WcStatus::RetryExcErr) {
            seen.status = engine::WcStatus::RnrRetryExcErr;
        }
        return seen;
    }
};

class RepeatsRequests final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        engine::OwnedDatagram again = datagram;
        again.delay = std::chrono::seconds(2);
        out.push_back(std::move(datagram));
        if (packet && packet->info().request()) out.push_back(std::move(again));
    }
};

constexpr std::array kMutants{
    Mutant{.name = "timeout_half_as_long",
           .rule = "TMO-01",
           .passive = true,
           .description = "The ACK timer runs half as long as it was set to.",
           .cases = "n/reply-in-time tmo/interval tmo/interval-from-the-last tmo/progress "
                    "tmo/restarted-by-a-nak",
           .behaviour = {.timeout_sixteenths = 8}},
    Mutant{.name = "one_transmission_too_few",
           .rule = "TMO-03",
           .passive = false,
           .description = "Without an answer a request is sent retry_cnt times in all (once if "
                          "retry_cnt is 0).",
           .cases = "tmo/dead-peer tmo/retries-reloaded tmo/retries-reloaded-inside-a-read "
                    "tmo/retry-exceeded",
           .checks = engine::kStandardChecks.with(SendCheck::RetryLeft, one_less)},
    Mutant{.name = "one_transmission_too_many",
           .rule = "TMO-03",
           .passive = false,
           .description = "Without an answer a request is sent retry_cnt + 2 times before retry "
                          "exceeded.",
           .cases = "tmo/dead-peer tmo/only-progress-gives-retries-back tmo/retry-exceeded",
           .checks = engine::kStandardChecks.with(SendCheck::RetryLeft, one_more)},
    Mutant{.name = "gives_up_with_wrong_status",
           .rule = "TMO-03",
           .passive = false,
           .description = "After the right number of transmissions the request completes as RNR "
                          "retry exceeded.",
           .cases = "req/seven-is-seven tmo/retry-exceeded",
           .make_filter = make<ReportsRnr>},
    Mutant{.name = "request_repeated_after_two_seconds",
           .rule = "TMO-02",
           .description = "Every request is sent once more after 2 s, answered or not.",
           .cases = "tmo/never",
           .make_filter = make<RepeatsRequests>},
};

} // namespace
} // namespace veriroce::mutants::of_tmo

namespace veriroce::mutants {

std::span<const Mutant> tmo() {
    return of_tmo::kMutants;
}

} // namespace veriroce::mutants
