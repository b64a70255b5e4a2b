// The posted requests, by the numbers that the device gets instead of the caller's wr ids.
//
// The verbs leave opcode and queue of a failed completion undefined, and some devices report a
// flushed receive as a send: only the number identifies the request. An unsignaled send that
// succeeds never completes; a later completion of its QP's send queue removes it.
#pragma once

#include <deque>
#include <optional>
#include <unordered_map>

#include "conformance/dut/contract.hpp"

namespace veriroce::agent {

class PostedRequests {
  public:
    struct Entry {
        std::uint64_t id = 0; // the caller's
        dut::QpHandle qp;     // 0 for a receive in an SRQ: the completion names the QP
        engine::Queue queue = engine::Queue::Send;
        engine::WcOpcode opcode = engine::WcOpcode::Send;
    };

    // The number to post with.
    std::uint64_t add(const Entry& entry);
    // Removes a request that the device did not accept.
    void drop(std::uint64_t number) { entries_.erase(number); }
    // Removes and returns the completed request; nothing for an unknown number.
    std::optional<Entry> take(std::uint64_t number);
    // Removes all requests of a QP that was destroyed or reset.
    void forget(dut::QpHandle qp);
    void clear();

    [[nodiscard]] std::size_t open() const { return entries_.size(); }

  private:
    std::uint64_t next_ = 1;
    std::unordered_map<std::uint64_t, Entry> entries_;
    std::unordered_map<std::uint64_t, std::deque<std::uint64_t>> sends_; // by QP, oldest first
};

// The completion opcode of a send with this opcode.
engine::WcOpcode completes_as(engine::WrOpcode opcode);

} // namespace veriroce::agent
