// The commands `veriroce bench engine` and `veriroce bench icrc`.
#pragma once

#include "dissector/command_line/command.hpp"

namespace veriroce::commands {

void add_bench(command_line::Command program);

} // namespace veriroce::commands
