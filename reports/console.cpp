#include "reports/console.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "dissector/wire/safe_text.hpp"
#include "reports/case_rows.hpp"
#include "reports/comparison.hpp"

namespace veriroce::reports {
namespace {

using wire::safe_text;

using interpreter::CaseResult;
using interpreter::Verdict;

std::string_view colour_of(Verdict verdict) {
    switch (verdict) {
    case Verdict::Pass:
    case Verdict::Xfail: return "\x1b[32m";
    case Verdict::Fail:
    case Verdict::Xpass: return "\x1b[31m";
    case Verdict::Warn:
    case Verdict::Error: return "\x1b[33m";
    case Verdict::Info:
    case Verdict::Skip: return "\x1b[36m";
    }
    return "";
}

constexpr std::string_view kDim = "\x1b[2m";
constexpr std::string_view kRed = "\x1b[31m";
constexpr std::string_view kGreen = "\x1b[32m";
constexpr std::string_view kPlain = "\x1b[0m";

std::string painted(std::string_view paint, std::string_view text, bool colour) {
    return colour ? fmt::format("{}{}{}", paint, text, kPlain) : std::string(text);
}

constexpr std::size_t kColumns = 100;
constexpr std::size_t kIndent = 7;
constexpr std::size_t kLeastLabel = 9; // "measured", "line 1234"

// Breaks at blanks; what follows the first line begins `hanging` columns to the right.
std::string wrapped(std::string_view text, std::size_t hanging) {
    std::string out;
    std::size_t at = hanging;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        const std::string_view word = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (!out.empty() && at + 1 + word.size() > kColumns) {
            out += fmt::format("\n{:{}}", "", hanging);
            at = hanging;
        } else if (!out.empty()) {
            out += ' ';
            ++at;
        }
        out += word;
        at += word.size();
    }
    return out;
}

std::string value_of(const Row& row, std::size_t hanging, bool colour) {
    const std::string text = safe_text(row.text);
    switch (row.kind) {
    case Row::Kind::Sentence: return wrapped(text, kIndent);
    case Row::Kind::Text: return wrapped(text, hanging);
    case Row::Kind::Verbatim: return text;
    case Row::Kind::Difference:
        return fmt::format("expected {}, got {}", painted(kGreen, text, colour),
                           painted(kRed, safe_text(row.actual), colour));
    }
    return text;
}

// Labels in one column, values in another.
std::string text_of(const std::vector<Row>& rows, bool colour) {
    std::size_t label = kLeastLabel;
    for (const Row& row : rows)
        label = std::max(label, row.label.size());
    const std::size_t hanging = kIndent + label + 1;
    std::string out;
    for (const Row& row : rows) {
        out += fmt::format("{:{}}", "", kIndent);
        if (row.kind != Row::Kind::Sentence) {
            out += painted(kDim, fmt::format("{:<{}}", safe_text(row.label), label), colour) + " ";
        }
        out += value_of(row, hanging, colour) + "\n";
    }
    return out;
}

double milliseconds(wire::Duration duration) {
    return static_cast<double>(duration.count()) / 1e6;
}

// "12 samples: min 4.1 ms, median 4.4 ms, max 5.0 ms".
std::string measure_text(std::vector<wire::Duration> samples) {
    std::ranges::sort(samples);
    return fmt::format("{} sample{}: min {:.3f} ms, median {:.3f} ms, max {:.3f} ms",
                       samples.size(), samples.size() == 1 ? "" : "s",
                       milliseconds(samples.front()), milliseconds(samples[samples.size() / 2]),
                       milliseconds(samples.back()));
}

} // namespace

std::string console_head(const testbed::RunInfo& run) {
    std::string out = fmt::format("DUT: {}\n", safe_text(run.dut));
    if (!run.dut_host.empty()) {
        out += fmt::format("DUT's host: {}\ntester's host: {}\n", safe_text(run.dut_host),
                           safe_text(run.host));
    }
    out += fmt::format("link: {}, seed {}\n", safe_text(run.link), run.seed);
    if (!run.profile.empty()) out += fmt::format("profile: {}\n", safe_text(run.profile));
    for (const std::string& note : run.notes)
        out += fmt::format("note: {}\n", safe_text(note));
    return out + "\n";
}

