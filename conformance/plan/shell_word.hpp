// Words of commands that a report prints.
#pragma once

#include <string>

namespace veriroce::plan {

// A word for the shell, in quotes where it needs them.
std::string shell_word(const std::string& text);

} // namespace veriroce::plan
