// junit.xml: a run as continuous integration reads it. One <testsuite> for each group of cases, one
// <testcase> for each run; what is FAIL or XPASS is a failure, ERROR an error, SKIP and XFAIL are
// skipped with their reason, WARN and INFO pass and say so in <system-out>.
//
// The text is valid XML 1.0 in UTF-8 whatever the results hold: what cannot stand in XML, and what
// a terminal would obey, becomes a question mark. Attributes `time` and `timestamp` are those of
// `Timing`.
#pragma once

#include <string>

#include "conformance/plan/results.hpp"

namespace veriroce::reports {

std::string junit_xml(const plan::RunResults& results);

} // namespace veriroce::reports
