// The agent as a program: it listens, and serves one session per connection until it is stopped.
//
// The agent has one thread. A verb that blocks (a device may resolve a neighbour inside qp_modify,
// for a second) delays the other connections for that time.
#pragma once

#include <span>

#include "conformance/agent/backend.hpp"

namespace veriroce::agent {

// Adds the agent's options to the command, which then serves, or checks another agent (--check).
// `backends` are the backends of this program, the first is the default; they outlive the command.
// Returns the options, to which a program may add some of its own.
std::shared_ptr<Options> add_agent(command_line::Command command,
                                   std::span<const BackendKind> backends);

// Serves until SIGINT or SIGTERM. Returns the exit code: kExitSuccess, or kExitUnable if the agent
// could not start, with one line on stderr that says why.
int run(const Options& options, std::span<const BackendKind> backends);

} // namespace veriroce::agent
