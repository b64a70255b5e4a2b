// The command `veriroce report`: compares and merges runs that `veriroce test --report` kept.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "dissector/command_line/command.hpp"
#include "reports/comparison.hpp"

namespace veriroce::commands {

struct ReportOptions {
    std::vector<std::string> runs; // folders of reports, or their results.json
    reports::TableFormat format = reports::TableFormat::Text;
    bool all = false;   // of a matrix: also cases that pass everywhere
    bool brief = false; // of a merge: without captures and most packets
    std::string output; // of a merge: the folder of the new report; else a file, or nothing
};

void add_report(command_line::Command program);

// kExitFound if a run is worse than before.
int run_report_diff(const ReportOptions& options, std::FILE* out, std::FILE* err);
int run_report_matrix(const ReportOptions& options, std::FILE* out, std::FILE* err);
// Prints what the merged runs do not agree on, and the verdict of all.
int run_report_merge(const ReportOptions& options, std::FILE* out, std::FILE* err);

} // namespace veriroce::commands
