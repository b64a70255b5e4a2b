// The packets that a violation names, as `veriroce dissect` prints them: time, addresses, headers.
// Found by reading the file once more, which costs nothing where there is no violation. Internal to
// this room.
#pragma once

#include <span>
#include <string>

#include "conformance/commands/judge_report.hpp"

namespace veriroce::commands {

// Empty for what cannot be read a second time: standard input and pipes.
PacketLines packet_lines(const std::string& file, std::span<const judge::Violation> violations);

} // namespace veriroce::commands
