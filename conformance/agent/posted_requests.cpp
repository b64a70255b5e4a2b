#include "conformance/agent/posted_requests.hpp"

namespace veriroce::agent {

std::uint64_t PostedRequests::add(const Entry& entry) {
    const auto number = next_++;
    entries_.emplace(number, entry);
    if (entry.queue == engine::Queue::Send) sends_[entry.qp.value].push_back(number);
    return number;
}

std::optional<PostedRequests::Entry> PostedRequests::take(std::uint64_t number) {
    const auto found = entries_.find(number);
    if (found == entries_.end()) return std::nullopt;
    const Entry entry = found->second;
    entries_.erase(found);
    if (entry.queue == engine::Queue::Send) {
        auto& sends = sends_[entry.qp.value];
        while (!sends.empty() && sends.front() <= number) {
            entries_.erase(sends.front());
            sends.pop_front();
        }
    }
    return entry;
}

void PostedRequests::forget(dut::QpHandle qp) {
    std::erase_if(entries_, [qp](const auto& entry) { return entry.second.qp == qp; });
    sends_.erase(qp.value);
}

void PostedRequests::clear() {
    entries_.clear();
    sends_.clear();
}

engine::WcOpcode completes_as(engine::WrOpcode opcode) {
    switch (opcode) {
    case engine::WrOpcode::Send:
    case engine::WrOpcode::SendWithImm:
    case engine::WrOpcode::SendWithInv: return engine::WcOpcode::Send;
    case engine::WrOpcode::RdmaWrite:
    case engine::WrOpcode::RdmaWriteWithImm: return engine::WcOpcode::RdmaWrite;
    case engine::WrOpcode::RdmaRead: return engine::WcOpcode::RdmaRead;
    case engine::WrOpcode::AtomicCmpAndSwp: return engine::WcOpcode::CompSwap;
    case engine::WrOpcode::AtomicFetchAndAdd: return engine::WcOpcode::FetchAdd;
    case engine::WrOpcode::LocalInv: return engine::WcOpcode::LocalInv;
    case engine::WrOpcode::BindMw: return engine::WcOpcode::BindMw;
    case engine::WrOpcode::Flush: return engine::WcOpcode::Flush;
    case engine::WrOpcode::AtomicWrite: return engine::WcOpcode::AtomicWrite;
    }
    return engine::WcOpcode::Send;
}

} // namespace veriroce::agent
