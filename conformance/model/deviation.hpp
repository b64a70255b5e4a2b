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
    // What is missing may only be late: a completion, an event, or bytes of which no polled
    // completion says that they are visible (ACK-05). Whoever reads the device should look again.
    bool may_come = false;
};

} // namespace veriroce::model
