// The page of a made-up injection: a lost packet, its recovery, and a sweep of two steps. The plan
// and an interface have hostile texts.
#pragma once

#include <string>

namespace veriroce::reports::test {

std::string injection_page();

} // namespace veriroce::reports::test
