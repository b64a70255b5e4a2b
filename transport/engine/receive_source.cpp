#include "transport/engine/receive_source.hpp"

#include "transport/engine/completion.hpp"
#include "transport/engine/device.hpp"

namespace veriroce::engine {

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
    // The QP's own receive stays at the head of its queue, because only this QP takes it.
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

bool fail_receive(Device& device, Qp& qp, WcStatus status) {
    const auto work = take_receive(device, qp);
    if (!work) return false;
    deliver(device, qp, Queue::Receive,
            {.id = work->id, .status = status, .opcode = WcOpcode::Recv});
    return true;
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
