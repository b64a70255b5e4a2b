#include "transport/engine/reply_queue.hpp"

namespace veriroce::engine {

void ReplyQueue::add(const Reply& reply, bool coalesce) {
    if (reply.kind == ReplyKind::Acknowledge && !queue_.empty() &&
        queue_.back().kind == ReplyKind::Acknowledge) {
        const bool both_ack = queue_.back().syndrome.kind() == wire::AckKind::Ack &&
                              reply.syndrome.kind() == wire::AckKind::Ack;
        const bool short_of_room = queue_.size() >= kMergeFrom;
        if (short_of_room || (coalesce && both_ack)) {
            queue_.back() = reply;
            return;
        }
    }
    // Without room, the acknowledge is lost, as it may be on the wire.
    if (room()) queue_.push(reply);
}

bool ReplyQueue::add_duplicate(const Reply& reply) {
    std::size_t at = queue_.size();
    for (std::size_t i = 0; i < queue_.size(); ++i) {
        Reply& waiting = queue_[i];
        const std::int32_t ahead = wire::distance(reply.psn, waiting.psn);
        if (reply.kind == ReplyKind::Acknowledge && waiting.kind == ReplyKind::Acknowledge &&
            (ahead > 0 || (ahead == 0 && waiting.syndrome.kind() == wire::AckKind::Ack))) {
            return true; // what waits says as much and more
        }
        if (reply.kind == ReplyKind::Read && waiting.kind == ReplyKind::Read) {
            // RDR-15: the same response is under way. Its tail will come anyway; an earlier part
            // of it begins it again.
            if (forward(waiting.psn, reply.psn) < waiting.packets) return true;
            if (forward(reply.psn, waiting.psn) < reply.packets) {
                const bool fresh = waiting.fresh;
                waiting = reply;
                waiting.fresh = fresh;
                return true;
            }
        }
        if (reply.kind == ReplyKind::Atomic && waiting.kind == ReplyKind::Atomic && ahead == 0) {
            return true;
        }
        if (ahead > 0) {
            at = i;
            break;
        }
    }
    if (queue_.size() + reserve_ >= queue_.capacity()) return false;
    queue_.insert(at, reply);
    return true;
}

} // namespace veriroce::engine
