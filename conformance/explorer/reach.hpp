// What the device and the link of a run can do: dialogues ask for nothing else.
#pragma once

#include <cstdint>
#include <optional>

#include "conformance/interpreter/environment.hpp"

namespace veriroce::explorer {

inline constexpr std::uint32_t kInlineBytes = 64; // that a QP of a dialogue takes

struct Reach {
    std::uint32_t largest_mtu = 1024; // bytes
    std::uint32_t reads = 4;          // READs and atomics outstanding at once, of either side
    bool reading = true;
    bool atomics = true;
    bool immediate = true;
    bool small_mtu = true; // 256 and 512
    bool in_order = true;  // a gap gets a NAK
    bool shared_queues = true;
    bool windows = true; // type 2, and SEND with Invalidate
    bool type_1_windows = true;
    bool two_pieces = true; // in a work request
    std::uint32_t pieces = 3;
    bool inline_data = true;
    bool draining = true; // SQD
    bool reset_reuse = true;
    bool notices = true; // of completion queues
    bool events = true;
    bool flush = true;
    bool atomic_write = true;
    bool unreliable = true;                 // UC
    bool datagrams = true;                  // UD
    bool datagram_paths = true;             // each has a traffic class of its own
    bool second_address = true;             // of the tester
    bool chosen_addresses = true;           // of its regions
    bool buffers_early = false;             // a request that comes before RTR is served in RTR
    bool times_retries = true;              // its retries come when the timeout says
    std::optional<std::uint16_t> vlan = {}; // in which it has addresses of both IP versions
};

Reach reach_of(const interpreter::Environment& environment);

} // namespace veriroce::explorer
