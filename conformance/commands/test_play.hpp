// Plays the runs of a plan on a device, and shrinks the first that fails.
#pragma once

#include <cstdio>
#include <optional>

#include "conformance/commands/test_console.hpp"
#include "conformance/commands/test_options.hpp"
#include "conformance/commands/test_report.hpp"
#include "conformance/plan/plan.hpp"
#include "conformance/plan/run.hpp"
#include "conformance/testbed/testbed.hpp"
#include "dissector/command_line/refusal.hpp"

namespace veriroce::commands {

// Until all runs are played, or a signal, --fail-fast or a device that stays dead ends it.
// Nothing is played if the report could not be written. The caller finishes the report.
command_line::Accepted<plan::RunResults>
play(testbed::Testbed& bench, const plan::Plan& plan, const plan::Selection& selection,
     const std::optional<plan::Profile>& profile, const interpreter::FaultPlan& faults,
     const TestOptions& options, Console& console, Report& report);

// Prints the smallest script with which the first failing run still fails, or the smallest fault
// plan if there is one; on `err` how it was found. Returns the exit code.
command_line::Accepted<int> shrink_first(testbed::Testbed& bench, const plan::Plan& plan,
                                         const plan::Selection& selection,
                                         const interpreter::FaultPlan& faults,
                                         const TestOptions& options, Console& console,
                                         std::FILE* err);

} // namespace veriroce::commands
