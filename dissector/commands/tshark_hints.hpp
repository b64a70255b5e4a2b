// What users of tshark type by habit: options that do nothing here, and those that have another
// name or do not exist, with a sentence that says what to do instead.
#pragma once

#include <string>
#include <string_view>

#include "dissector/command_line/command.hpp"
#include "dissector/dissect/dissect.hpp"

namespace veriroce::commands {

void add_tshark_hints(command_line::Command& command, dissect::Options& options);

// What -T expects, for a word that is no format.
std::string format_instead_of(std::string_view word);

} // namespace veriroce::commands
