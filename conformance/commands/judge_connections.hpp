// The file of --connections: connections whose QPs and attributes the user knows, one per line;
// '#' begins a comment:
//
//   10.77.0.1 0x11  10.77.0.2 0x22  mtu=1024 psn=100,5000 reads=4,4 timeout=14,14 open
//
// Each end is an address and a QP number. Optional: the path MTU, and for each end the first PSN,
// how many READs and atomics it may have outstanding, and its local ACK timeout code; `open` if
// both QPs live until the capture ends. Errors: the
// number of the line and what is wrong with it. Internal to this room.
#pragma once

#include <array>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "dissector/flow/tracker.hpp"

namespace veriroce::commands {

struct ConnectionsError {
    std::size_t line = 0; // counted from 1
    std::string message;
};

using KnownConnections = std::vector<std::array<flow::Introduction, 2>>;

std::expected<KnownConnections, ConnectionsError> parse_connections(std::string_view text);

} // namespace veriroce::commands
