// The values of results.json, for every report that shows them.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "conformance/plan/results.hpp"

namespace veriroce::reports {

// Text from outside, without what a terminal would obey. Lines stay: the serializer escapes their
// ends.
std::string text(std::string_view value);
boost::json::object case_object(const interpreter::CaseResult& result);
boost::json::object run_object(const testbed::RunInfo& run);
// The time of each case only at the end of the run.
boost::json::object timing_object(const plan::Timing& timing, bool at_end);
// null if it is empty.
boost::json::value sheet_value(const sheet::DataSheet& sheet);

} // namespace veriroce::reports
