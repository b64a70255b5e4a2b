// Comparisons of runs as pages like report.html: what changed between two, and cases by devices.
// They show plots if a run has a data sheet.
#pragma once

#include <string>
#include <vector>

#include "reports/comparison.hpp"

namespace veriroce::reports {

std::string comparison_html(const Comparison& comparison, const SavedRun& before,
                            const SavedRun& after);

// All cases are in the page; `all` says whether it shows those that pass everywhere at first.
std::string matrix_html(const std::vector<SavedRun>& runs, bool all);

} // namespace veriroce::reports
