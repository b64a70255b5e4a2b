// The commands `veriroce script check` and `veriroce script format`, for scripts (*.roce) and fault
// plans (*.faults).
//
// Exit codes: 0 all is well; 1 with `check_only` a file is not laid out as it should be; 2 a script
// is wrong; 3 a file cannot be read or written.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace veriroce::commands {

int script_check(const std::vector<std::string>& files, std::FILE* out, std::FILE* err);

struct FormatOptions {
    std::vector<std::string> files;
    bool check_only = false; // says which files would change, and changes none
};
int script_format(const FormatOptions& options, std::FILE* out, std::FILE* err);

} // namespace veriroce::commands
