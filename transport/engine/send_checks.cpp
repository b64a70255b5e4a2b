#include "transport/engine/send_checks.hpp"

namespace veriroce::engine::send_check {

// REQ-02, N-36: a READ counts all its responses. A request larger than the window goes alone.
bool window(const SendView& view) {
    const std::uint32_t out = forward(view.outbound.unacked_psn, view.outbound.next_psn);
    return out == 0 || std::uint64_t{out} + view.packets <= view.behaviour.max_unacked_packets;
}

// REQ-27
bool rd_atomic(const SendView& view) {
    return !wants_response(view.request.opcode) ||
           view.outbound.outstanding_rd_atomic < view.connection.max_rd_atomic;
}

// REQ-28: after all earlier READs and atomics.
bool fence(const SendView& view) {
    return !view.request.flags.fence || view.outbound.outstanding_rd_atomic == 0;
}

// REQ-29: up to the limit, and one message beyond it that asks for news. What nothing is
// outstanding for will hear no more, and may always ask.
bool credits(const SendView& view) {
    return !takes_receive(view.request.opcode) || view.outbound.credits.allows(view.ssn, 1) ||
           view.outbound.unacked_psn == view.outbound.next_psn;
}

// REQ-12: one counter for timeouts, sequence NAKs and implied NAKs. REQ-13: 7 is seven.
bool retry_left(const SendView& view) {
    return view.outbound.retries < view.connection.retry_count;
}

// RNR-09: 7 is for ever.
bool rnr_retry_left(const SendView& view) {
    constexpr std::uint8_t for_ever = 7;
    return view.connection.rnr_retry == for_ever ||
           view.outbound.rnr_retries < view.connection.rnr_retry;
}

} // namespace veriroce::engine::send_check
