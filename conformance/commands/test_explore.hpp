// `veriroce test --explore`: random dialogues instead of cases, or after them.
#pragma once

#include <optional>
#include <variant>

#include "conformance/commands/test_console.hpp"
#include "conformance/commands/test_options.hpp"
#include "conformance/commands/test_report.hpp"
#include "conformance/plan/profile.hpp"
#include "conformance/plan/results.hpp"
#include "conformance/testbed/testbed.hpp"
#include "dissector/command_line/refusal.hpp"

namespace veriroce::commands {

// Dialogues alone. Returns the exit code.
command_line::Accepted<int> explore(const TestOptions& options, Console& console);

// Appends what dialogues find to the results and to the report, which the caller has begun and
// finishes. Refuses if no dialogue reached a verdict.
command_line::Accepted<std::monostate> explore_on(testbed::Testbed& bench,
                                                  std::optional<plan::Profile> profile,
                                                  const TestOptions& options, Console& console,
                                                  Report& report, plan::RunResults& results);

} // namespace veriroce::commands
