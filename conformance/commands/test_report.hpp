// The files that --report and --capture ask for. They are written while the run goes on, so that a
// killed run leaves behind what it found, but for the case at hand.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "conformance/commands/results_file.hpp"
#include "conformance/commands/test_options.hpp"
#include "conformance/plan/results.hpp"
#include "dissector/command_line/refusal.hpp"
#include "reports/pcapng.hpp"

namespace veriroce::commands {

// What cannot be written while the run goes on does not end it: finish() tells.
class Report {
  public:
    explicit Report(const TestOptions& options);

    // Before the first run: writes the folder, a results.json without cases and a capture without
    // packets, and tries the other files. The refusal says what cannot be written.
    command_line::Accepted<std::monostate> begin(const plan::RunResults& results);
    // Sets the files for the packets of this run and of its other plays, before add(); empty if
    // none is written.
    void name_captures(interpreter::CaseResult& result) const;
    // After each run: its capture unless it passed, its packets in the run's capture, and
    // results.json.
    void add(const plan::RunResults& results);
    // After the last run. A file that cannot be written does not keep the others from being tried.
    command_line::Accepted<std::monostate> finish(const plan::RunResults& results);

  private:
    void write_capture(const interpreter::CaseResult& result);
    // Of another play by its number; 0: of the one that decided.
    [[nodiscard]] std::string path_of_capture(const interpreter::CaseResult& result,
                                              std::size_t play = 0) const;
    [[nodiscard]] std::string path_of(const std::string& name) const;

    const TestOptions& options_;
    ResultsFile results_;
    std::optional<reports::RunCapture> run_capture_;
    std::vector<std::string> errors_;
};

} // namespace veriroce::commands
