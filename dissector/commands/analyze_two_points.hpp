// `veriroce analyze A --second B`: what happened to packets between two capture points.
#pragma once

#include <cstdio>

#include "dissector/commands/analyze.hpp"

namespace veriroce::commands {

// Reads all files twice: to compare the clocks, and to follow the packets. Exit codes as
// run_analyze; 1 if a flow lost more than Thresholds::resent_part of its packets on the way.
int run_two_points(const AnalyzeOptions& options, std::FILE* out, std::FILE* err);

} // namespace veriroce::commands
