// junit.xml: a run as continuous integration reads it. One <testsuite> for each group of cases, one
// <testcase> for each run; what is FAIL or XPASS is a failure, ERROR an error, SKIP and XFAIL are
// skipped with their reason, WARN and INFO pass and say so in <system-out>. That names the rules of
// every case, and the captures as attachments. Elements and attributes are those of the schema by
// which Jenkins' xUnit plugin checks files; GitLab and Jenkins' JUnit plugin read the same.
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
