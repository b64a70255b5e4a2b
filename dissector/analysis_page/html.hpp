// An analysis as one HTML file that needs nothing else: the connections, and for each its story,
// the latencies of its messages, and graphs over time that can be zoomed: PSNs sent and
// acknowledged with marks for what happened, and throughput.
//
// Text from outside (the names of files) stands only in a data element, as JSON in which '<' is
// escaped; the page's content security policy allows no script but its own.
#pragma once

#include <span>
#include <string>

#include "dissector/analyze/report.hpp"

namespace veriroce::analysis_page {

// Connections that the page has graphs of (analyze::Options::traces).
inline constexpr std::size_t kGraphs = 256;
// Connections that the page has details of: the worst ones.
inline constexpr std::size_t kConnections = 2000;

std::string page_html(const analyze::Report& report, std::span<const std::string> files);

} // namespace veriroce::analysis_page
