// Where what lies in the memory of the endpoints of a scenario. Between all areas, and between the
// pieces of a message, lie guard bytes that no request names.
#pragma once

#include <vector>

#include "transport/sim/scenario.hpp"

namespace veriroce::sim {

inline constexpr std::size_t kGuardBytes = 16;
inline constexpr std::size_t kPieceGap = 8;   // guard bytes between two pieces
inline constexpr std::size_t kLocalSlots = 8; // messages that have local memory at a time
inline constexpr std::size_t kReceiveSlots = 4;
inline constexpr std::size_t kCounterAt = 64; // of the counter that all peers add to

struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;

    [[nodiscard]] std::size_t size() const { return end - begin; }
    [[nodiscard]] bool has(std::size_t at) const { return begin <= at && at < end; }
};

// A piece of a message, as a range of its endpoint's memory.
using Pieces = std::vector<Range>;

// The memory of what one side of a connection asks of the other.
struct DirectionLayout {
    std::size_t asking = 0; // endpoints
    std::size_t answering = 0;
    std::size_t slot_bytes = 0; // of a local or receive slot, guards included
    Range locals;               // in the asking endpoint: sources, and where READs and atomics land
    Range target;               // in the answering one: what WRITEs, READs and atomics name
    Range receives;             // the same: what SENDs fill

    [[nodiscard]] std::size_t local(std::size_t work) const {
        return locals.begin + work % kLocalSlots * slot_bytes;
    }
    [[nodiscard]] std::size_t receive(std::size_t number) const {
        return receives.begin + number % kReceiveSlots * slot_bytes;
    }
};

struct Layout {
    std::vector<std::size_t> memory_bytes;   // by endpoint
    std::vector<DirectionLayout> directions; // by 2 * connection + side that asks
};

Layout layout_of(const Scenario& scenario);

// The local pieces of a work's message whose slot begins here; those of a receive.
Pieces pieces_of(const WorkPlan& work, std::size_t slot);
Pieces receive_pieces(const DirectionPlan& plan, std::uint32_t longest, std::size_t slot);

} // namespace veriroce::sim
