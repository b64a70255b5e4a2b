// Defects in what the host is told of completions.
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/packets.hpp"

namespace veriroce::mutants {

namespace {

void always_solicited(wire::Packet& packet) {
    packet.bth.solicited = true;
}

void never_solicited(wire::Packet& packet) {
    packet.bth.solicited = false;
}

class HidesFlushedWork final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        if (completion.status == engine::WcStatus::WrFlushErr) return std::nullopt;
        return completion;
    }
};

class SwapsReceiveIds final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        engine::Completion seen = completion;
        if (seen.queue == engine::Queue::Receive && seen.id > 1) seen.id ^= 1;
        return seen;
    }
};

class HidesEverySecondSuccess final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        const bool success = completion.status == engine::WcStatus::Success;
        if (success && ++successes_ % 2 == 1) return std::nullopt;
        return completion;
    }

  private:
    std::uint64_t successes_ = 0;
};

constexpr std::array kMutants{
    Mutant{.name = "every_request_solicited",
           .rule = "BTH-13",
           .description = "Every request is taken for one with SE set.",
           .cases = "bth/solicited-event",
           .make_filter = make<EditsInbound<always_solicited>>},
    Mutant{.name = "no_request_solicited",
           .rule = "N-26",
           .description =
               "SE is ignored: a host that waits for solicited completions is never told.",
           .cases = "bth/solicited-event",
           .make_filter = make<EditsInbound<never_solicited>>},
    Mutant{.name = "flushed_work_not_reported",
           .rule = "STA-07",
           .description = "Work requests that are flushed complete without a completion.",
           .cases = "bth/solicited-error sta/local-error sta/send-queue-flushed",
           .make_filter = make<HidesFlushedWork>},
    Mutant{.name = "receive_ids_swapped",
           .rule = "N-21",
           .description = "Receives complete with the id of their neighbour: 2 and 3 are swapped, "
                          "4 and 5, and so on.",
           .cases = "n/receives-in-order sta/send-queue-drain",
           .make_filter = make<SwapsReceiveIds>},
    Mutant{.name = "every_second_success_not_reported",
           .rule = "REQ-03",
           .description = "Every second successful completion is not reported.",
           .cases = "req/all-signaled",
           .make_filter = make<HidesEverySecondSuccess>},
};

} // namespace

std::span<const Mutant> completions() {
    return kMutants;
}

} // namespace veriroce::mutants
