// What was posted, by the numbers that the device gets instead of the caller's wr ids.
//
// The verbs leave opcode and queue of a failed completion undefined, and some devices report a
// flushed receive as a send: only the number says what it was. An unsignaled send that succeeded
// never completes; a later completion of its QP's send queue strikes it out.
#pragma once

#include <deque>
#include <optional>
#include <unordered_map>

#include "conformance/dut/contract.hpp"

namespace veriroce::agent {

class WrLedger {
  public:
    struct Entry {
        std::uint64_t id = 0; // the caller's
        dut::QpHandle qp;     // 0 of a receive in an SRQ: the completion says which QP
        engine::Queue queue = engine::Queue::Send;
        engine::WcOpcode opcode = engine::WcOpcode::Send;
    };

    // The number to post with.
    std::uint64_t add(const Entry& entry);
    // Strikes out what the device did not take.
    void drop(std::uint64_t number) { entries_.erase(number); }
    // What completed; nothing for a number that is not open.
    std::optional<Entry> take(std::uint64_t number);
    // The QP is gone, and its work with it.
    void forget(dut::QpHandle qp);
    void clear();

    [[nodiscard]] std::size_t open() const { return entries_.size(); }

  private:
    std::uint64_t next_ = 1;
    std::unordered_map<std::uint64_t, Entry> entries_;
    std::unordered_map<std::uint64_t, std::deque<std::uint64_t>> sends_; // by QP, oldest first
};

// What a send of this opcode completes as.
engine::WcOpcode completes_as(engine::WrOpcode opcode);

} // namespace veriroce::agent
