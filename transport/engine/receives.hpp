// Where a QP's receives come from: its own queue, or one that it shares with others.
//
// A message that takes a receive out of a shared queue holds it until it completes, because others
// take the next one meanwhile; its slot is not used again before.
//
// Source: rules RNR-01, RNR-14, N-16, STA-07.
#pragma once

#include "transport/engine/queues.hpp"

namespace veriroce::engine {

struct Device;
struct Qp;

class SharedReceiveQueue {
  public:
    SharedReceiveQueue(SrqId srq, const SrqDescription& description);

    // Receives that messages hold count as well.
    [[nodiscard]] bool full() const { return free_.empty(); }
    [[nodiscard]] bool empty() const { return posted_.empty(); }
    [[nodiscard]] std::size_t size() const { return posted_.size(); }
    [[nodiscard]] const ReceiveWork& front() const { return slots_[posted_.front()]; }
    // The caller has asked full() and checked the request against max_sge.
    void push(const ReceiveRequest& request);
    // The oldest; its SGEs stay where they are until it is released.
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
    Ring<std::uint32_t> posted_;
    std::vector<std::uint32_t> free_;
};

// The receive that the open message holds, or that the next one would take; nullptr if there is
// none.
const ReceiveWork* next_receive(const Qp& qp);
// The domain of its memory.
PdId receive_domain(const Qp& qp);
// A message began that will need one, and next_receive has one.
void hold_receive(Device& device, Qp& qp);
// Takes it for its completion. Nothing if there is none.
std::optional<ReceiveWork> take_receive(Device& device, Qp& qp);
// STA-07: completes in error what the QP has. What others share stays; LAST_WQE_REACHED says that
// no more of it is taken (N-16).
void flush_receives(Device& device, Qp& qp);
// STA-10
void forget_receives(Qp& qp);

} // namespace veriroce::engine
