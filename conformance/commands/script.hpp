// The commands `veriroce script check` and `veriroce script format`, for scripts (*.roce) and fault
// plans (*.faults), and their group `veriroce script`.
//
// Exit codes: kExitFound with `check_only` a file is not formatted; kExitUsage a script is wrong;
// kExitUnable a file cannot be read or written.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "dissector/command_line/command.hpp"

namespace veriroce::commands {

void add_script(command_line::Command program);

int run_script_check(const std::vector<std::string>& files, std::FILE* out, std::FILE* err);

struct FormatOptions {
    std::vector<std::string> files;
    bool check_only = false; // names the files that would change, and changes none
};
int run_script_format(const FormatOptions& options, std::FILE* out, std::FILE* err);

} // namespace veriroce::commands
