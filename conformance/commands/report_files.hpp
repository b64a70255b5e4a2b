// The files of a report that are made of the whole run: 'test --report' writes them at its end, and
// 'report merge' of several runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "conformance/plan/results.hpp"

namespace veriroce::commands {

// The text of a script as the suite has it, or as it stands in the user's file; empty if nobody
// has it.
std::string script_text(std::string_view file);

// junit.xml, report.html and report.md in this folder. One that cannot be written does not keep the
// others from being tried; the result is a phrase for each.
std::vector<std::string> write_summaries(const std::string& folder,
                                         const plan::RunResults& results);

} // namespace veriroce::commands
