// The part of the model that checks memory: every changed byte must be explained by a request that
// may have executed that far.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "transport/sim/model.hpp"

namespace veriroce::sim {

namespace {

constexpr std::size_t kNowhere = ~std::size_t{0};

std::size_t first_difference(wire::Bytes a, wire::Bytes b, std::size_t from) {
    constexpr std::size_t kChunk = 4096;
    for (std::size_t at = from; at < a.size(); at += kChunk) {
        const std::size_t size = std::min(kChunk, a.size() - at);
        if (std::memcmp(a.data() + at, b.data() + at, size) == 0) continue;
        const auto found = std::mismatch(a.begin() + static_cast<std::ptrdiff_t>(at), a.end(),
                                         b.begin() + static_cast<std::ptrdiff_t>(at));
        return static_cast<std::size_t>(found.first - a.begin());
    }
    return kNowhere;
}

// The piece of a message that contains a byte, and the message offset of the piece's first byte.
struct Found {
    Range piece;
    std::size_t offset = 0;
};
std::optional<Found> piece_with(const Pieces& pieces, std::size_t at) {
    std::size_t offset = 0;
    for (const Range& piece : pieces) {
        if (piece.has(at)) return Found{piece, offset};
        offset += piece.size();
    }
    return std::nullopt;
}

} // namespace

Failure Model::unexplained(std::size_t endpoint, std::size_t at) const {
    const auto value = [at](wire::Bytes bytes) { return static_cast<unsigned>(bytes[at]); };
    std::string where = "outside every area";
    for (std::size_t i = 0; i < directions_.size(); ++i) {
        const DirectionLayout& direction = layout_.directions[i];
        const auto say = [&](std::size_t owner, Range range, std::string_view what) {
            if (owner != endpoint || !range.has(at)) return;
            where = fmt::format("in q{}, {}{}", i / 2, what, i % 2 == 0 ? 'a' : 'b');
        };
        say(direction.requester, direction.locals, "local memory of ");
        say(direction.responder, direction.target, "target of ");
        say(direction.responder, direction.receives, "receives for ");
    }
    if (at >= kCounterAt && at < kCounterAt + 8) where = "in the shared counter";
    return {Wrong::Memory,
            fmt::format("byte {} of endpoint {}'s memory, {}: expected {:#04x}, got {:#04x}, "
                        "which no request explains",
                        at, endpoint, where, value(images_[endpoint]), value(memories_[endpoint]))};
}

MaybeFailure Model::look(std::size_t endpoint) {
    std::size_t at = 0;
    while (true) {
        at = first_difference(memories_[endpoint], images_[endpoint], at);
        if (at == kNowhere) return std::nullopt;
        if (!explain(endpoint, at)) return unexplained(endpoint, at);
    }
}

bool Model::explain(std::size_t endpoint, std::size_t at) {
    if (at >= kCounterAt && at < kCounterAt + 8) return explain_counter(endpoint);
    for (std::size_t i = 0; i < directions_.size(); ++i) {
        const DirectionLayout& direction = layout_.directions[i];
        if (direction.requester == endpoint && direction.locals.has(at))
            return explain_local(i, at);
        if (direction.responder != endpoint) continue;
        if (direction.target.has(at)) return explain_target(i);
        if (direction.receives.has(at)) return explain_receive(i, at);
    }
    return false;
}

// Whether every byte of the target area equals the image or the result of the next request; updates
// the image if so.
bool Model::follows(std::size_t direction, const Work* next) {
    const Range target = layout_.directions[direction].target;
    const wire::Bytes memory = memories_[responder(direction)];
    std::vector<std::byte>& image = images_[responder(direction)];
    const auto explained = [&](std::size_t at) {
        return memory[at] == image[at] || (next != nullptr && next->written.has(at) &&
                                           next->writes[at - next->written.begin] == memory[at]);
    };
    for (std::size_t at = target.begin; at < target.end; ++at) {
        if (!explained(at)) return false;
    }
    std::copy_n(memory.begin() + static_cast<std::ptrdiff_t>(target.begin), target.size(),
                image.begin() + static_cast<std::ptrdiff_t>(target.begin));
    return true;
}

// Only this direction's requests write here, and in order. So the memory must be the result of some
// number of them, plus a part of the next.
bool Model::explain_target(std::size_t direction) {
    Direction& state = directions_[direction];
    const Range target = layout_.directions[direction].target;
    const auto known =
        std::span(images_[responder(direction)]).subspan(target.begin, target.size());
    const std::vector<std::byte> before(known.begin(), known.end());
    const std::size_t executed = state.executed;
    while (true) {
        const bool more = state.executed < state.works.size();
        if (follows(direction, more ? &state.works[state.executed] : nullptr)) return true;
        if (!more) break;
        execute_through(direction, state.executed);
    }
    std::ranges::copy(before, known.begin()); // for the report
    state.executed = executed;
    return false;
}

// Whether a READ or atomic may return this byte: the contents at its turn, or the result of a later
// request that does not wait for it (REQ-28).
bool Model::may_land(std::size_t direction, std::size_t work, std::size_t offset,
                     std::byte value) const {
    const Direction& state = directions_[direction];
    const Work& asks = state.works[work];
    if (asks.plan.shared || asks.data[offset] == value) return true;
    if (asks_atomic(asks.plan.opcode)) return false;
    const std::size_t at = layout_.directions[direction].target.begin + asks.plan.target + offset;
    for (std::size_t i = work + 1; i < state.works.size(); ++i) {
        const Work& later = state.works[i];
        if (later.plan.flags.fence) return false;
        if (later.written.has(at) && later.writes[at - later.written.begin] == value) return true;
    }
    return false;
}

// From this byte to the end of its piece.
bool Model::explain_local(std::size_t direction, std::size_t at) {
    const Direction& state = directions_[direction];
    const wire::Bytes memory = memories_[requester(direction)];
    std::vector<std::byte>& image = images_[requester(direction)];
    for (std::size_t i = state.done; i < state.works.size(); ++i) {
        const Work& work = state.works[i];
        if (!asks_atomic(work.plan.opcode) && work.plan.opcode != engine::WrOpcode::RdmaRead) {
            continue;
        }
        const auto found = piece_with(work.local, at);
        if (!found) continue;
        for (; at < found->piece.end; ++at) {
            const std::size_t offset = found->offset + (at - found->piece.begin);
            if (memory[at] != image[at] && !may_land(direction, i, offset, memory[at]))
                return false;
            image[at] = memory[at];
        }
        return true;
    }
    return false;
}

bool Model::explain_receive(std::size_t direction, std::size_t at) {
    const Direction& state = directions_[direction];
    const wire::Bytes memory = memories_[responder(direction)];
    std::vector<std::byte>& image = images_[responder(direction)];
    const std::size_t ready = std::min(state.takers.size(), state.receives_posted);
    for (std::size_t i = state.receives_done; i < ready; ++i) {
        const Work& work = state.works[state.takers[i]];
        if (work.plan.opcode == engine::WrOpcode::RdmaWriteWithImm) continue;
        const auto found = piece_with(state.receives[i % kReceiveSlots], at);
        if (!found) continue;
        for (; at < found->piece.end; ++at) {
            const std::size_t offset = found->offset + (at - found->piece.begin);
            const bool sent = offset < work.data.size() && work.data[offset] == memory[at];
            if (memory[at] != image[at] && !sent) return false;
            image[at] = memory[at];
        }
        return true;
    }
    return false;
}

// The counter may only grow, and at most by the sum of all posted additions. The final check
// verifies the steps.
bool Model::explain_counter(std::size_t endpoint) {
    std::uint64_t now = 0;
    std::uint64_t known = 0;
    std::memcpy(&now, memories_[endpoint].data() + kCounterAt, sizeof now);
    std::memcpy(&known, images_[endpoint].data() + kCounterAt, sizeof known);
    if (now <= known || now > shared_most_[endpoint]) return false;
    wrote(endpoint, {.begin = kCounterAt, .end = kCounterAt + sizeof now});
    return true;
}

} // namespace veriroce::sim
