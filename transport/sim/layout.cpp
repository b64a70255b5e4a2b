#include "transport/sim/layout.hpp"

#include <algorithm>

namespace veriroce::sim {

namespace {

constexpr std::size_t round_up(std::size_t bytes) {
    return (bytes + 7) / 8 * 8; // the alignment that atomics need
}

Pieces cut(std::size_t slot, std::span<const std::uint32_t> ends) {
    Pieces pieces;
    std::uint32_t begin = 0;
    for (const std::uint32_t end : ends) {
        pieces.push_back({.begin = slot, .end = slot + (end - begin)});
        slot += end - begin + kPieceGap;
        begin = end;
    }
    return pieces;
}

} // namespace

Pieces pieces_of(const WorkPlan& work, std::size_t slot) {
    if (work.pieces == 0) return {};
    std::vector<std::uint32_t> ends(work.cuts.begin(), work.cuts.begin() + work.pieces - 1);
    ends.push_back(work.length);
    return cut(slot, ends);
}

Pieces receive_pieces(const DirectionPlan& plan, std::uint32_t longest, std::size_t slot) {
    std::vector<std::uint32_t> ends;
    for (std::uint32_t i = 1; i <= plan.receive_pieces; ++i)
        ends.push_back(longest * i / plan.receive_pieces);
    return cut(slot, ends);
}

Layout layout_of(const Scenario& scenario) {
    Layout layout;
    std::vector<std::size_t> end(scenario.endpoints.size(), kCounterAt + 8 + kGuardBytes);
    const auto take = [&end](std::size_t endpoint, std::size_t bytes) {
        const std::size_t begin = round_up(end[endpoint]);
        end[endpoint] = begin + bytes + kGuardBytes;
        return Range{.begin = begin, .end = begin + bytes};
    };
    for (const ConnectionPlan& connection : scenario.connections) {
        for (std::size_t side = 0; side < 2; ++side) {
            const std::size_t requester = connection.endpoints[side];
            const std::size_t responder = connection.endpoints[1 - side];
            const std::size_t message = std::max(8U, connection.longest);
            const std::size_t slot = round_up(message + 4 * kPieceGap + kGuardBytes);
            layout.directions.push_back({.requester = requester,
                                         .responder = responder,
                                         .slot_bytes = slot,
                                         .locals = take(requester, kLocalSlots * slot),
                                         .target = take(responder, round_up(message + 8)),
                                         .receives = take(responder, kReceiveSlots * slot)});
        }
    }
    layout.memory_bytes = std::move(end);
    return layout;
}

} // namespace veriroce::sim
