// A label file: connections whose QPs and attributes the caller knows, one a line, '#' begins a
// comment:
//
//   10.77.0.1 0x11  10.77.0.2 0x22  mtu=1024 psn=100,5000 reads=4,4 timeout=14,14
//
// Two ends, each an address and a QP number; then what is known: the path MTU, and by end the first
// PSN, how many READs and atomics it may have outstanding, and its local ACK timeout code.
// Errors: the number of the line and what is wrong with it. Internal to this room.
#pragma once

#include <array>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "dissector/flow/tracker.hpp"

namespace veriroce::commands {

struct LabelError {
    std::size_t line = 0; // counted from 1
    std::string message;
};

using Labels = std::vector<std::array<flow::Introduction, 2>>;

std::expected<Labels, LabelError> parse_labels(std::string_view text);

} // namespace veriroce::commands
