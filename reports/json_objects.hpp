// The values of results.json, for every report that shows them.
#pragma once

#include <boost/json/object.hpp>

#include "conformance/plan/results.hpp"

namespace veriroce::reports {

boost::json::object case_object(const interpreter::CaseResult& result);
boost::json::object run_object(const testbed::RunInfo& run);
boost::json::object timing_object(const plan::Timing& timing);

} // namespace veriroce::reports
