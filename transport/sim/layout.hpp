// The memory layout of a scenario's endpoints. Guard bytes that no request covers separate all
// areas, and the pieces of each message.
#pragma once

#include <vector>

#include "transport/sim/scenario.hpp"

namespace veriroce::sim {

inline constexpr std::size_t kGuardBytes = 16;
inline constexpr std::size_t kPieceGap = 8; // guard bytes between two pieces
// Messages per direction that can use local memory at the same time.
inline constexpr std::size_t kLocalSlots = 8;
inline constexpr std::size_t kReceiveSlots = 4;
inline constexpr std::size_t kCounterAt = 64; // offset of the counter that all peers add to

struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;

    [[nodiscard]] std::size_t size() const { return end - begin; }
    [[nodiscard]] bool has(std::size_t at) const { return begin <= at && at < end; }
};

// The pieces of a message, as ranges of its endpoint's memory.
using Pieces = std::vector<Range>;

// The memory used by the requests of one side of a connection.
struct DirectionLayout {
    std::size_t requester = 0; // endpoints: the requester and the responder
    std::size_t responder = 0;
    std::size_t slot_bytes = 0; // size of a local or receive slot, including guards
    Range locals;               // in the requester: sources, and the results of READs and atomics
    Range target;               // in the responder: the target of WRITEs, READs and atomics
    Range receives;             // in the responder: the buffers for SENDs

    [[nodiscard]] std::size_t local(std::size_t work) const {
        return locals.begin + work % kLocalSlots * slot_bytes;
    }
    [[nodiscard]] std::size_t receive(std::size_t number) const {
        return receives.begin + number % kReceiveSlots * slot_bytes;
    }
};

struct Layout {
    std::vector<std::size_t> memory_bytes;   // by endpoint
    std::vector<DirectionLayout> directions; // index: 2 * connection + side of the requester
};

Layout layout_of(const Scenario& scenario);

// The pieces of a request's local memory in the slot at this address; the pieces of a receive.
Pieces pieces_of(const WorkPlan& work, std::size_t slot);
Pieces receive_pieces(const DirectionPlan& plan, std::uint32_t longest, std::size_t slot);

} // namespace veriroce::sim
