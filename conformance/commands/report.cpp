#include "conformance/commands/report.hpp"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "conformance/commands/text_file.hpp"
#include "dissector/command_line/refusal.hpp"
#include "reports/saved_run.hpp"

namespace veriroce::commands {
namespace {

using namespace command_line;

Accepted<std::vector<reports::SavedRun>> read_runs(const std::vector<std::string>& paths) {
    std::vector<reports::SavedRun> runs;
    for (const std::string& path : paths) {
        std::error_code ignored;
        const bool folder = std::filesystem::is_directory(path, ignored);
        const std::string file =
            folder ? (std::filesystem::path(path) / "results.json").string() : path;
        const auto text = read_text(file);
        if (!text) return unable(text.error());
        auto run = reports::read_saved_run(wire::safe_text(path), *text);
        if (!run) return unable(fmt::format("{}: {}", file, run.error()));
        runs.push_back(std::move(*run));
    }
    return runs;
}

void add_format(Command& command, const std::shared_ptr<ReportOptions>& options) {
    command.choice(
        "--format", options->format,
        {{"text", reports::TableFormat::Text}, {"markdown", reports::TableFormat::Markdown}},
        "Output format");
}

} // namespace

void add_report(Command program) {
    auto report = program.add_group("report", "Compare runs that 'test --report' kept");
    auto diff = report.add_command(
        "diff", "What changed between two runs; exit code 1 if a run became worse");
    const auto two = std::make_shared<ReportOptions>();
    diff.option("RUN", two->runs, "The folders of two reports, the older one first",
                {.value = "FOLDER", .required = true, .takes_several = true});
    add_format(diff, two);
    diff.on_run([two] { return run_report_diff(*two, stdout, stderr); });

    auto matrix = report.add_command("matrix", "Cases by devices, side by side");
    const auto several = std::make_shared<ReportOptions>();
    matrix.option("RUN", several->runs, "The folders of reports, one for each device",
                  {.value = "FOLDER", .required = true, .takes_several = true});
    add_format(matrix, several);
    matrix.flag("--all", several->all, "Also the cases that pass everywhere");
    matrix.on_run([several] { return run_report_matrix(*several, stdout, stderr); });
}

int run_report_diff(const ReportOptions& options, std::FILE* out, std::FILE* err) {
    if (options.runs.size() != 2) {
        return tell(err, {kExitUsage, fmt::format("report diff: expected 2 runs, got {}",
                                                  options.runs.size())});
    }
    const auto runs = read_runs(options.runs);
    if (!runs) return tell(err, runs.error());
    const reports::Comparison comparison = reports::compare(runs->front(), runs->back());
    fmt::print(out, "{}",
               reports::comparison_text(comparison, runs->front(), runs->back(), options.format));
    return comparison.worse.empty() ? kExitSuccess : kExitFound;
}

int run_report_matrix(const ReportOptions& options, std::FILE* out, std::FILE* err) {
    const auto runs = read_runs(options.runs);
    if (!runs) return tell(err, runs.error());
    fmt::print(out, "{}", reports::matrix_text(*runs, options.all, options.format));
    return kExitSuccess;
}

} // namespace veriroce::commands
