// The parts of pages that are the same in every page: the files of the folder page, and Chart.js
// with its notices as Debian's libjs-chart.js has them. The build writes the definitions
// (cmake/embed.cmake).
#pragma once

#include <string_view>

namespace veriroce::reports::page {

std::string_view style();
std::string_view report_body();
std::string_view compare_body();
std::string_view injection_body();

// Scripts, and "sha256-..." of each for the page's content security policy.
std::string_view tools();
std::string_view tools_hash();
std::string_view plots();
std::string_view plots_hash();
std::string_view ladder();
std::string_view ladder_hash();
std::string_view report();
std::string_view report_hash();
std::string_view compare();
std::string_view compare_hash();
std::string_view injection();
std::string_view injection_hash();
std::string_view chart();
std::string_view chart_hash();

std::string_view copyright(); // of Chart.js

} // namespace veriroce::reports::page
