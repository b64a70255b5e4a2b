// What a port lost, and what passed it without coming to the process.
#pragma once

#include <cstdint>

namespace veriroce::inject {

struct PortCounts {
    std::uint64_t dropped_by_kernel = 0; // came in, but the receive buffer was full
    std::uint64_t unreadable = 0;        // came in, but the kernel could not hand them over
    std::uint64_t refused = 0;           // could not leave: too long, or the link was down
    std::uint64_t queue_full = 0;        // could not leave: the interface's queue was full
    std::uint64_t in_kernel = 0;         // passed without coming here
    std::uint64_t roce_in_kernel = 0;    // of those
    std::uint64_t dropped_by_rules = 0;  // by rules that the kernel decides
};

} // namespace veriroce::inject
