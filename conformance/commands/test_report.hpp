// The files that --report and --capture ask for.
#pragma once

#include <variant>

#include "conformance/commands/test_options.hpp"
#include "conformance/plan/results.hpp"
#include "dissector/command_line/refusal.hpp"

namespace veriroce::commands {

// Each file is written whole or not at all.
command_line::Accepted<std::monostate> write_report(const plan::RunResults& results,
                                                    const TestOptions& options);

} // namespace veriroce::commands
