// The command `veriroce test`: plan, device, run, reports.
//
// Exit codes: kExitSuccess nothing to report; kExitFound a FAIL or XPASS (with --strict also a
// WARN); kExitUsage a script or a selection is wrong, and nothing was sent; kExitUnable no device,
// no link, an ERROR verdict, or no run that reached a verdict; kExitInterrupted.
#pragma once

#include <cstdio>

#include "conformance/commands/test_options.hpp"

namespace veriroce::commands {

void add_test(command_line::Command program);

int run_test(const TestOptions& options, std::FILE* out, std::FILE* err);

} // namespace veriroce::commands
