// The command `veriroce judge`: capture files in, violations out.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "dissector/command_line/command.hpp"

namespace veriroce::commands {

enum class JudgeFormat : std::uint8_t { Text, Json };

struct JudgeOptions {
    std::vector<std::string> files; // "-" is standard input; each is judged by itself
    JudgeFormat format = JudgeFormat::Text;
    bool complete = false;                // judge::Assumptions::complete
    bool ordered = false;                 // judge::Assumptions::ordered
    std::vector<std::string> recorded_at; // addresses, judge::Assumptions::recorded_at
    std::string connections;              // a file (judge_connections.hpp); empty: none
    std::optional<double> patience_ms;    // judge::Assumptions::patience
    bool strict = false;                  // a possible violation counts as well
    std::uint32_t threads = 0;            // that decode; 0: one for each processor
    bool quiet = false;                   // text: violations only, no summary line
};

void add_judge(command_line::Command program);

// Writes violations to `out` and at most one line per error to `err`. Returns the exit code:
// kExitFound if there is a certain violation (with `strict`, or a possible one); otherwise
// kExitUnable for a file that cannot be read to its end (the command judges what it can read) or
// output that cannot be written. A reader of `out` that goes away ends the command with
// kExitSuccess; the caller has made the process ignore SIGPIPE.
int run_judge(const JudgeOptions& options, std::FILE* out, std::FILE* err);

} // namespace veriroce::commands
