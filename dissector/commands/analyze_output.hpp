// What `veriroce analyze` writes, wherever the analysis comes from: messages as they are completed,
// then the report, a database and a page; and what it says on stderr.
//
//   AnalyzeOutput output(options, stdout, stderr);
//   if (!output.begin()) return kExitUnable;
//   while (...) output.write(messages);
//   return output.finish(report, interrupted);
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>

#include "dissector/analysis_database/database.hpp"
#include "dissector/analyze/report.hpp"
#include "dissector/commands/analyze.hpp"
#include "dissector/print/output.hpp"

namespace veriroce::commands {

class AnalyzeOutput {
  public:
    AnalyzeOutput(const AnalyzeOptions& options, std::FILE* out, std::FILE* err)
        : options_(options), out_(out), err_(err) {}

    // Whether write() must be given messages.
    [[nodiscard]] bool wants_messages() const { return messages() || !options_.sqlite.empty(); }
    // Makes the database, and begins a table. False if it cannot.
    bool begin();
    void write(std::span<const analyze::FinishedMessage> messages);
    // Whether writing has failed: there is no use in going on.
    [[nodiscard]] bool broken() const { return out_.error() != 0; }

    void note(const std::string& line);
    // Something that could not be done; what was not looked at must not pass for healthy.
    void complain(const std::string& message);

    // Writes all that is left. Returns the exit code (run_analyze).
    int finish(const analyze::Report& report, bool interrupted);

  private:
    [[nodiscard]] bool messages() const {
        return options_.rows == AnalyzeRows::Messages && options_.format != AnalyzeFormat::Text &&
               options_.format != AnalyzeFormat::Json;
    }
    void complain_if_empty(const analyze::Totals& totals);
    void write_database(const analyze::Report& report);
    void write_page(const analyze::Report& report);
    void write_report(const analyze::Report& report);
    void write_text(const analyze::Report& report);

    const AnalyzeOptions& options_;
    print::Output out_;
    std::FILE* err_;
    std::optional<analysis_database::Database> database_;
    bool failed_ = false;
};

} // namespace veriroce::commands
