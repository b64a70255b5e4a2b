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
#include "reports/pcapng.hpp"
#include "reports/saved_results.hpp"

namespace veriroce::reports {
namespace {

namespace json = boost::json;
using interpreter::CaseResult;
using interpreter::Verdict;

// --- the overview -----------------------------------------------------------------------------

std::string seconds(wire::Duration time) {
    return fmt::format("{:.1f} s", std::chrono::duration<double>(time).count());
}

// ", 100 Gb/s"; empty if the agent does not tell the speed.
std::string speed_text(const testbed::DeviceFacts& device) {
    const auto found = device.limits.find("speed_mbps");
    return found == device.limits.end()
               ? ""
               : fmt::format(", {:g} Gb/s", static_cast<double>(found->second) / 1000);
}

json::array facts(const plan::RunResults& results) {
    json::array all;
    const auto add = [&all](std::string_view name, const std::string& value) {
        if (!value.empty()) all.push_back(json::array{name, text(value)});
    };
    add("Device", results.run.dut);
    add("Its host", results.run.dut_host);
    add("Link", results.run.link + speed_text(results.run.device));
    add("Profile", results.run.profile);
    add("Seed", std::to_string(results.run.seed));
    add("Tester", results.run.host);
    add("Program", results.run.program);
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
            if (samples.empty()) continue;
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

// Those that a finding or a violation is about with their surroundings, then the first ones, as far
// as there is room.
std::vector<bool> chosen_packets(const CaseResult& result, std::size_t room) {
    constexpr std::size_t kBefore = 40;
    constexpr std::size_t kBehind = 10;
    std::vector<bool> chosen(result.packets.size());
    const auto choose = [&](std::size_t from, std::size_t to) {
        for (std::size_t i = from; i < std::min(to, chosen.size()) && room > 0; ++i) {
            if (chosen[i]) continue;
            chosen[i] = true;
            --room;
        }
    };
    const auto choose_around = [&](std::size_t packet) {
        choose(packet, packet + 1); // itself in any case
        choose(packet - std::min(packet, kBefore), packet + kBehind);
    };
    for (const interpreter::Finding& finding : result.findings) {
        if (finding.packet) choose_around(*finding.packet);
    }
    for (const interpreter::Violation& violation : result.violations) {
        for (const std::size_t packet : violation.packets)
            choose_around(packet);
    }
    choose(0, chosen.size());
    return chosen;
}

// The trees of a run whose packets somebody will want to look into, in the places of the packets.
json::array trees(const CaseResult& result, std::size_t& left) {
    json::array all;
    const std::vector<bool> chosen = chosen_packets(result, std::min(kDecodedOfRun, left));
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        const interpreter::RecordedPacket& packet = result.packets[i];
        all.push_back(chosen[i] && has_bytes(packet)
                          ? decoded_packet(packet.frame, packet.frame.size(), i + 1,
                                           packet.at.latest.time_since_epoch().count())
                          : json::value());
    }
    left -= static_cast<std::size_t>(std::ranges::count(chosen, true));
    return all;
}

// Of the rules of the cases, and of those that only the judge or the model found violated.
json::object rule_texts(const plan::RunResults& results) {
    json::object all;
    const auto add = [&all](const std::string& id) {
        if (all.contains(id)) return;
        const auto found = rules::catalogue().find(id);
        if (!found) return;
        const rules::Rule& rule = *found;
        all[id] = json::object{{"level", rules::word(rule.level)}, {"text", rule.text}};
    };
    for (const CaseResult& result : results.cases) {
        std::ranges::for_each(result.rules, add);
        for (const interpreter::Violation& violation : result.violations)
            add(violation.rule);
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
        run["open_capture"] = text(open_command(result));
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
