// Between a message and the pieces of local memory that its work request names.
//
// `offset` counts bytes of the message. A piece counts only where the message touches it: an SGE
// longer than its region is no fault while the message ends before (KEY-12).
#pragma once

#include <optional>
#include <span>

#include "transport/engine/memory.hpp"

namespace veriroce::engine {

enum class Direction : std::uint8_t { FromMemory, ToMemory };

std::uint64_t bytes_of(std::span<const Sge> sges);

// Whether the lkeys allow `length` bytes at `offset` to be read or written.
bool reachable(const Memory& memory, PdId pd, std::span<const Sge> sges, std::uint64_t offset,
               std::uint64_t length, Direction direction);

// The bytes as one span: in place where they are one piece, else gathered into `scratch`, which
// has room for `length`. Nothing if they are not reachable.
std::optional<wire::Bytes> gather(const Memory& memory, PdId pd, std::span<const Sge> sges,
                                  std::uint64_t offset, std::size_t length,
                                  wire::MutableBytes scratch);

// Writes all of `bytes`, or nothing and says false.
bool scatter(const Memory& memory, PdId pd, std::span<const Sge> sges, std::uint64_t offset,
             wire::Bytes bytes);

} // namespace veriroce::engine
