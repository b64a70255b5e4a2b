#include "conformance/commands/report.hpp"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "conformance/commands/report_files.hpp"
#include "conformance/commands/text_file.hpp"
#include "dissector/command_line/refusal.hpp"
#include "reports/comparison_html.hpp"
#include "reports/html.hpp"
#include "reports/json.hpp"
#include "reports/markdown.hpp"
#include "reports/merge.hpp"
#include "reports/pcapng.hpp"
#include "reports/saved_results.hpp"
#include "reports/saved_run.hpp"

namespace veriroce::commands {
namespace {

using namespace command_line;

namespace fs = std::filesystem;

// The folder of a report, by its folder or its results.json.
fs::path folder_of(const std::string& path) {
    std::error_code ignored;
    return fs::is_directory(path, ignored) ? fs::path(path) : fs::path(path).parent_path();
}

Accepted<std::vector<reports::Part>> read_parts(const std::vector<std::string>& paths) {
    std::vector<reports::Part> parts;
    for (const std::string& path : paths) {
        std::error_code ignored;
        const bool folder = fs::is_directory(path, ignored);
        const std::string file = folder ? (fs::path(path) / "results.json").string() : path;
        const auto text = read_text(file);
        if (!text) return unable(text.error());
        auto results = reports::read_results(*text);
        if (!results) return unable(fmt::format("{}: {}", file, results.error()));
        parts.push_back({wire::safe_text(path), std::move(*results)});
    }
    return parts;
}

Accepted<std::vector<reports::SavedRun>> read_runs(const std::vector<std::string>& paths) {
    auto parts = read_parts(paths);
    if (!parts) return std::unexpected(parts.error());
    std::vector<reports::SavedRun> runs;
    for (reports::Part& part : *parts)
        runs.push_back(reports::saved_run(std::move(part.name), part.results));
    return runs;
}

// Reads the packets' bytes from the captures beside the merged runs, and copies these captures. A
// run whose capture is gone keeps its ladder.
void take_captures(reports::Merged& merged, const ReportOptions& options) {
    for (std::size_t i = 0; i < merged.from.size(); ++i) {
        interpreter::CaseResult& result = merged.results.cases[i];
        if (result.verdict == interpreter::Verdict::Pass || result.packets.empty()) continue;
        const std::string name = reports::capture_name(result.id);
        const fs::path from = folder_of(options.runs[merged.from[i]]) / name;
        if (!reports::take_frames(result, from.string())) continue;
        const fs::path to = fs::path(options.output) / name;
        std::error_code failed;
        fs::copy_file(from, to, fs::copy_options::overwrite_existing, failed);
        if (!failed) result.capture = to.string();
    }
}

bool calm(const interpreter::CaseResult& result) {
    using interpreter::Verdict;
    return result.verdict == Verdict::Pass || result.verdict == Verdict::Skip ||
           result.verdict == Verdict::Info;
}

void forget_packets(interpreter::CaseResult& result) {
    result.packets.clear();
    result.host.clear();
    for (interpreter::Finding& finding : result.findings)
        finding.packet.reset();
    for (interpreter::Violation& violation : result.violations)
        violation.packets.clear();
}

Accepted<int> merge_or_refuse(const ReportOptions& options, std::FILE* out, std::FILE* err) {
    auto parts = read_parts(options.runs);
    if (!parts) return std::unexpected(parts.error());
    std::error_code code;
    fs::create_directories(options.output, code);
    if (code) return unable(fmt::format("{}: {}", options.output, code.message()));
    for (const std::string& path : options.runs) {
        const fs::path folder = folder_of(path);
        if (fs::equivalent(folder.empty() ? "." : folder, options.output, code)) {
            return misused(
                fmt::format("report merge: -o {} is one of the runs to be merged", options.output));
        }
    }
    reports::Merged merged = reports::merge(std::move(*parts));
    for (const std::string& conflict : merged.conflicts)
        fmt::print(err, "veriroce: note: {}\n", conflict);
    if (options.brief) {
        for (interpreter::CaseResult& result : merged.results.cases) {
            if (calm(result)) forget_packets(result);
        }
    } else {
        take_captures(merged, options);
    }
    const fs::path folder(options.output);
    std::vector<std::string> errors = write_summaries(options.output, merged.results);
    if (options.brief) {
        for (interpreter::CaseResult& result : merged.results.cases)
            forget_packets(result);
    }
    const auto written =
        write_text((folder / "results.json").string(), reports::results_json(merged.results));
    if (!written) errors.push_back(written.error());
    if (!errors.empty()) return unable(fmt::format("{}", fmt::join(errors, "\nveriroce: ")));
    fmt::print(out, "{} runs of {} reports: {}\n", merged.results.cases.size(), options.runs.size(),
               reports::headline(merged.results));
    return kExitSuccess;
}

Accepted<std::monostate> put_out(const std::string& text, const ReportOptions& options,
                                 std::FILE* out) {
    if (options.output.empty()) {
        fmt::print(out, "{}", text);
        return {};
    }
    const auto written = write_text(options.output, text);
    if (!written) return unable(written.error());
    return {};
}

void add_format(Command& command, const std::shared_ptr<ReportOptions>& options) {
    command.choice("--format", options->format,
                   {{"text", reports::TableFormat::Text},
                    {"markdown", reports::TableFormat::Markdown},
                    {"html", reports::TableFormat::Html}},
                   "Output format; html is one page that needs nothing else");
    command.option("-o,--output", options->output, "Write to this file", {.value = "FILE"});
}

} // namespace

void add_report(Command program) {
    auto report = program.add_group("report", "Compare or merge runs that 'test --report' kept");
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
    auto merge = report.add_command(
        "merge",
        "Merge several reports into one: shards or repetitions (the gravest verdict counts)");
    const auto parts = std::make_shared<ReportOptions>();
    merge.option("RUN", parts->runs, "The folders of reports, shards in their order",
                 {.value = "FOLDER", .required = true, .takes_several = true});
    merge.option("-o,--output", parts->output, "The folder of the new report",
                 {.value = "FOLDER", .required = true});
    merge.flag(
        "--brief", parts->brief,
        "For publishing: no captures, ladders of runs that did not pass only, and no packets "
        "in results.json");
    merge.on_run([parts] { return run_report_merge(*parts, stdout, stderr); });
    auto licences =
        report.add_command("licences", "Print the licences of the software in pages with plots");
    licences.on_run([] {
        fmt::print("{}", reports::page_licences());
        return kExitSuccess;
    });
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
    const std::string text =
        options.format == reports::TableFormat::Html
            ? reports::comparison_html(comparison, runs->front(), runs->back())
            : reports::comparison_text(comparison, runs->front(), runs->back(), options.format);
    if (const auto put = put_out(text, options, out); !put) return tell(err, put.error());
    return comparison.worse.empty() ? kExitSuccess : kExitFound;
}

int run_report_matrix(const ReportOptions& options, std::FILE* out, std::FILE* err) {
    const auto runs = read_runs(options.runs);
    if (!runs) return tell(err, runs.error());
    const std::string text = options.format == reports::TableFormat::Html
                                 ? reports::matrix_html(*runs, options.all)
                                 : reports::matrix_text(*runs, options.all, options.format);
    if (const auto put = put_out(text, options, out); !put) return tell(err, put.error());
    return kExitSuccess;
}

int run_report_merge(const ReportOptions& options, std::FILE* out, std::FILE* err) {
    const auto code = merge_or_refuse(options, out, err);
    return code ? *code : tell(err, code.error());
}

} // namespace veriroce::commands
