// The command `veriroce rules`: the rule catalogue.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "dissector/command_line/command.hpp"

namespace veriroce::commands {

void add_rules(command_line::Command program);

// Prints the rules whose ids (RSP-02) or groups (RSP) are named, with their text; without ids, one
// line for each rule. With `coverage` what checks each of them. kExitUsage if an id is unknown.
int run_rules(const std::vector<std::string>& ids, std::FILE* out, std::FILE* err,
              bool coverage = false);

} // namespace veriroce::commands
