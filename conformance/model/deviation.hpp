// Where a device did what the model does not permit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/rules/rules.hpp"

namespace veriroce::model {

enum class Class : std::uint8_t {
    Contradiction, // no loss and no delay explains it: a wrong field under a right ICRC
    Absence,       // something that is due did not come
    Surplus,       // something came that nothing asked for
};
std::string_view name_of(Class kind); // "contradiction"

struct Deviation {
    std::string rule; // id of the catalogue
    rules::Level level = rules::Level::Must;
    Class kind = Class::Contradiction;
    std::string field;                // as scripts name it: "psn"
    std::string allowed;              // "dscp must be 26"
    std::string measured;             // "dscp is 0"
    std::vector<std::size_t> packets; // that prove it: places in CaseResult::packets
};

} // namespace veriroce::model
