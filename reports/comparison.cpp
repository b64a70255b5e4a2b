#include "reports/comparison.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "conformance/plan/run_name.hpp"
#include "dissector/wire/duration_text.hpp"
#include "reports/markdown.hpp"

namespace veriroce::reports {
namespace {

using interpreter::Verdict;

constexpr std::size_t kLeastSamples = 3;

enum class Grade : std::uint8_t { Right, Unjudged, Known, Wrong };

Grade grade_of(Verdict verdict) {
    switch (verdict) {
    case Verdict::Pass:
    case Verdict::Info: return Grade::Right;
    case Verdict::Skip:
    case Verdict::Error: return Grade::Unjudged;
    case Verdict::Xfail: return Grade::Known;
    case Verdict::Warn:
    case Verdict::Xpass:
    case Verdict::Fail: return Grade::Wrong;
    }
    return Grade::Unjudged;
}

void add_change(Comparison& comparison, Change change) {
    const Grade before = change.before ? grade_of(*change.before) : Grade::Unjudged;
    const Grade after = change.after ? grade_of(*change.after) : Grade::Unjudged;
    if (before == Grade::Unjudged && after == Grade::Unjudged) {
        ++comparison.unchanged;
    } else if (after == Grade::Unjudged) {
        comparison.unjudged.push_back(std::move(change));
    } else if (before == Grade::Unjudged) {
        comparison.fresh.push_back(std::move(change));
    } else if (gravity(*change.after) > gravity(*change.before) && after != Grade::Right) {
        comparison.worse.push_back(std::move(change));
    } else if (gravity(*change.after) < gravity(*change.before) && before != Grade::Right) {
        comparison.better.push_back(std::move(change));
    } else {
        ++comparison.unchanged;
    }
}

wire::Duration median_of(std::vector<wire::Duration> samples) {
    const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
    std::ranges::nth_element(samples, middle);
    return *middle;
}

bool apart(const std::vector<wire::Duration>& one, const std::vector<wire::Duration>& other) {
    const auto [least, most] = std::ranges::minmax(one);
    const auto [other_least, other_most] = std::ranges::minmax(other);
    return most < other_least || other_most < least;
}

void compare_measures(Comparison& comparison, const SavedCase& before, const SavedCase& after) {
    for (const auto& [name, samples] : before.measures) {
        const auto now = after.measures.find(name);
        if (now == after.measures.end() || samples.size() < kLeastSamples ||
            now->second.size() < kLeastSamples || !apart(samples, now->second)) {
            continue;
        }
        comparison.measures.push_back(
            {before.id, name, median_of(samples), median_of(now->second)});
    }
}

std::string verdict_text(std::optional<Verdict> verdict) {
    return verdict ? std::string(interpreter::name_of(*verdict)) : "not played";
}

void add_section(std::string& text, std::string_view title, const std::vector<Change>& changes,
                 TableFormat format) {
    if (changes.empty()) return;
    const bool markdown = format == TableFormat::Markdown;
    text += markdown
                ? fmt::format("\n## {}: {}\n\n| run | before | after | what |\n|---|---|---|---|\n",
                              title, changes.size())
                : fmt::format("\n{}: {}\n", title, changes.size());
    for (const Change& one : changes) {
        const std::string before = verdict_text(one.before);
        const std::string after = verdict_text(one.after);
        text += markdown ? fmt::format("| {} | {} | {} | {} |\n", markdown_cell(one.id), before,
                                       after, markdown_cell(one.summary))
                         : fmt::format("  {:<10} -> {:<10}  {}{}{}\n", before, after, one.id,
                                       one.summary.empty() ? "" : "\n      ", one.summary);
    }
}

void add_measures(std::string& text, const std::vector<MeasureChange>& changes,
                  TableFormat format) {
    if (changes.empty()) return;
    const bool markdown = format == TableFormat::Markdown;
    text += markdown ? fmt::format("\n## Measures that changed: {}\n\n"
                                   "| run | measure | median before | after |\n|---|---|---|---|\n",
                                   changes.size())
                     : fmt::format("\nmeasures that changed: {}\n", changes.size());
    for (const MeasureChange& one : changes) {
        const std::string before = wire::short_time(one.before_median);
        const std::string after = wire::short_time(one.after_median);
        text += markdown ? fmt::format("| {} | {} | {} | {} |\n", markdown_cell(one.id),
                                       markdown_cell(one.measure), before, after)
                         : fmt::format("  {:<10} -> {:<10}  {}  {}\n", before, after, one.id,
                                       one.measure);
    }
}

std::string description(const SavedRun& run) {
    return fmt::format("{}: {}{}{}", run.name, run.dut,
                       run.profile.empty() ? "" : ", profile " + run.profile,
                       run.complete ? "" : " (incomplete)");
}

// The gravest verdict of each case in a run.
std::map<std::string, Verdict> verdicts_of(const SavedRun& run) {
    std::map<std::string, Verdict> verdicts;
    for (const SavedCase& one : run.cases) {
        const auto [place, added] =
            verdicts.try_emplace(std::string(plan::parse_run_name(one.id).of), one.verdict);
        if (gravity(one.verdict) > gravity(place->second)) place->second = one.verdict;
    }
    return verdicts;
}

} // namespace

Comparison compare(const SavedRun& before, const SavedRun& after) {
    Comparison comparison;
    auto now = after.cases.begin();
    const auto add_new_until = [&](const std::string* id) {
        for (; now != after.cases.end() && (id == nullptr || now->id < *id); ++now)
            add_change(comparison, {now->id, std::nullopt, now->verdict, now->summary});
    };
    for (const SavedCase& one : before.cases) {
        add_new_until(&one.id);
        if (now == after.cases.end() || now->id != one.id) {
            add_change(comparison, {one.id, one.verdict, std::nullopt, one.summary});
            continue;
        }
        add_change(comparison, {one.id, one.verdict, now->verdict,
                                now->summary.empty() ? one.summary : now->summary});
        compare_measures(comparison, one, *now);
        ++now;
    }
    add_new_until(nullptr);
    return comparison;
}

std::string comparison_text(const Comparison& comparison, const SavedRun& before,
                            const SavedRun& after, TableFormat format) {
    const bool markdown = format == TableFormat::Markdown;
    std::string text =
        markdown
            ? fmt::format("# What changed\n\n- before: {}\n- after: {}\n",
                          markdown_cell(description(before)), markdown_cell(description(after)))
            : fmt::format("before  {}\nafter   {}\n", description(before), description(after));
    add_section(text, markdown ? "Worse" : "worse", comparison.worse, format);
    add_section(text, markdown ? "Better" : "better", comparison.better, format);
    add_section(text, markdown ? "No longer judged" : "no longer judged", comparison.unjudged,
                format);
    add_section(text, markdown ? "Judged now, not before" : "judged now, not before",
                comparison.fresh, format);
    add_measures(text, comparison.measures, format);
    text += fmt::format("\n{} worse, {} better, {} no longer judged, {} judged now, {} unchanged\n",
                        comparison.worse.size(), comparison.better.size(),
                        comparison.unjudged.size(), comparison.fresh.size(), comparison.unchanged);
    return text;
}

std::string matrix_text(const std::vector<SavedRun>& runs, bool all, TableFormat format) {
    const bool markdown = format == TableFormat::Markdown;
    std::vector<std::map<std::string, Verdict>> columns;
    std::map<std::string, std::vector<std::optional<Verdict>>> rows;
    for (const SavedRun& run : runs) {
        for (const auto& [id, verdict] : columns.emplace_back(verdicts_of(run))) {
            auto& row = rows[id];
            row.resize(runs.size());
            row[columns.size() - 1] = verdict;
        }
    }
    std::string text;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        text += markdown ? fmt::format("{}. {}\n", i + 1, markdown_cell(description(runs[i])))
                         : fmt::format("[{}] {}\n", i + 1, description(runs[i]));
    }
    text += markdown ? "\n| case |" : fmt::format("\n{:<36}", "case");
    for (std::size_t i = 0; i < runs.size(); ++i)
        text += markdown ? fmt::format(" {} |", i + 1) : fmt::format(" {:<6}", i + 1);
    if (markdown) {
        text += "\n|---|";
        for (std::size_t i = 0; i < runs.size(); ++i)
            text += "---|";
    }
    text += '\n';
    std::size_t passed = 0;
    for (const auto& [id, row] : rows) {
        const bool passes =
            std::ranges::all_of(row, [](const auto& one) { return one == Verdict::Pass; });
        passed += passes ? 1 : 0;
        if (passes && !all) continue;
        text += markdown ? fmt::format("| {} |", markdown_cell(id)) : fmt::format("{:<36}", id);
        for (const auto& one : row) {
            const std::string_view verdict = one ? interpreter::name_of(*one) : "-";
            text += markdown ? fmt::format(" {} |", verdict) : fmt::format(" {:<6}", verdict);
        }
        text += '\n';
    }
    text += fmt::format("\n{} of {} cases pass everywhere\n", passed, rows.size());
    return text;
}

} // namespace veriroce::reports
