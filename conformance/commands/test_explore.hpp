// `veriroce test --explore`: random dialogues instead of cases.
#pragma once

#include "conformance/commands/test_console.hpp"
#include "conformance/commands/test_options.hpp"
#include "dissector/command_line/refusal.hpp"

namespace veriroce::commands {

command_line::Accepted<int> explore(const TestOptions& options, Console& console);

} // namespace veriroce::commands
