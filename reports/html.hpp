// report.html: one file that needs nothing else, with a summary, a matrix of groups and verdicts,
// and a sheet for each run: its findings, its packets as a ladder, its script and its rules.
//
// Text from the device stands only in two data elements, as JSON in which '<' is escaped and as
// base64; the page's content security policy allows no script but its own.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "conformance/plan/results.hpp"

namespace veriroce::reports {

// The text of a script by CaseResult::file; empty if nobody has it.
using SourceOf = std::function<std::string(std::string_view file)>;

// Runs that are PASS or SKIP show their packets without bytes. Of the others at most so many
// packets are decoded, in one run and in all.
inline constexpr std::size_t kDecodedOfRun = 200;
inline constexpr std::size_t kDecodedOfAll = 10'000;

// The copyright notices of what pages with plots contain, as plain text.
std::string_view page_licences();

std::string report_html(const plan::RunResults& results, const SourceOf& source_of);

} // namespace veriroce::reports
