// Where a device did what the model does not permit.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "conformance/rules/finding_class.hpp"
#include "conformance/rules/rules.hpp"

namespace veriroce::model {

struct Deviation {
    std::string rule; // id of the catalogue
    rules::Level level = rules::Level::Must;
    rules::FindingClass kind = rules::FindingClass::Contradiction;
    std::string field;                // as scripts name it: "psn"
    std::string allowed;              // "dscp must be 26"
    std::string measured;             // "dscp is 0"
    std::vector<std::size_t> packets; // that prove it: places in CaseResult::packets
};

} // namespace veriroce::model
