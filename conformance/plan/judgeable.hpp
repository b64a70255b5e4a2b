// What cannot be judged on this machine: rules whose cases hold the DUT to a time shorter than the
// tester's stamps are exact.
//
// `stamp_width`: how far an instant may be from its stamp, as calibration found it. One sentence
// for each rule, with the shortest time that it needs.
// Source: conformance/testbed/README.md, "Limits".
#pragma once

#include <string>
#include <vector>

#include "conformance/plan/plan.hpp"

namespace veriroce::plan {

std::vector<std::string> not_judgeable(const Plan& plan, wire::Duration stamp_width);

} // namespace veriroce::plan
