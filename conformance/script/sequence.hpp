// Orders of lines that no run could carry out: our engine used before it takes part, memory that is
// gone, a header field of the other IP version.
#pragma once

#include "conformance/script/ast.hpp"
#include "conformance/script/cursor.hpp"

namespace veriroce::script {

// Diagnostics go to the report. Where the lines depend on what the DUT does (`any`), only what is
// wrong either way is an error.
void check_sequence(const Run& run, Report& report);

} // namespace veriroce::script
