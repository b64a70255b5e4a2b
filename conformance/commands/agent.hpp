// The command `veriroce agent`: the agent with every backend, the built-in engine included.
#pragma once

#include "dissector/command_line/command.hpp"

namespace veriroce::commands {

void add_agent(command_line::Command program);

} // namespace veriroce::commands
