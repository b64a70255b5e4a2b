#include "transport/engine/receives.hpp"

#include <algorithm>
#include <numeric>

#include "transport/engine/device.hpp"
#include "transport/engine/scatter.hpp"

namespace veriroce::engine {

SharedReceiveQueue::SharedReceiveQueue(SrqId srq, const SrqDescription& description)
    : id(srq), pd(description.pd), max_sge(description.max_sge), depth(description.depth),
      limit(description.limit), slots_(depth), sges_(std::size_t{depth} * max_sge), posted_(depth),
      free_(depth) {
    std::iota(free_.rbegin(), free_.rend(), 0U);
}

void SharedReceiveQueue::push(const ReceiveRequest& request) {
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    const std::span<Sge> mine =
        std::span(sges_).subspan(std::size_t{slot} * max_sge, request.sges.size());
    std::ranges::copy(request.sges, mine.begin());
    slots_[slot] = {.id = request.id, .sges = mine, .bytes = bytes_of(mine), .slot = slot};
    posted_.push(slot);
}

namespace {

// N-16: once, when fewer are left than the limit says.
ReceiveWork take_shared(Device& device, SharedReceiveQueue& srq) {
    const ReceiveWork work = srq.take();
    if (srq.size() < srq.limit) {
        srq.limit = 0;
        device.raise({.type = EventType::SrqLimitReached, .srq = srq.id});
    }
    return work;
}

} // namespace

const ReceiveWork* next_receive(const Qp& qp) {
    if (qp.held) return &*qp.held;
    if (qp.srq != nullptr) return qp.srq->empty() ? nullptr : &qp.srq->front();
    return qp.receives.empty() ? nullptr : &qp.receives.front();
}

PdId receive_domain(const Qp& qp) {
    return qp.srq != nullptr ? qp.srq->pd : qp.connection.pd;
}

void hold_receive(Device& device, Qp& qp) {
    // The QP's own stays at the head of its queue: nobody else takes it.
    if (qp.srq == nullptr || qp.held || qp.srq->empty()) return;
    qp.held = take_shared(device, *qp.srq);
}

std::optional<ReceiveWork> take_receive(Device& device, Qp& qp) {
    if (qp.srq == nullptr) {
        if (qp.receives.empty()) return std::nullopt;
        return qp.receives.pop();
    }
    hold_receive(device, qp);
    if (!qp.held) return std::nullopt;
    const ReceiveWork work = *qp.held;
    qp.held.reset();
    qp.srq->release(work);
    return work;
}

void flush_receives(Device& device, Qp& qp) {
    const auto flush = [&](std::uint64_t id) {
        deliver(device, qp, Queue::Receive,
                {.id = id, .status = WcStatus::WrFlushErr, .opcode = WcOpcode::Recv});
    };
    if (qp.srq != nullptr) {
        if (qp.held) flush(take_receive(device, qp)->id);
        device.raise(EventType::LastWqeReached, qp);
    }
    while (!qp.receives.empty())
        flush(qp.receives.pop().id);
}

void forget_receives(Qp& qp) {
    if (qp.held) qp.srq->release(*qp.held);
    qp.held.reset();
    qp.receives.clear();
}

} // namespace veriroce::engine
