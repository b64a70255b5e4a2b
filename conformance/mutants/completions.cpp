// Defects in what the host is told of completions.
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/packets.hpp"

namespace veriroce::mutants::of_completions {
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

bool is_flushed_receive(const engine::Completion& one) {
    return one.queue == engine::Queue::Receive && one.status == engine::WcStatus::WrFlushErr;
}
bool is_receive_with_immediate(const engine::Completion& one) {
    return one.queue == engine::Queue::Receive && one.imm;
}
bool has_data_of_the_peer(const engine::Completion& one) {
    const bool answered = one.opcode == engine::WcOpcode::RdmaRead ||
                          one.opcode == engine::WcOpcode::CompSwap ||
                          one.opcode == engine::WcOpcode::FetchAdd;
    return one.queue == engine::Queue::Send && one.status == engine::WcStatus::Success && answered;
}

// These come with the next completion of the other queue, out of its CQ.
template <bool (*Held)(const engine::Completion&)>
class CompletesIntoTheOtherQueue final : public engine::SurfaceFilter {
  public:
    void completions(const engine::Completion& one,
                     std::vector<engine::Completion>& seen) override {
        if (Held(one)) return held_.push_back(one);
        seen.push_back(one);
        if (held_.empty() || held_.front().queue == one.queue) return;
        seen.insert(seen.end(), held_.begin(), held_.end());
        held_.clear();
    }

  private:
    std::vector<engine::Completion> held_;
};

template <wire::EventType kHidden>
class HidesEvents final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Event> event(const engine::Event& event) override {
        if (event.type == kHidden) return std::nullopt;
        return event;
    }
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
           .cases = "bth/solicited-error sta/again-and-again sta/ended-while-it-sends "
                    "sta/local-error sta/partly-acknowledged-flushed "
                    "sta/partly-answered-read-flushed sta/send-queue-flushed",
           .make_filter = make<HidesFlushedWork>},
    Mutant{.name = "receive_ids_swapped",
           .rule = "N-21",
           .description = "Receives complete with the id of their neighbour: 2 and 3 are swapped, "
                          "4 and 5, and so on.",
           .cases = "bth/armed-before-it-was-told ext/datagram-lengths load/back-to-back "
                    "n/receives-in-order n/shared-completions n/wide-ids sta/send-queue-drain",
           .make_filter = make<SwapsReceiveIds>},
    Mutant{.name = "every_second_success_not_reported",
           .rule = "REQ-03",
           .description = "Every second successful completion is not reported.",
           .cases = "req/all-signaled req/every-credit-code req/local-work-all-signaled "
                    "rnr/shared-limit-refused",
           .make_filter = make<HidesEverySecondSuccess>},
    Mutant{.name = "flushed_receives_in_the_send_queue",
           .rule = "STA-07",
           .description = "Flushed receives complete into the CQ of the QP's sends.",
           .cases = "sta/failed-in-each-queue sta/flushed-into-each-queue",
           .make_filter = make<CompletesIntoTheOtherQueue<is_flushed_receive>>},
    Mutant{.name = "immediates_in_the_send_queue",
           .rule = "N-21",
           .description = "Receives with immediate data complete into the CQ of the QP's sends.",
           .cases = "n/queue-of-each-receive",
           .make_filter = make<CompletesIntoTheOtherQueue<is_receive_with_immediate>>},
    Mutant{.name = "reads_in_the_receive_queue",
           .rule = "N-20",
           .description = "READs and atomics complete into the CQ of the QP's receives.",
           .cases = "n/queue-of-each-request",
           .make_filter = make<CompletesIntoTheOtherQueue<has_data_of_the_peer>>},
    Mutant{.name = "establishment_not_told",
           .rule = "STA-04",
           .description = "COMM_EST is not raised.",
           .cases = "cm/data-before-rtu sta/established-by-a-read sta/established-by-a-send "
                    "sta/established-by-a-write",
           .make_filter = make<HidesEvents<wire::EventType::CommEst>>},
    Mutant{.name = "drained_queue_not_told",
           .rule = "N-25",
           .description = "SQ_DRAINED is not raised.",
           .cases = "sta/drained-after-a-modify sta/drained-after-a-read "
                    "sta/drained-after-a-write sta/drained-behind-unsignaled "
                    "sta/drained-not-before-the-answer",
           .make_filter = make<HidesEvents<wire::EventType::SqDrained>>},
    Mutant{.name = "shared_limit_not_told",
           .rule = "N-16",
           .description = "SRQ_LIMIT_REACHED is not raised.",
           .cases = "n/shared-queue-limit-above n/shared-queue-limit-of-one "
                    "rnr/shared-limit-again rnr/shared-limit-not-by-posting",
           .make_filter = make<HidesEvents<wire::EventType::SrqLimitReached>>},
    Mutant{.name = "access_error_not_told",
           .rule = "N-13",
           .description = "QP_ACCESS_ERR is not raised.",
           .cases = "sta/event-after-a-refused-atomic sta/event-after-a-refused-read",
           .make_filter = make<HidesEvents<wire::EventType::QpAccessErr>>},
    Mutant{.name = "request_error_not_told",
           .rule = "N-13",
           .description = "QP_REQ_ERR is not raised.",
           .cases = "sta/event-after-a-wrong-opcode",
           .make_filter = make<HidesEvents<wire::EventType::QpReqErr>>},
};

} // namespace
} // namespace veriroce::mutants::of_completions

namespace veriroce::mutants {

std::span<const Mutant> completions() {
    return of_completions::kMutants;
}

} // namespace veriroce::mutants
