#include "transport/engine/completion.hpp"

#include "transport/engine/qp_states.hpp"

namespace veriroce::engine {

WcOpcode completion_opcode(WrOpcode opcode) {
    switch (opcode) {
    case WrOpcode::Send:
    case WrOpcode::SendWithImm:
    case WrOpcode::SendWithInv: return WcOpcode::Send;
    case WrOpcode::RdmaWrite:
    case WrOpcode::RdmaWriteWithImm: return WcOpcode::RdmaWrite;
    case WrOpcode::RdmaRead: return WcOpcode::RdmaRead;
    case WrOpcode::AtomicCmpAndSwp: return WcOpcode::CompSwap;
    case WrOpcode::AtomicFetchAndAdd: return WcOpcode::FetchAdd;
    case WrOpcode::LocalInv: return WcOpcode::LocalInv;
    case WrOpcode::BindMw: return WcOpcode::BindMw;
    case WrOpcode::Flush: return WcOpcode::Flush;
    case WrOpcode::AtomicWrite: return WcOpcode::AtomicWrite;
    }
    return WcOpcode::Send;
}

namespace {

void end(Device& device, Qp& qp) {
    if (qp.connection.state == QpState::Err) return;
    device.raise(EventType::QpFatal, qp);
    enter_error(device, qp);
}

// KEY-13: the completion is lost, and says so at the CQ and at all QPs that complete there.
void overrun(Device& device, CompletionQueue& cq) {
    if (cq.overrun) return;
    cq.overrun = true;
    device.raise({.type = EventType::CqErr, .cq = cq.id});
    for (const auto& qp : device.qps) {
        const bool concerned =
            qp && qp->connection.state != QpState::Reset &&
            (qp->description.send_cq == cq.id || qp->description.recv_cq == cq.id);
        if (concerned) end(device, *qp);
    }
}

} // namespace

bool deliver(Device& device, Qp& qp, Queue queue, const Completion& completion, bool solicited) {
    const bool send = queue == Queue::Send;
    CompletionQueue& cq = *device.find(send ? qp.description.send_cq : qp.description.recv_cq);
    if (cq.overrun || cq.entries.full()) {
        overrun(device, cq);
        end(device, qp); // one that was in RESET when the queue ended
        return false;
    }
    Completion& entry = cq.entries.push(completion);
    entry.qp = qp.id;
    entry.queue = queue;
    const bool urgent = solicited || completion.status != WcStatus::Success; // N-26
    if (cq.armed == Armed::Any || (cq.armed == Armed::Solicited && urgent)) {
        cq.armed = Armed::Not;
        cq.notified = true;
    }
    return true;
}

} // namespace veriroce::engine
