// The command `veriroce dissect`.
#pragma once

#include "dissector/command_line/command.hpp"

namespace veriroce::commands {

void add_dissect(command_line::Command program);

} // namespace veriroce::commands
