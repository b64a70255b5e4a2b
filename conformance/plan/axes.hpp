// The axes of a run: what `--over` and `--repeat` multiply every run by.
#pragma once

#include <vector>

#include "conformance/plan/plan.hpp"

namespace veriroce::plan {

// One for each combination of the values that were asked for, the last axis running fastest; case
// and script run are left to the caller. Rounds are outermost.
std::vector<PlannedRun> axis_combinations(const Selection& selection);

} // namespace veriroce::plan
