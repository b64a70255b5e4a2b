#include "transport/engine/scatter.hpp"

#include <algorithm>
#include <cstring>

namespace veriroce::engine {

namespace {

// Calls `take(region bytes)` for each piece of [offset, offset + length) in order, until one is not
// reachable. Whether all were.
template <typename Take>
bool for_each_piece(const Memory& memory, PdId pd, std::span<const Sge> sges, std::uint64_t offset,
                    std::uint64_t length, Direction direction, Take take) {
    for (const Sge& sge : sges) {
        if (length == 0) return true;
        if (offset >= sge.length) {
            offset -= sge.length;
            continue;
        }
        const std::uint64_t piece = std::min<std::uint64_t>(sge.length - offset, length);
        const Region& region = memory.slot(sge.lkey.value);
        const bool allowed = region.live && region.kind == KeyKind::Region &&
                             region.key == sge.lkey.value && region.pd == pd &&
                             (direction == Direction::FromMemory || region.access.local_write);
        if (!allowed || !region.covers(sge.address + offset, piece)) return false;
        take(region.at(sge.address + offset, piece));
        offset = 0;
        length -= piece;
    }
    return length == 0;
}

} // namespace

std::uint64_t bytes_of(std::span<const Sge> sges) {
    std::uint64_t sum = 0;
    for (const Sge& sge : sges)
        sum += sge.length;
    return sum;
}

bool reachable(const Memory& memory, PdId pd, std::span<const Sge> sges, std::uint64_t offset,
               std::uint64_t length, Direction direction) {
    return for_each_piece(memory, pd, sges, offset, length, direction, [](wire::MutableBytes) {});
}

std::optional<wire::Bytes> gather(const Memory& memory, PdId pd, std::span<const Sge> sges,
                                  std::uint64_t offset, std::size_t length,
                                  wire::MutableBytes scratch) {
    if (length == 0) return wire::Bytes{};
    wire::Bytes whole;
    std::size_t copied = 0;
    const bool reached = for_each_piece(
        memory, pd, sges, offset, length, Direction::FromMemory, [&](wire::MutableBytes piece) {
            if (piece.size() == length) {
                whole = piece;
                return;
            }
            std::memcpy(scratch.data() + copied, piece.data(), piece.size());
            copied += piece.size();
            whole = scratch.first(copied);
        });
    if (!reached) return std::nullopt;
    return whole;
}

bool scatter(const Memory& memory, PdId pd, std::span<const Sge> sges, std::uint64_t offset,
             wire::Bytes bytes) {
    if (!reachable(memory, pd, sges, offset, bytes.size(), Direction::ToMemory)) return false;
    return for_each_piece(memory, pd, sges, offset, bytes.size(), Direction::ToMemory,
                          [&](wire::MutableBytes piece) {
                              std::memcpy(piece.data(), bytes.data(), piece.size());
                              bytes = bytes.subspan(piece.size());
                          });
}

} // namespace veriroce::engine
