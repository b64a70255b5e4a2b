// results.json: a run as JSON, schema "veriroce/results/2" (reports/README.md tells each field).
// Fields may be added, none renamed. What depends on the clock stands under `timing`.
#pragma once

#include <string>

#include "conformance/plan/results.hpp"

namespace veriroce::reports {

// One document, indented by two blanks, with a newline at its end.
std::string results_json(const plan::RunResults& results);

// The same in parts, for a file that grows with the run: the head, each case, the tail. What
// changes until the end is in the tail. Before the end it has no data sheet, and its list of the
// cases' times is empty: they would be written again with each case.
std::string json_head();
std::string json_case(const interpreter::CaseResult& result, bool first);
std::string json_tail(const plan::RunResults& results, bool any_case, bool at_end);

} // namespace veriroce::reports
