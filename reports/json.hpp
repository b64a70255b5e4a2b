// results.json: a run as JSON, schema "veriroce/results/2" (reports/README.md tells each field).
// Fields may be added, none renamed. What depends on the clock stands under `timing`.
#pragma once

#include <string>

#include "conformance/plan/results.hpp"

namespace veriroce::reports {

// One document, indented by two blanks, with a newline at its end.
std::string results_json(const plan::RunResults& results);

} // namespace veriroce::reports
