// The agent as a program: listens, and serves one session a connection until it is told to stop.
//
// One thread does everything. A verb that blocks (a device may resolve a neighbour inside
// qp_modify, for a second) holds up the other connections for that long.
#pragma once

#include <span>
#include <string_view>

#include "conformance/agent/backend.hpp"

namespace veriroce::agent {

// Serves until SIGINT or SIGTERM. Returns the exit code: 0, or 3 where it could not begin, with one
// line on stderr that says why. `backends` are those that this program has; the first is the
// default.
int run(const Options& options, std::span<const BackendKind> backends);

// The same from the words of a command line, without the program's name; 2 if they are wrong.
int run_command_line(std::span<const std::string_view> words,
                     std::span<const BackendKind> backends);

} // namespace veriroce::agent