std::string console_case(const CaseResult& result, const ConsoleStyle& style) {
    if (style.quiet && result.verdict == Verdict::Pass) return {};
    std::string out = painted(colour_of(result.verdict),
                              fmt::format("{:<6}", name_of(result.verdict)), style.colour);
    out += fmt::format(" {:<44} {}", safe_text(result.id), fmt::join(result.rules, " "));
    if (result.verdict == Verdict::Skip) {
        return out + fmt::format("  {}\n", safe_text(result.reason()));
    }
    out += "\n";
    std::vector<Row> rows;
    if (result.verdict != Verdict::Pass) rows = case_rows(result);
    for (const auto& [name, samples] : result.measures) {
        rows.push_back(
            {Row::Kind::Text, "measure", fmt::format("{}: {}", name, measure_text(samples))});
    }
    return out + text_of(rows, style.colour);
}

std::string console_progress(std::size_t done, std::size_t total, std::size_t failed,
                             std::string_view id) {
    constexpr std::size_t id_columns = 50; // of the id: the whole fits a terminal of 80
    std::string shown = safe_text(id).substr(0, id_columns);
    if (id.size() > id_columns) shown.replace(id_columns - 3, 3, "...");
    const std::string failures = failed == 0 ? "" : fmt::format("{} failed, ", failed);
    return fmt::format("{}[{}/{}] {}{}", kConsoleNoProgress, done, total, failures, shown);
}

std::string console_sheet(const sheet::DataSheet& sheet) {
    if (sheet.empty()) return {};
    std::string out = "\ndata sheet, measured and not judged: median (least..most), samples\n";
    for (const sheet::Behaviour& one : sheet.behaviours)
        out += fmt::format("  {}: {}\n", safe_text(one.title), safe_text(one.kind));
    for (const sheet::Quantity& one : sheet.quantities) {
        out += fmt::format("  {}\n", safe_text(one.title));
        for (const sheet::Series& series : one.series) {
            if (series.samples.empty()) continue;
            std::vector<std::int64_t> sorted = series.samples;
            std::ranges::sort(sorted);
            const auto text = [&](std::int64_t value) { return amount_text(value, one.unit); };
            out += fmt::format("    {:<24}{} ({}..{}), {}{}\n", safe_text(series.label),
                               text(sorted[sorted.size() / 2]), text(sorted.front()),
                               text(sorted.back()), sorted.size(),
                               series.asked ? ", asked for " + text(*series.asked) : "");
        }
    }
    return out;
}

std::string console_summary(const plan::RunResults& results, const ConsoleStyle& style) {
    std::string out = "\n";
    for (const Verdict verdict :
         {Verdict::Warn, Verdict::Info, Verdict::Xfail, Verdict::Xpass, Verdict::Error}) {
        const std::size_t count = results.count(verdict);
        if (count == 0) continue;
        const std::size_t once = verdict == Verdict::Error ? results.not_repeatable() : 0;
        out += painted(colour_of(verdict), fmt::format("{} {}", count, name_of(verdict)),
                       style.colour) +
               (once == 0 ? "\n" : fmt::format(", {} of them not repeatable\n", once));
    }
    if (!results.run.complete) out += "incomplete: the run ended before its last case\n";
    out +=
        fmt::format("{} run{} in {:.3f} s\n", results.cases.size(),
                    results.cases.size() == 1 ? "" : "s", milliseconds(results.timing.wall) / 1e3);
    return out + fmt::format("{} passed, {} failed, {} skipped\n", results.count(Verdict::Pass),
                             results.count(Verdict::Fail) + results.count(Verdict::Xpass),
                             results.count(Verdict::Skip));
}

} // namespace veriroce::reports
