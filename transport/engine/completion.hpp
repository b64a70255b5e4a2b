// A completion queue: bounded; what does not fit marks it overrun, which the engine reports as an
// event and as the end of the QP (KEY-13).
#pragma once

#include "transport/engine/ring.hpp"
#include "transport/engine/verbs.hpp"

namespace veriroce::engine {

struct CompletionQueue {
    CompletionQueue(CqId cq, std::uint32_t depth) : id(cq), entries(depth) {}

    CqId id;
    Ring<Completion> entries;
    std::uint32_t users = 0; // queues of QPs that complete here
    bool overrun = false;
};

// What a receive or send queue completes as.
WcOpcode completion_opcode(WrOpcode opcode);

} // namespace veriroce::engine
