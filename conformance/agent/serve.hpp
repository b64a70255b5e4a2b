// The agent as a program: it listens, and serves one session per connection until it is stopped.
//
// The agent has one thread. A verb that blocks (a device may resolve a neighbour inside qp_modify,
// for a second) delays the other connections for that time.
#pragma once

#include <span>
#include <string_view>

#include "conformance/agent/backend.hpp"

namespace veriroce::agent {

// Serves until SIGINT or SIGTERM. Returns the exit code: 0, or 3 if the agent could not start, with
// one line on stderr that says why. `backends` are the backends of this program; the first one is
// the default.
int run(const Options& options, std::span<const BackendKind> backends);

// The same from the words of a command line, without the program's name; 2 if they are wrong.
int run_command_line(std::span<const std::string_view> words,
                     std::span<const BackendKind> backends);

} // namespace veriroce::agent
