// Every packet of the device against the set of values that the rules permit there, given the
// connection, what was posted and what arrived.
#pragma once

#include <vector>

#include "conformance/model/deviation.hpp"
#include "conformance/model/story.hpp"

namespace veriroce::model {

// In the order in which the packets left. One kind of deviation (rule and field) of one QP is told
// once, with the first packets that show it.
std::vector<Deviation> check_packets(const Story& story);

} // namespace veriroce::model
