// A completion queue: bounded; what does not fit is its end, which the engine reports as an event
// and as the end of every QP that completes there (KEY-13).
//
// Source: rules KEY-13, BTH-13, N-26; ibv_req_notify_cq.
#pragma once

#include "transport/engine/ring.hpp"
#include "transport/engine/verbs.hpp"

namespace veriroce::engine {

// What a queue that was armed waits for. Solicited: a receive whose last packet had SE set, and any
// completion in error (BTH-13).
enum class Armed : std::uint8_t { Not, Solicited, Any };

struct CompletionQueue {
    CompletionQueue(CqId cq, std::uint32_t depth) : id(cq), entries(depth) {}

    CqId id;
    Ring<Completion> entries;
    std::uint32_t users = 0; // queues of QPs that complete here
    bool overrun = false;    // nothing comes in any more
    Armed armed = Armed::Not;
    bool notified = false; // what it was armed for has come, and nobody has fetched the news
};

// What a receive or send queue completes as.
WcOpcode completion_opcode(WrOpcode opcode);

} // namespace veriroce::engine
