// The parts of report.html that are the same in every report, as files of the folder page. The
// build writes the definitions (cmake/embed.cmake).
#pragma once

#include <string_view>

namespace veriroce::reports::page {

std::string_view style();
std::string_view body();
std::string_view script();
// "sha256-..." of script(), for the page's content security policy.
std::string_view script_hash();

} // namespace veriroce::reports::page
