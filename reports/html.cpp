#include "reports/html.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <set>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "conformance/rules/rules.hpp"
#include "reports/decoded_packet.hpp"
#include "reports/html_page.hpp"
#include "reports/json_objects.hpp"
#include "reports/markdown.hpp"
#include "reports/page.hpp"
#include "reports/saved_results.hpp"

namespace veriroce::reports {
namespace {

namespace json = boost::json;
using interpreter::CaseResult;
using interpreter::Verdict;

constexpr std::size_t kMeasuresShown = 60;

// --- the overview -----------------------------------------------------------------------------

std::string seconds(wire::Duration time) {
    return fmt::format("{:.1f} s", std::chrono::duration<double>(time).count());
}

json::array facts(const plan::RunResults& results) {
    json::array all;
    const auto add = [&all](std::string_view name, const std::string& value) {
        if (!value.empty()) all.push_back(json::array{name, text(value)});
    };
    add("Device", results.run.dut);
    add("Its host", results.run.dut_host);
    add("Link", results.run.link);
    add("Profile", results.run.profile);
    add("Seed", std::to_string(results.run.seed));
    add("Tester", results.run.host);
    add("Started", results.timing.started);
    add("Took", seconds(results.timing.wall));
    return all;
}

json::array runs(const plan::RunResults& results) {
    json::array all;
    for (const CaseResult& result : results.cases) {
        json::array rules;
        for (const std::string& rule : result.rules)
            rules.emplace_back(text(rule));
        all.push_back(json::object{{"place", all.size()},
                                   {"id", text(result.id)},
                                   {"verdict", name_of(result.verdict)},
                                   {"title", text(result.title)},
                                   {"rules", std::move(rules)},
                                   {"summary", text(result.reason())}});
    }
    return all;
}

// What the runs measured: one row for each name of each run.
json::array measures(const plan::RunResults& results) {
    json::array all;
    for (const CaseResult& result : results.cases) {
        for (const auto& [name, samples] : result.measures) {
            if (samples.empty() || all.size() == kMeasuresShown) continue;
            std::vector<wire::Duration> sorted = samples;
            std::ranges::sort(sorted);
            all.push_back(json::object{{"name", text(fmt::format("{} {}", result.id, name))},
                                       {"run", text(result.id)},
                                       {"samples", sorted.size()},
                                       {"least", sorted.front().count()},
                                       {"median", sorted[sorted.size() / 2].count()},
                                       {"most", sorted.back().count()}});
        }
    }
    return all;
}

json::object overview(const plan::RunResults& results) {
    json::array notes;
    for (const std::string& note : results.run.notes)
        notes.emplace_back(text(note));
    return {{"headline", headline(results)},
            {"facts", facts(results)},
            {"complete", results.run.complete},
            {"notes", std::move(notes)},
            {"measures", measures(results)},
            {"sheet", sheet_value(results.sheet)},
            {"runs", runs(results)}};
}

// --- the sheets -------------------------------------------------------------------------------

// The trees of a run whose packets somebody will want to look into.
json::array trees(const CaseResult& result, std::size_t& left) {
    json::array all;
    const std::size_t most = std::min({result.packets.size(), kDecodedOfRun, left});
    for (std::size_t i = 0; i < most; ++i) {
        const interpreter::RecordedPacket& packet = result.packets[i];
        all.push_back(has_bytes(packet)
                          ? decoded_packet(packet.frame, packet.frame.size(), i + 1,
                                           packet.at.latest.time_since_epoch().count())
                          : json::value());
    }
    left -= most;
    return all;
}

json::object rule_texts(const plan::RunResults& results) {
    json::object all;
    for (const CaseResult& result : results.cases) {
        for (const std::string& id : result.rules) {
            const auto found = rules::catalogue().find(id);
            if (!found) continue;
            const rules::Rule& rule = *found;
            all[id] = json::object{{"level", rules::word(rule.level)}, {"text", rule.text}};
        }
    }
    return all;
}

json::object sheets(const plan::RunResults& results, const SourceOf& source_of) {
    json::array runs;
    json::object files;
    std::size_t left = kDecodedOfAll;
    for (const CaseResult& result : results.cases) {
        json::object& run = runs.emplace_back(case_object(result)).as_object();
        const bool calm = result.verdict == Verdict::Pass || result.verdict == Verdict::Skip;
        if (!calm) run["trees"] = trees(result, left);
        run["capture"] = text(result.capture);
        if (!files.contains(result.file)) files[result.file] = text(source_of(result.file));
    }
    return {{"runs", std::move(runs)}, {"files", std::move(files)}, {"rules", rule_texts(results)}};
}

} // namespace

std::string_view page_licences() {
    return page::copyright();
}

std::string report_html(const plan::RunResults& results, const SourceOf& source_of) {
    return html_page({.kind = PageKind::Report,
                      .head = for_element(overview(results)),
                      .packed = packed(json::serialize(sheets(results, source_of))),
                      .plots = !results.sheet.empty()});
}

} // namespace veriroce::reports
