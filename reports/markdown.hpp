// A run as Markdown for a pull request: the verdict in one sentence, the counts, and what did not
// pass. Text from outside ends no cell, starts no markup, names nobody and links nowhere.
#pragma once

#include <string>
#include <string_view>

#include "conformance/plan/results.hpp"

namespace veriroce::reports {

// The verdict of a run in one sentence, without a full stop: "3 of 727 judged runs failed".
std::string headline(const plan::RunResults& results);

// Rows of report.md: comments on a pull request have a limit of 65,536 characters.
inline constexpr std::size_t kMarkdownRows = 60;

std::string report_markdown(const plan::RunResults& results);

// Text in a cell of a table of GitHub's and GitLab's Markdown, on one line.
std::string markdown_cell(std::string_view text);

} // namespace veriroce::reports
