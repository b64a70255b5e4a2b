// The work queues of a QP. Both copy what is posted, SGEs and inline bytes included, into memory
// that is taken once, when the QP is created.
#pragma once

#include <optional>

#include "transport/engine/ring.hpp"
#include "transport/engine/view.hpp"

namespace veriroce::engine {

// A posted send work request and how far it has come.
struct SendWork {
    SendRequest request; // its SGEs stand in the queue's own memory
    wire::Bytes inline_bytes;
    std::uint64_t length = 0;
    bool signaled = true;

    bool started = false;      // it has its PSNs
    bool answered = false;     // READ, atomic: the whole response came
    wire::Psn first;           // of its PSNs
    std::uint32_t packets = 1; // PSNs that it takes
    wire::Psn ssn;             // its place among the messages (REQ-29)
    wire::Psn expected_response;
    wire::Psn asked_from;
    std::optional<WcStatus> fault; // found in it before or while it was sent: nothing more is sent

    [[nodiscard]] wire::Psn last() const { return first + (std::int64_t{packets} - 1); }
    [[nodiscard]] bool holds(wire::Psn psn) const { return forward(first, psn) < packets; }
};

// Works count from the oldest, 0, to the newest.
class SendQueue {
  public:
    explicit SendQueue(const QpCapacity& capacity);

    [[nodiscard]] bool full() const { return works_.full(); }
    [[nodiscard]] bool empty() const { return works_.empty(); }
    [[nodiscard]] std::size_t size() const { return works_.size(); }
    SendWork& operator[](std::size_t i) { return works_[i]; }
    const SendWork& operator[](std::size_t i) const { return works_[i]; }
    SendWork& front() { return works_.front(); }

    // The caller has asked full() and checked the request against the capacity. `inline_bytes` are
    // copied: they are what an inline request sends.
    SendWork& push(const SendRequest& request, wire::Bytes inline_bytes);
    void pop() { works_.pop(); }
    void clear() { works_.clear(); }

  private:
    Ring<SendWork> works_;
    std::uint32_t max_sge_ = 0;
    std::uint32_t max_inline_ = 0;
    std::vector<Sge> sges_;
    std::vector<std::byte> inline_;
};

struct ReceiveWork {
    std::uint64_t id = 0;
    std::span<const Sge> sges;
    std::uint64_t bytes = 0;
    std::uint32_t slot = 0; // of a shared queue: where its SGEs stand
};

class ReceiveQueue {
  public:
    explicit ReceiveQueue(const QpCapacity& capacity);

    [[nodiscard]] bool full() const { return works_.full(); }
    [[nodiscard]] bool empty() const { return works_.empty(); }
    [[nodiscard]] std::size_t size() const { return works_.size(); }
    [[nodiscard]] const ReceiveWork& front() const { return works_.front(); }
    void push(const ReceiveRequest& request);
    ReceiveWork pop() { return works_.pop(); }
    void clear() { works_.clear(); }

  private:
    Ring<ReceiveWork> works_;
    std::uint32_t max_sge_ = 0;
    std::vector<Sge> sges_;
};

// A queue of receives that several QPs share. A message that takes a receive out of it holds the
// receive until it completes, because other QPs take the next one meanwhile; its slot is not used
// again before.
class SharedReceiveQueue {
  public:
    SharedReceiveQueue(SrqId srq, const SrqDescription& description, SharedReceive order);

    // Receives that messages hold count as well.
    [[nodiscard]] bool full() const { return free_.empty(); }
    [[nodiscard]] bool empty() const { return posted_.empty(); }
    [[nodiscard]] std::size_t size() const { return posted_.size(); }
    // The next to be taken.
    [[nodiscard]] const ReceiveWork& front() const { return slots_[posted_.front()]; }
    // The caller has asked full() and checked the request against max_sge.
    void push(const ReceiveRequest& request);
    // The next; its SGEs stay where they are until it is released.
    ReceiveWork take() { return slots_[posted_.pop()]; }
    void release(const ReceiveWork& work) { free_.push_back(work.slot); }

    SrqId id;
    PdId pd;
    std::uint32_t max_sge = 0;
    std::uint32_t depth = 0;
    std::uint32_t limit = 0; // 0: no event is armed
    std::uint32_t users = 0; // QPs

  private:
    std::vector<ReceiveWork> slots_;
    std::vector<Sge> sges_;
    Ring<std::uint32_t> posted_; // in the order in which they are taken
    std::vector<std::uint32_t> free_;
    SharedReceive order_;
};

} // namespace veriroce::engine
