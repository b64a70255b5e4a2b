// Which place each frame has in the capture: frames of several files, in the order of time, as
// capture::DecodedFrames merges them.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "dissector/mpi/world.hpp"

namespace veriroce::mpi {

// The latest time of a file's frames up to this one, in ns: it never falls, and a frame with an
// earlier time follows the one before it in its file.
using Key = std::int64_t;

// Frames one behind the other in a file, which this process has read.
struct Run {
    std::uint32_t file = 0;
    std::uint64_t piece = 0; // their order within the file
    std::span<const Key> keys;
};

// For each run the numbers of its frames, of which `before` were numbered already. All processes
// call it, with runs that together hold all frames up to some key.
std::vector<std::vector<std::uint64_t>> number_frames(World& world, std::span<const Run> runs,
                                                      std::uint64_t before);

} // namespace veriroce::mpi
