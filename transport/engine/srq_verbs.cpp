// The surface's part about shared receive queues.
#include "transport/engine/state.hpp"

namespace veriroce::engine {

std::expected<SrqId, VerbError> Engine::create_srq(const SrqDescription& description) {
    Device& device = *state_;
    const Limits& limits = device.config.limits;
    if (!device.alive(description.pd)) return std::unexpected(VerbError::NotFound);
    if (description.depth == 0 || description.depth > limits.srq_wr ||
        description.max_sge > limits.sges || description.limit > description.depth) {
        return std::unexpected(VerbError::InvalidArgument);
    }
    if (device.live_srqs == limits.srqs) return std::unexpected(VerbError::NoMemory);
    const SrqId id{static_cast<std::uint32_t>(device.srqs.size() + 1)};
    device.srqs.push_back(std::make_unique<SharedReceiveQueue>(id, description));
    ++device.live_srqs;
    return id;
}

std::expected<void, VerbError> Engine::modify_srq(SrqId srq, std::uint32_t limit) {
    SharedReceiveQueue* const queue = state_->find(srq);
    if (queue == nullptr) return std::unexpected(VerbError::NotFound);
    if (limit > queue->depth) return std::unexpected(VerbError::InvalidArgument);
    queue->limit = limit;
    return {};
}

std::expected<SrqReport, VerbError> Engine::query_srq(SrqId srq) const {
    const SharedReceiveQueue* const queue = state_->find(srq);
    if (queue == nullptr) return std::unexpected(VerbError::NotFound);
    return SrqReport{.depth = queue->depth,
                     .max_sge = queue->max_sge,
                     .limit = queue->limit,
                     .posted = static_cast<std::uint32_t>(queue->size())};
}

std::expected<void, VerbError> Engine::destroy_srq(SrqId srq) {
    const SharedReceiveQueue* const queue = state_->find(srq);
    if (queue == nullptr) return std::unexpected(VerbError::NotFound);
    if (queue->users != 0) return std::unexpected(VerbError::Busy);
    state_->srqs[srq.value - 1].reset();
    --state_->live_srqs;
    return {};
}

Engine::Posted Engine::post_srq_receive(SrqId srq, std::span<const ReceiveRequest> chain) {
    SharedReceiveQueue* const queue = state_->find(srq);
    if (queue == nullptr) return {.refused = VerbError::NotFound};
    Posted result;
    for (const ReceiveRequest& request : chain) {
        if (request.sges.size() > queue->max_sge) {
            result.refused = VerbError::InvalidArgument;
            break;
        }
        if (queue->full()) {
            result.refused = VerbError::NoMemory;
            break;
        }
        queue->push(request);
        ++result.posted;
    }
    return result;
}

} // namespace veriroce::engine
