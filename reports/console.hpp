// The console's view of a run: a line per case, expected and actual side by side where one was not
// met, and a summary. Pure functions of the results: text in, no terminal touched.
#pragma once

#include <string>
#include <string_view>

#include "conformance/plan/results.hpp"

namespace veriroce::reports {

struct ConsoleStyle {
    bool colour = false;
    bool quiet = false; // only what is not PASS, and the summary
};

// The first lines of every output: which DUT, which seed, which link.
std::string console_head(const testbed::RunInfo& run);

// A case, as soon as it has ended; empty where the style hides it.
std::string console_case(const interpreter::CaseResult& result, const ConsoleStyle& style);

// What goes on, in one line of a terminal: "[12/345] 1 failed, rsp/gap-nak[ip=6]". It begins where
// the line begins and ends without a line's end; `kConsoleNoProgress` takes it away.
std::string console_progress(std::size_t done, std::size_t total, std::size_t failed,
                             std::string_view id);
inline constexpr std::string_view kConsoleNoProgress = "\r\x1b[K";

// The data sheet: a line for each behaviour and each setting of a quantity; empty without one.
std::string console_sheet(const sheet::DataSheet& sheet);

// The last lines: what was counted. Ends with "N passed, N failed, N skipped".
std::string console_summary(const plan::RunResults& results, const ConsoleStyle& style);

} // namespace veriroce::reports
