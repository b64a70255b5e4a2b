#include "reports/comparison_html.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "conformance/rules/rules.hpp"
#include "reports/html_page.hpp"
#include "reports/json_objects.hpp"

namespace veriroce::reports {
namespace {

namespace json = boost::json;
using interpreter::Verdict;

json::value verdict_value(std::optional<Verdict> verdict) {
    return verdict ? json::value(name_of(*verdict)) : json::value();
}

json::object run_value(const SavedRun& run) {
    json::array facts;
    const auto add = [&facts](std::string_view name, const std::string& value) {
        if (!value.empty()) facts.push_back(json::array{name, text(value)});
    };
    add("Device", run.dut);
    add("Firmware", run.device.firmware);
    add("Driver", run.device.driver);
    add("Kernel", run.device.kernel);
    add("Link", run.link);
    add("Profile", run.profile);
    add("Started", run.started);
    if (!run.complete) add("Incomplete", "the run ended before its last case");
    return {{"name", text(run.name)}, {"facts", std::move(facts)}};
}

json::array runs_value(const std::vector<SavedRun>& runs) {
    json::array all;
    for (const SavedRun& run : runs)
        all.push_back(run_value(run));
    return all;
}

// Names tell the devices apart in plots: two equal ones get a number.
json::array sheets_value(const std::vector<SavedRun>& runs) {
    json::array all;
    std::set<std::string> names;
    for (const SavedRun& run : runs) {
        std::string name = text(run.name);
        for (int i = 2; !names.insert(name).second; ++i)
            name = fmt::format("{} ({})", text(run.name), i);
        all.push_back(json::object{{"name", name}, {"sheet", sheet_value(run.sheet)}});
    }
    return all;
}

bool any_sheet(const std::vector<SavedRun>& runs) {
    return std::ranges::any_of(runs, [](const SavedRun& one) { return !one.sheet.empty(); });
}

json::object changes_value(std::string_view title, const std::vector<Change>& changes) {
    json::array rows;
    for (const Change& one : changes) {
        rows.push_back(json::object{{"id", text(one.id)},
                                    {"before", verdict_value(one.before)},
                                    {"after", verdict_value(one.after)},
                                    {"summary", text(one.summary)}});
    }
    return {{"title", title}, {"rows", std::move(rows)}};
}

json::object rules_value(std::string_view title, const std::vector<RuleChange>& changes) {
    json::array rows;
    for (const RuleChange& one : changes) {
        json::array ids;
        for (const std::string& id : one.ids)
            ids.emplace_back(text(id));
        const auto rule = rules::catalogue().find(one.rule);
        rows.push_back(json::object{{"rule", text(one.rule)},
                                    {"text", rule ? rule->get().text : std::string()},
                                    {"ids", std::move(ids)}});
    }
    return {{"title", title}, {"rows", std::move(rows)}};
}

json::object spread_value(const Spread& spread) {
    return {{"samples", spread.samples},
            {"least", spread.least},
            {"median", spread.median},
            {"most", spread.most}};
}

json::array measures_value(const std::vector<MeasureChange>& changes) {
    json::array rows;
    for (const MeasureChange& one : changes) {
        rows.push_back(json::object{{"id", text(one.id)},
                                    {"measure", text(one.measure)},
                                    {"unit", name_of(one.unit)},
                                    {"before", spread_value(one.before)},
                                    {"after", spread_value(one.after)}});
    }
    return rows;
}

json::array facts_value(const std::vector<FactChange>& changes) {
    json::array rows;
    for (const FactChange& one : changes) {
        rows.push_back(json::object{
            {"name", text(one.name)}, {"before", text(one.before)}, {"after", text(one.after)}});
    }
    return rows;
}

// What hello said of each device, by name; devices of older files have nothing.
std::map<std::string, std::string> words_of(const testbed::DeviceFacts& device) {
    std::map<std::string, std::string> words;
    for (const std::string& one : device.capabilities)
        words["capability " + one] = "yes";
    for (const std::string& one : device.traits)
        words["trait " + one] = "yes";
    for (const auto& [name, limit] : device.limits)
        words["limit " + name] = std::to_string(limit);
    return words;
}

// Rows in which the devices differ.
json::array words_value(const std::vector<SavedRun>& runs) {
    std::map<std::string, std::vector<std::string>> rows;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        for (auto& [name, value] : words_of(runs[i].device)) {
            auto& row = rows[name];
            row.resize(runs.size());
            row[i] = value;
        }
    }
    json::array all;
    for (const auto& [name, values] : rows) {
        if (std::ranges::all_of(values, [&](const auto& one) { return one == values.front(); }))
            continue;
        json::array cells;
        for (const std::string& value : values)
            cells.emplace_back(text(value.empty() ? "–" : value));
        all.push_back(json::object{{"name", text(name)}, {"values", std::move(cells)}});
    }
    return all;
}

std::string page(const json::object& head, bool plots) {
    return html_page(
        {.kind = PageKind::Comparison, .head = for_element(head), .packed = {}, .plots = plots});
}

} // namespace

std::string comparison_html(const Comparison& comparison, const SavedRun& before,
                            const SavedRun& after) {
    const std::vector<SavedRun> runs{before, after};
    return page(
        {{"kind", "diff"},
         {"headline", comparison_summary(comparison)},
         {"runs", runs_value(runs)},
         {"sections", json::array{changes_value("Worse", comparison.worse),
                                  changes_value("Better", comparison.better),
                                  changes_value("No longer judged", comparison.unjudged),
                                  changes_value("Judged now, not before", comparison.fresh)}},
         {"rules", json::array{rules_value("Rules broken now", comparison.broken),
                               rules_value("Rules no longer broken", comparison.kept)}},
         {"facts", facts_value(comparison.facts)},
         {"measures", measures_value(comparison.measures)},
         {"sheets", sheets_value(runs)}},
        any_sheet(runs));
}

std::string matrix_html(const std::vector<SavedRun>& runs, bool all) {
    const Matrix matrix = matrix_of(runs);
    json::array rows;
    for (const Matrix::Row& row : matrix.rows) {
        json::array verdicts;
        for (const auto& one : row.verdicts)
            verdicts.push_back(verdict_value(one));
        rows.push_back(json::object{{"id", text(row.id)}, {"verdicts", std::move(verdicts)}});
    }
    return page(
        {{"kind", "matrix"},
         {"headline", fmt::format("{} of {} cases pass on {}", matrix.passing, matrix.rows.size(),
                                  runs.size() == 1 ? "the one device"
                                                   : fmt::format("all {} devices", runs.size()))},
         {"all", all},
         {"runs", runs_value(runs)},
         {"rows", std::move(rows)},
         {"words", words_value(runs)},
         {"sheets", sheets_value(runs)}},
        any_sheet(runs));
}

} // namespace veriroce::reports
