// What makes two failures one: class, rule, field and kind of packet, but neither values nor PSNs
// nor names of QPs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "conformance/interpreter/case_result.hpp"
#include "conformance/plan/known_failures.hpp"

namespace veriroce::explorer {

// Of all that the run found, the gravest first; empty if it is neither FAIL nor
// WARN.
std::vector<std::string> signatures_of(const interpreter::CaseResult& result);
// Those that no known failure excuses.
std::vector<std::string> new_signatures_of(const interpreter::CaseResult& result,
                                           std::span<const plan::KnownFailure> known);

} // namespace veriroce::explorer
