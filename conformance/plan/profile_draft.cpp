#include "conformance/plan/profile_draft.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "conformance/plan/profile.hpp"
#include "conformance/plan/run_name.hpp"

namespace veriroce::plan {

using interpreter::CaseResult;
using interpreter::Finding;
using interpreter::FindingKind;
using interpreter::Verdict;

namespace {

bool wrong(const CaseResult& result) {
    return result.verdict == Verdict::Fail || result.verdict == Verdict::Warn;
}

// What an entry says about its findings; equal ones of several runs share an entry.
struct Shape {
    std::string kind;
    std::uint32_t line = 0;
    std::set<std::string> fields;

    auto operator<=>(const Shape&) const = default;
};

Shape shape_of(const Finding& finding) {
    Shape shape{.kind = std::string(name_of(finding.kind)), .line = finding.line, .fields = {}};
    for (const interpreter::Difference& one : finding.differences)
        shape.fields.insert(one.field);
    return shape;
}

// Text in double quotes: findings hold quotes, colons and brackets.
std::string quoted(std::string_view text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        result += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
    return result + '"';
}

struct Entry {
    std::set<std::string> runs; // without rounds
    std::string sentence;       // of the first finding
};

// The runs of each case that were judged.
std::map<std::string, std::set<std::string>, std::less<>>
judged_runs(std::span<const CaseResult> results) {
    std::map<std::string, std::set<std::string>, std::less<>> runs;
    for (const CaseResult& one : results) {
        if (one.verdict == Verdict::Skip || one.verdict == Verdict::Error) continue;
        const std::string id = without_round(one.id);
        runs[std::string(parse_run_name(id).of)].insert(id);
    }
    return runs;
}

std::string entry_text(const std::string& name, const Shape& shape, const Entry& entry,
                       const std::string& firmware) {
    std::string text = fmt::format("  - case: {}\n", quoted(name));
    text += fmt::format("    reason: {}\n", quoted("TO DO: why? Seen: " + entry.sentence));
    text += fmt::format("    kind: {}\n", shape.kind);
    if (shape.line != 0) text += fmt::format("    line: {}\n", shape.line);
    if (!shape.fields.empty()) {
        std::vector<std::string> fields;
        for (const std::string& field : shape.fields)
            fields.push_back(quoted(field));
        text += fmt::format("    field: [{}]\n", fmt::join(fields, ", "));
    }
    if (firmware.find_first_of("0123456789") != std::string::npos)
        text += fmt::format("    firmware: {}\n", quoted(firmware));
    return text;
}

} // namespace

std::size_t unexplained(std::span<const CaseResult> results) {
    return static_cast<std::size_t>(std::ranges::count_if(results, wrong));
}

std::string profile_draft(const dut::Welcome& device, std::span<const CaseResult> results) {
    const std::string name = device.device + (device.driver ? " (" + *device.driver + ")" : "");
    std::string text =
        fmt::format("# A draft of what a run of veriroce found. Every 'TO DO' wants a reason: what "
                    "the device does wrong,\n# or why it may. Lawful behaviour is a trait, not a "
                    "deviation.\nprofile: {}\n",
                    quoted(name));
    if (device.driver) text += fmt::format("drivers: [{}]\n", quoted(*device.driver));
    text += fmt::format("\n# Its agent reports: {}.\n# lacks: []\n# traits: []\n# counters: {{}}\n",
                        fmt::join(device.capabilities, " "));

    std::map<std::pair<std::string, Shape>, Entry> entries; // by case
    for (const CaseResult& result : results) {
        if (!wrong(result)) continue;
        const std::string id = without_round(result.id);
        for (const Finding& finding : result.findings) {
            if (!excusable(finding.kind)) continue;
            Entry& entry = entries[{std::string(parse_run_name(id).of), shape_of(finding)}];
            if (entry.runs.empty()) entry.sentence = sentence(finding);
            entry.runs.insert(id);
        }
    }
    if (entries.empty()) return text;
    text += "\ndeviations:\n";
    const auto judged = judged_runs(results);
    for (const auto& [key, entry] : entries) {
        const auto& [of, shape] = key;
        if (const auto all = judged.find(of); all != judged.end() && all->second == entry.runs) {
            text += entry_text(of, shape, entry, device.firmware);
            continue;
        }
        for (const std::string& run : entry.runs)
            text += entry_text(run, shape, entry, device.firmware);
    }
    return text;
}

} // namespace veriroce::plan
