// The command `veriroce test`: plan, bench, run, reports.
//
// Exit codes: 0 nothing to report; 1 a FAIL or XPASS (with strict also a WARN); 2 a script or a
// selection is wrong, before anything was sent; 3 the tool could not do its part: no DUT, no link,
// an ERROR verdict, or nothing that reached a verdict; 130 interrupted.
#pragma once

#include <cstdio>

#include "conformance/commands/test_options.hpp"

namespace veriroce::commands {

int run_test(const TestOptions& options, std::FILE* out, std::FILE* err);

} // namespace veriroce::commands
