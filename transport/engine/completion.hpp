// A completion queue of fixed depth. A completion that does not fit ends the queue: the engine
// raises an event and ends every QP that completes there (KEY-13).
//
// Source: rules KEY-13, BTH-13, N-26; ibv_req_notify_cq.
#pragma once

#include "transport/engine/ring.hpp"
#include "transport/engine/verbs.hpp"

namespace veriroce::engine {

struct Device;
struct Qp;

// What an armed queue waits for. Solicited: a receive whose last packet had SE set, and any
// completion in error (BTH-13).
enum class Armed : std::uint8_t { Not, Solicited, Any };

struct CompletionQueue {
    CompletionQueue(CqId cq, std::uint32_t depth) : id(cq), entries(depth) {}

    CqId id;
    Ring<Completion> entries;
    std::uint32_t users = 0; // queues of QPs that complete here
    bool overrun = false;    // the queue accepts no more completions
    Armed armed = Armed::Not;
    bool notified =
        false; // an awaited completion has come, and take_notification() has not reported it
};

// The opcode with which a work request completes.
WcOpcode completion_opcode(WrOpcode opcode);

// Puts a completion into the queue's CQ. False if it did not fit: then the QP is in ERR (KEY-13).
// `solicited`: the peer asked that a host which waits for solicited completions is told (BTH-13).
bool deliver(Device& device, Qp& qp, Queue queue, const Completion& completion,
             bool solicited = false);

} // namespace veriroce::engine
