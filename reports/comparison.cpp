#include "reports/comparison.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "conformance/plan/run_name.hpp"
#include "dissector/wire/duration_text.hpp"
#include "reports/markdown.hpp"

namespace veriroce::reports {
namespace {

using interpreter::Verdict;

constexpr std::size_t kLeastSamples = 3;
constexpr std::size_t kManySamples = 8;

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

// The samples without the lowest and the highest tenth, if there are enough of them.
std::span<const std::int64_t> middle_of(const std::vector<std::int64_t>& sorted) {
    const std::size_t tails =
        sorted.size() < kManySamples ? 0 : std::max<std::size_t>(1, sorted.size() / 10);
    return std::span(sorted).subspan(tails, sorted.size() - 2 * tails);
}

Spread spread_of(const std::vector<std::int64_t>& sorted) {
    return {sorted.size(), sorted.front(), sorted[sorted.size() / 2], sorted.back()};
}

void compare_samples(Comparison& comparison, MeasureChange change, std::vector<std::int64_t> before,
                     std::vector<std::int64_t> after) {
    // Counts are what they are; times and rates vary.
    const std::size_t least = change.unit == sheet::Unit::Packets ? 1 : kLeastSamples;
    if (before.size() < least || after.size() < least) return;
    std::ranges::sort(before);
    std::ranges::sort(after);
    const auto one = middle_of(before);
    const auto other = middle_of(after);
    if (one.back() >= other.front() && other.back() >= one.front()) return;
    change.before = spread_of(before);
    change.after = spread_of(after);
    comparison.measures.push_back(std::move(change));
}

std::vector<std::int64_t> counts_of(const std::vector<wire::Duration>& samples) {
    std::vector<std::int64_t> counts;
    for (const wire::Duration one : samples)
        counts.push_back(one.count());
    return counts;
}

void compare_measures(Comparison& comparison, const SavedCase& before, const SavedCase& after) {
    for (const auto& [name, samples] : before.measures) {
        const auto now = after.measures.find(name);
        if (now == after.measures.end()) continue;
        compare_samples(comparison, {.id = before.id, .measure = name, .before = {}, .after = {}},
                        counts_of(samples), counts_of(now->second));
    }
}

// --- what the devices are ----------------------------------------------------------------------

void add_fact(Comparison& comparison, std::string name, const std::string& before,
              const std::string& after) {
    if (before != after) comparison.facts.push_back({std::move(name), before, after});
}

void compare_words(Comparison& comparison, std::string_view what,
                   const std::vector<std::string>& before, const std::vector<std::string>& after) {
    std::set<std::string> words(before.begin(), before.end());
    words.insert(after.begin(), after.end());
    for (const std::string& word : words) {
        const auto has = [&](const auto& list) {
            return std::ranges::find(list, word) == list.end() ? "no" : "yes";
        };
        add_fact(comparison, fmt::format("{} {}", what, word), has(before), has(after));
    }
}

std::string limit_text(const std::map<std::string, std::uint64_t>& limits,
                       const std::string& name) {
    const auto found = limits.find(name);
    return found == limits.end() ? "unknown" : std::to_string(found->second);
}

void compare_devices(Comparison& comparison, const SavedRun& before, const SavedRun& after) {
    const testbed::DeviceFacts& was = before.device;
    const testbed::DeviceFacts& is = after.device;
    add_fact(comparison, "link", before.link, after.link);
    if (was == testbed::DeviceFacts{} || is == testbed::DeviceFacts{}) return; // an older file
    add_fact(comparison, "device", was.device, is.device);
    add_fact(comparison, "firmware", was.firmware, is.firmware);
    add_fact(comparison, "driver", was.driver, is.driver);
    add_fact(comparison, "kernel", was.kernel, is.kernel);
    compare_words(comparison, "capability", was.capabilities, is.capabilities);
    compare_words(comparison, "trait", was.traits, is.traits);
    std::set<std::string> names;
    for (const auto* limits : {&was.limits, &is.limits}) {
        for (const auto& [name, limit] : *limits)
            names.insert(name);
    }
    for (const std::string& name : names) {
        add_fact(comparison, "limit " + name, limit_text(was.limits, name),
                 limit_text(is.limits, name));
    }
}

std::string kinds_of(const sheet::DataSheet& sheet, const std::string& name) {
    std::vector<std::string> kinds;
    for (const sheet::Behaviour& one : sheet.behaviours) {
        if (one.name == name) kinds.push_back(one.kind);
    }
    return fmt::format("{}", fmt::join(kinds, "; "));
}

void compare_sheets(Comparison& comparison, const sheet::DataSheet& before,
                    const sheet::DataSheet& after) {
    std::set<std::string> told;
    for (const sheet::Behaviour& one : before.behaviours) {
        const std::string now = kinds_of(after, one.name);
        if (now.empty() || !told.insert(one.name).second) continue; // not measured in both
        add_fact(comparison, one.title, kinds_of(before, one.name), now);
    }
    for (const sheet::Quantity& one : before.quantities) {
        const auto now = std::ranges::find(after.quantities, one.name, &sheet::Quantity::name);
        if (now == after.quantities.end() || now->unit != one.unit) continue;
        for (const sheet::Series& series : one.series) {
            const auto same = std::ranges::find(now->series, series.label, &sheet::Series::label);
            if (same == now->series.end()) continue;
            const std::string name =
                series.label.empty() ? one.title : fmt::format("{}, {}", one.title, series.label);
            compare_samples(
                comparison,
                {.id = {}, .measure = name, .unit = one.unit, .before = {}, .after = {}},
                series.samples, same->samples);
        }
    }
}

std::map<std::string, std::vector<std::string>> broken_by(const SavedRun& run) {
    std::map<std::string, std::vector<std::string>> rules;
    for (const SavedCase& one : run.cases) {
        for (const std::string& rule : one.broken)
            rules[rule].push_back(one.id);
    }
    return rules;
}

// Rules that only `one` broke. Where the other did not judge these runs it may break them, too.
std::vector<RuleChange> broken_alone(const SavedRun& one, const SavedRun& other) {
    std::vector<RuleChange> changes;
    const auto theirs = broken_by(other);
    for (const auto& [rule, ids] : broken_by(one)) {
        if (theirs.contains(rule)) continue;
        const bool judged = std::ranges::any_of(ids, [&](const std::string& id) {
            const auto same = std::ranges::find(other.cases, id, &SavedCase::id);
            return same != other.cases.end() && grade_of(same->verdict) != Grade::Unjudged;
        });
        if (judged) changes.push_back({rule, ids});
    }
    return changes;
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

std::string spread_text(const Spread& spread, sheet::Unit unit) {
    return fmt::format("{} ({}..{})", amount_text(spread.median, unit),
                       amount_text(spread.least, unit), amount_text(spread.most, unit));
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
        const std::string before = spread_text(one.before, one.unit);
        const std::string after = spread_text(one.after, one.unit);
        const std::string id = one.id.empty() ? "data sheet" : one.id;
        text += markdown ? fmt::format("| {} | {} | {} | {} |\n", markdown_cell(id),
                                       markdown_cell(one.measure), before, after)
                         : fmt::format("  {} -> {}  {}  {}\n", before, after, id, one.measure);
    }
}

void add_facts(std::string& text, const std::vector<FactChange>& changes, TableFormat format) {
    if (changes.empty()) return;
    const bool markdown = format == TableFormat::Markdown;
    text += markdown ? fmt::format("\n## The device changed: {}\n\n| what | before | after |\n"
                                   "|---|---|---|\n",
                                   changes.size())
                     : fmt::format("\nthe device changed: {}\n", changes.size());
    for (const FactChange& one : changes) {
        text += markdown ? fmt::format("| {} | {} | {} |\n", markdown_cell(one.name),
                                       markdown_cell(one.before), markdown_cell(one.after))
                         : fmt::format("  {}: {} -> {}\n", one.name, one.before, one.after);
    }
}

void add_rules(std::string& text, std::string_view title, const std::vector<RuleChange>& changes,
               TableFormat format) {
    if (changes.empty()) return;
    const bool markdown = format == TableFormat::Markdown;
    text += markdown
                ? fmt::format("\n## {}: {}\n\n| rule | runs |\n|---|---|\n", title, changes.size())
                : fmt::format("\n{}: {}\n", title, changes.size());
    for (const RuleChange& one : changes) {
        const std::string runs =
            fmt::format("{}{}", one.ids.front(),
                        one.ids.size() == 1 ? "" : fmt::format(" and {} more", one.ids.size() - 1));
        text += markdown
                    ? fmt::format("| {} | {} |\n", markdown_cell(one.rule), markdown_cell(runs))
                    : fmt::format("  {:<9} {}\n", one.rule, runs);
    }
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
    compare_devices(comparison, before, after);
    compare_sheets(comparison, before.sheet, after.sheet);
    comparison.broken = broken_alone(after, before);
    comparison.kept = broken_alone(before, after);
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
    add_rules(text, markdown ? "Rules broken now" : "rules broken now", comparison.broken, format);
    add_rules(text, markdown ? "Rules no longer broken" : "rules no longer broken", comparison.kept,
              format);
    add_facts(text, comparison.facts, format);
    add_measures(text, comparison.measures, format);
    return text + "\n" + comparison_summary(comparison) + "\n";
}

std::string description(const SavedRun& run) {
    return fmt::format("{}: {}{}{}", run.name, run.dut,
                       run.profile.empty() ? "" : ", profile " + run.profile,
                       run.complete ? "" : " (incomplete)");
}

std::string comparison_summary(const Comparison& comparison) {
    return fmt::format("{} worse, {} better, {} no longer judged, {} judged now, {} unchanged",
                       comparison.worse.size(), comparison.better.size(),
                       comparison.unjudged.size(), comparison.fresh.size(), comparison.unchanged);
}

std::string amount_text(std::int64_t amount, sheet::Unit unit) {
    switch (unit) {
    case sheet::Unit::Nanoseconds: return wire::short_time(wire::Duration(amount));
    case sheet::Unit::Packets: return fmt::format("{} packet{}", amount, amount == 1 ? "" : "s");
    case sheet::Unit::BitsPerSecond: break;
    }
    const auto rate = static_cast<double>(amount);
    const auto in = [rate](double one) { // three digits, or all of a whole number
        return rate < 100 * one ? fmt::format("{:.3g}", rate / one)
                                : fmt::format("{:.0f}", rate / one);
    };
    if (rate >= 1e9) return in(1e9) + " Gbit/s";
    if (rate >= 1e6) return in(1e6) + " Mbit/s";
    return in(1e3) + " kbit/s";
}

bool Matrix::Row::passes() const {
    return std::ranges::all_of(verdicts, [](const auto& one) { return one == Verdict::Pass; });
}

Matrix matrix_of(const std::vector<SavedRun>& runs) {
    std::map<std::string, std::vector<std::optional<Verdict>>> rows;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        for (const auto& [id, verdict] : verdicts_of(runs[i])) {
            auto& row = rows[id];
            row.resize(runs.size());
            row[i] = verdict;
        }
    }
    Matrix matrix;
    for (auto& [id, verdicts] : rows) {
        matrix.rows.push_back({id, std::move(verdicts)});
        matrix.passing += matrix.rows.back().passes() ? 1 : 0;
    }
    return matrix;
}

std::string matrix_text(const std::vector<SavedRun>& runs, bool all, TableFormat format) {
    const bool markdown = format == TableFormat::Markdown;
    const Matrix matrix = matrix_of(runs);
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
    for (const Matrix::Row& row : matrix.rows) {
        if (row.passes() && !all) continue;
        text +=
            markdown ? fmt::format("| {} |", markdown_cell(row.id)) : fmt::format("{:<36}", row.id);
        for (const auto& one : row.verdicts) {
            const std::string_view verdict = one ? interpreter::name_of(*one) : "-";
            text += markdown ? fmt::format(" {} |", verdict) : fmt::format(" {:<6}", verdict);
        }
        text += '\n';
    }
    text += fmt::format("\n{} of {} cases pass everywhere\n", matrix.passing, matrix.rows.size());
    return text;
}

} // namespace veriroce::reports
