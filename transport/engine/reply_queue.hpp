// What a responder still has to say, in order of PSN: acknowledges, and READ and atomic responses
// that are made when they are sent. A duplicate's answer goes in front of what lies behind its PSN
// (N-02, C9-110).
#pragma once

#include "transport/engine/ring.hpp"
#include "transport/engine/view.hpp"

namespace veriroce::engine {

enum class ReplyKind : std::uint8_t { Acknowledge, Read, Atomic };

struct Reply {
    ReplyKind kind = ReplyKind::Acknowledge;
    wire::Psn psn;             // of the next packet
    std::uint32_t packets = 1; // that are left
    wire::Syndrome syndrome;
    wire::Msn msn;
    std::uint64_t original = 0; // Atomic
    // Read: the memory that is still to send.
    wire::Rkey rkey;
    std::uint64_t address = 0;
    std::uint64_t left = 0;
    bool begins = true; // the next packet is a FIRST or ONLY
    bool fresh = true;  // the answer to a new request, which Inbound::replies counts
};

class ReplyQueue {
  public:
    // Sets how many READs and atomics may be held at the same time; 0 before the first call.
    void make_room(std::size_t rd_atomic) {
        reserve_ = rd_atomic + 1;
        queue_.grow(kMergeFrom + 2 * reserve_);
    }

    [[nodiscard]] bool empty() const { return queue_.empty(); }
    Reply& front() { return queue_.front(); }
    void pop() { queue_.pop(); }
    void clear() { queue_.clear(); }

    // Whether a READ or atomic can be answered.
    [[nodiscard]] bool room() const { return !queue_.full(); }
    // Adds the answer to a new request. An acknowledge takes the place of one that still waits when
    // `coalesce` is set or the queue is short of room (ACK-03). For anything else the caller has
    // asked room().
    void add(const Reply& reply, bool coalesce = false);
    // Adds the answer to a duplicate at its place. False if it cannot be answered now (the
    // requester asks again: REQ-08).
    bool add_duplicate(const Reply& reply);

  private:
    // Acknowledges merge from this length on, so that there is always room for an answer.
    static constexpr std::size_t kMergeFrom = 8;
    std::size_t reserve_ = 0; // slots that duplicates leave free
    Ring<Reply> queue_{0};
};

} // namespace veriroce::engine
