// The command `veriroce judge`: capture files in, violations out.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace veriroce::commands {

enum class JudgeFormat : std::uint8_t { Text, Json };

// "text", "json"; nothing for another word.
std::optional<JudgeFormat> judge_format_by_name(const std::string& name);

struct JudgeOptions {
    std::vector<std::string> files; // "-" is standard input; each is judged by itself
    JudgeFormat format = JudgeFormat::Text;
    bool complete = false;                // judge::Assumptions::complete
    bool ordered = false;                 // judge::Assumptions::ordered
    std::vector<std::string> recorded_at; // addresses, judge::Assumptions::recorded_at
    std::string labels;                   // a label file (judge_connections.hpp); empty: none
    std::optional<double> patience_ms;    // judge::Assumptions::patience
    bool strict = false;                  // a possible violation counts as well
    bool quiet = false;                   // text: violations only, no summary line
};

// Writes violations to `out` and at most one line an error to `err`. Returns the exit code:
//   0 no certain violation; 1 there is one (with `strict`: or a possible one); 2 wrong options,
//   nothing was read; 3 a file that could not be read, or not to its end (what could be read was
//   judged), or output that could not be written. 1 wins over 3. A reader of `out` that goes away
//   ends the command quietly with 0; the caller has made the process ignore SIGPIPE.
int run_judge(const JudgeOptions& options, std::FILE* out, std::FILE* err);

} // namespace veriroce::commands
