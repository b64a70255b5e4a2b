// `veriroce analyze`: what happened on each connection of a capture.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "dissector/analyze/report.hpp"
#include "dissector/command_line/command.hpp"

namespace veriroce::commands {

void add_analyze(command_line::Command program);

enum class AnalyzeFormat : std::uint8_t { Text, Json, JsonLines, Csv };
enum class AnalyzeRows : std::uint8_t { Connections, Episodes, Messages };

struct AnalyzeOptions {
    std::vector<std::string> files;        // "-": standard input
    std::vector<std::string> second;       // captured at another point at the same time
    std::string interface;                 // capture live instead
    std::vector<std::uint16_t> roce_ports; // UDP ports to decode as RoCEv2, besides 4791
    std::uint32_t threads = 0;             // that decode; 0: one for each processor
    AnalyzeFormat format = AnalyzeFormat::Text;
    AnalyzeRows rows = AnalyzeRows::Connections; // of JSON lines and CSV
    std::string sqlite;                          // write a database to this file as well
    std::string html;                            // write a page to this file as well
    analyze::TextOptions text;
    analyze::Thresholds thresholds;
};

// How to report, whatever the packets come from; and what is wrong with a choice of these options,
// empty if nothing is.
void add_report_options(command_line::Command command, AnalyzeOptions& options);
std::string wrong_with_report(const AnalyzeOptions& options);

// Writes the report to `out`, and errors to `err`. Returns the exit code:
//   0  everything that was analysed is healthy
//   1  something is not
//   2  invalid options
//   3  an input could not be read to its end, or nothing was analysed, or writing failed
//   130  interrupted; the report covers the packets until then (0 or 1 after -i)
// An input that could not be read does not hide a 1.
int run_analyze(const AnalyzeOptions& options, std::FILE* out, std::FILE* err);

} // namespace veriroce::commands
