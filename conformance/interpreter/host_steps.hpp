// What the application on the DUT's host did in a case, for people who read its results: posts,
// changes of state, completions, events and notifications. Which objects it made is left out.
#pragma once

#include <cstddef>
#include <vector>

#include "conformance/interpreter/call_log.hpp"
#include "conformance/interpreter/case_result.hpp"

namespace veriroce::interpreter {

struct Objects;

// The results of a case hold at most this many steps.
inline constexpr std::size_t kHostStepsThatShow = 1000;

// In order. Steps of a QP have its name before them, as lines of scripts do.
std::vector<HostStep> host_steps(const CallLog& log, const Objects& objects);

} // namespace veriroce::interpreter
