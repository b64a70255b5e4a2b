// Finds orders of lines that no run could execute: a command for our engine before
// `tester answers`, a region that was deregistered, a header field of the other IP version.
#pragma once

#include "conformance/script/ast.hpp"
#include "conformance/script/cursor.hpp"

namespace veriroce::script {

// Diagnostics go to the report. After `any`, which depends on the DUT, only a line that is wrong
// after every alternative is an error.
void check_sequence(const Run& run, Report& report);

} // namespace veriroce::script
