// The device that a command line names: the built-in engine in virtual time, or one on a wire.
//
// Errors: wrong options are found before anything is opened or sent.
#pragma once

#include <memory>

#include "conformance/commands/test_options.hpp"
#include "conformance/testbed/testbed.hpp"
#include "dissector/command_line/refusal.hpp"

namespace veriroce::commands {

command_line::Accepted<std::unique_ptr<testbed::Testbed>>
choose_testbed(const TestOptions& options);

} // namespace veriroce::commands
