#include "reports/console.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "conformance/rules/rules.hpp"

namespace veriroce::reports {
namespace {

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

std::string painted(Verdict verdict, std::string_view text, bool colour) {
    return colour ? fmt::format("{}{}\x1b[0m", colour_of(verdict), text) : std::string(text);
}

void append_detail(std::string& out, std::string_view label, std::string_view text) {
    if (!text.empty()) fmt::format_to(std::back_inserter(out), "       {:<9} {}\n", label, text);
}

void append_rules(std::string& out, const CaseResult& result) {
    for (const std::string& id : result.rules) {
        const auto rule = rules::catalogue().find(id);
        if (!rule) continue;
        append_detail(
            out, "rule",
            fmt::format("{} ({}) {}", id, rules::word(rule->get().level), rule->get().text));
    }
}

double milliseconds(wire::Duration duration) {
    return static_cast<double>(duration.count()) / 1e6;
}

// "12 samples, 4.1 / 4.4 / 5.0 ms" (least, median, most).
std::string measure_text(std::vector<wire::Duration> samples) {
    std::ranges::sort(samples);
    return fmt::format("{} samples, {:.3f} / {:.3f} / {:.3f} ms", samples.size(),
                       milliseconds(samples.front()), milliseconds(samples[samples.size() / 2]),
                       milliseconds(samples.back()));
}

} // namespace

std::string console_head(const testbed::RunInfo& run) {
    std::string out = fmt::format("DUT: {}\nlink: {}, seed {}\n", run.dut, run.link, run.seed);
    if (!run.profile.empty()) out += fmt::format("profile: {}\n", run.profile);
    for (const std::string& note : run.notes)
        out += fmt::format("note: {}\n", note);
    return out + "\n";
}

std::string console_case(const CaseResult& result, const ConsoleStyle& style) {
    if (style.quiet && result.verdict == Verdict::Pass) return {};
    std::string out =
        painted(result.verdict, fmt::format("{:<6}", name_of(result.verdict)), style.colour);
    out += fmt::format(" {:<44} {}", result.id, fmt::join(result.rules, " "));
    if (result.verdict == Verdict::Skip) {
        return out + fmt::format("  {}\n", result.reason());
    }
    out += "\n";
    if (result.verdict != Verdict::Pass) {
        append_detail(out, "why", result.reason());
        if (result.line() != 0) {
            append_detail(out, "line", fmt::format("{}:{}", result.file, result.line()));
        }
        append_detail(out, "expected", result.expected());
        append_detail(out, "actual", result.actual());
        if (result.verdict == Verdict::Fail || result.verdict == Verdict::Warn) {
            append_rules(out, result);
        }
        append_detail(out, "again", result.command);
    }
    for (const auto& [name, samples] : result.measures) {
        append_detail(out, "measured", fmt::format("{}: {}", name, measure_text(samples)));
    }
    return out;
}

std::string console_progress(std::size_t done, std::size_t total, std::size_t failed,
                             std::string_view id) {
    constexpr std::size_t columns = 50; // of the id: the whole fits a terminal of 80
    std::string shown(id.substr(0, columns));
    if (id.size() > columns) shown.replace(columns - 3, 3, "...");
    const std::string failures = failed == 0 ? "" : fmt::format("{} failed, ", failed);
    return fmt::format("{}[{}/{}] {}{}", console_no_progress, done, total, failures, shown);
}

std::string console_summary(const plan::RunResults& results, const ConsoleStyle& style) {
    std::string out = "\n";
    for (const Verdict verdict :
         {Verdict::Warn, Verdict::Info, Verdict::Xfail, Verdict::Xpass, Verdict::Error}) {
        const std::size_t count = results.count(verdict);
        if (count == 0) continue;
        out += painted(verdict, fmt::format("{} {}", count, name_of(verdict)), style.colour) + "\n";
    }
    if (!results.run.complete) out += "incomplete: this is what ran until then\n";
    out += fmt::format("{} runs in {:.3f} s\n", results.cases.size(),
                       milliseconds(results.timing.wall) / 1e3);
    return out + fmt::format("{} passed, {} failed, {} skipped\n", results.count(Verdict::Pass),
                             results.count(Verdict::Fail) + results.count(Verdict::Xpass),
                             results.count(Verdict::Skip));
}

} // namespace veriroce::reports
