// What makes two failures one: class, rule, field and kind of packet, but neither values nor PSNs
// nor names of QPs.
#pragma once

#include <string>
#include <vector>

#include "conformance/interpreter/case_result.hpp"

namespace veriroce::explorer {

// Of all that the run found, the gravest first; empty if it is neither FAIL nor
// WARN.
std::vector<std::string> signatures_of(const interpreter::CaseResult& result);

} // namespace veriroce::explorer
