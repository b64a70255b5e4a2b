// inject.html: what `veriroce inject` did and measured, as one file that needs nothing else: the
// plan with its firings, each fault with its recovery and a ladder of the packets around it, the
// connections, and the plot of a sweep.
//
// Text from the plan and the interfaces stands only in data elements, as in html.hpp.
#pragma once

#include <cstddef>
#include <string>

#include "transport/inject/report.hpp"

namespace veriroce::reports {

inline constexpr std::size_t kFaultsShown = 2'000;
inline constexpr std::size_t kConnectionsShown = 200;

std::string injection_html(const inject::Result& result);

} // namespace veriroce::reports
