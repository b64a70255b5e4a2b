// The parts of the page that are the same for every analysis, as files of the folder page. The
// build writes the definitions (cmake/embed.cmake).
#pragma once

#include <string_view>

namespace veriroce::analysis_page::page {

std::string_view style();
std::string_view body();
std::string_view script();
// "sha256-..." of script(), for the page's content security policy.
std::string_view script_hash();

} // namespace veriroce::analysis_page::page
