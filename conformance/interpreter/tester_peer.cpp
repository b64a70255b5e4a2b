#include "conformance/interpreter/tester_peer.hpp"

#include <algorithm>

#include "conformance/interpreter/objects.hpp"

namespace veriroce::interpreter {
namespace {

// Behind its first 2 KiB each region crosses a border of 4 GiB, where an address carries.
constexpr std::uint64_t kFirstRegion = 0x7E57'0000'0000 - 2048;
constexpr std::uint64_t kRegionSpacing = 0x1'0000'0000;

} // namespace

TesterPeer::TesterPeer(const Environment& environment)
    : environment_(environment), engine_(engine::Config{.first_qpn = environment.first_tester_qpn}),
      pd_(*engine_.create_pd()) {}

// A queue that overruns would look like a device that does not answer. So there is room for all
// that the QPs can have outstanding, in few queues: each is twice as deep as the one before.
std::optional<engine::CqId> TesterPeer::queue_with_room(std::uint32_t entries) {
    if (room_ < entries) {
        depth_ = std::max(2 * depth_, entries);
        const auto made = engine_.create_cq(depth_);
        if (!made) return std::nullopt;
        cqs_.push_back(*made);
        room_ = depth_;
    }
    room_ -= entries;
    return cqs_.back();
}

Met<engine::QpId> TesterPeer::create_qp(engine::QpType type, const script::QpSetup* setup,
                                        Span span) {
    const auto depth = [&](std::string_view wanted) {
        return static_cast<std::uint32_t>(number_attribute(setup, wanted, kQueueDepth));
    };
    const engine::QpCapacity capacity{.max_send = depth("send_wr"), .max_recv = depth("recv_wr")};
    const auto queue = queue_with_room(capacity.max_send + capacity.max_recv);
    if (queue) {
        const auto made = engine_.create_qp(
            {.pd = pd_, .type = type, .send_cq = *queue, .recv_cq = *queue, .capacity = capacity});
        if (made) return *made;
    }
    return unplayable(span, "the tester's engine has no room for another QP");
}

Met<> TesterPeer::raise(const CaseQp& qp, wire::Instant now) {
    for (const engine::QpAttributes& step : tester_steps(qp, environment_)) {
        if (!engine_.modify_qp(qp.engine_qp, step, now)) {
            return unplayable({}, "the tester's engine refused its end of a QP");
        }
    }
    return {};
}

Met<> TesterPeer::reset(const CaseQp& qp, wire::Instant now, Span span) {
    if (engine_.modify_qp(qp.engine_qp, {.state = engine::QpState::Reset}, now)) return {};
    return unplayable(span, "the tester's engine refused its end of a QP");
}

std::optional<engine::QpState> TesterPeer::state_of(const CaseQp& qp) const {
    const auto report = engine_.query_qp(qp.engine_qp);
    if (!report) return std::nullopt;
    return report->state;
}

void TesterPeer::collect_completions(Objects& objects) {
    for (const engine::CqId queue : cqs_) {
        while (const auto completion = engine_.poll_completion(queue)) {
            CaseQp* owner = objects.qp_of_engine(completion->qp);
            if (owner == nullptr) continue;
            owner->tester_completions.push_back({.id = completion->id,
                                                 .queue = completion->queue,
                                                 .status = completion->status,
                                                 .opcode = completion->opcode,
                                                 .byte_len = completion->byte_len,
                                                 .imm = completion->imm});
        }
    }
}

std::uint64_t TesterPeer::address_of_region(std::size_t index) {
    return kFirstRegion + index * kRegionSpacing;
}

Met<> TesterPeer::register_region(Memory& memory, Span span) {
    const auto region = engine_.register_region(pd_, memory.bytes, memory.address, memory.access);
    if (!region) return unplayable(span, "the tester's engine refused the region");
    memory.rkey = region->rkey;
    memory.lkey = region->lkey;
    return {};
}

bool TesterPeer::advance(wire::Instant now) {
    const auto due = engine_.next_timeout();
    if (!due || *due > now) return false;
    engine_.handle_timeout(now);
    return true;
}

} // namespace veriroce::interpreter
