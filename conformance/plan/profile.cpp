#include "conformance/plan/profile.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "conformance/dut/capabilities.hpp"
#include "conformance/plan/known_failures.hpp"
#include "conformance/plan/run_name.hpp"

namespace veriroce::plan {

using interpreter::CaseResult;
using interpreter::Environment;
using interpreter::Finding;
using interpreter::FindingKind;
using interpreter::Verdict;
using interpreter::Violation;

namespace {

// The numbers of a version: "6.1.0-56-amd64" is 6, 1, 0, 56, 64.
std::vector<std::uint64_t> numbers_of(std::string_view version) {
    std::vector<std::uint64_t> numbers;
    while (!version.empty()) {
        const std::size_t digit = version.find_first_of("0123456789");
        if (digit == std::string_view::npos) break;
        version.remove_prefix(digit);
        std::uint64_t number = 0;
        const auto read = std::from_chars(version.data(), version.data() + version.size(), number);
        numbers.push_back(read.ec == std::errc{} ? number : ~std::uint64_t{0});
        version.remove_prefix(static_cast<std::size_t>(read.ptr - version.data()));
    }
    return numbers;
}

// As far as the bound is written: 6.1.192 lies in "..6.1".
bool at_most(std::string_view version, std::string_view bound) {
    auto numbers = numbers_of(version);
    const auto limit = numbers_of(bound);
    if (numbers.size() > limit.size()) numbers.resize(limit.size());
    return numbers <= limit;
}

void add_missing(std::vector<std::string>& words, const std::vector<std::string>& more) {
    for (const std::string& word : more) {
        if (std::ranges::find(words, word) == words.end()) words.push_back(word);
    }
}

bool cites(const Deviation& entry, const CaseResult& result) {
    return !entry.rule.empty() && std::ranges::find(result.rules, entry.rule) != result.rules.end();
}

bool breaks(const Deviation& entry, const CaseResult& result) {
    return std::ranges::any_of(result.violations, [&](const Violation& one) {
        return one.certain && !entry.rule.empty() && one.rule == entry.rule;
    });
}

bool covers(const Deviation& entry, const CaseResult& result) {
    return names_run(entry.case_id, result.id) || cites(entry, result);
}

bool excuses(const Deviation& entry, const Finding& finding) {
    if (!entry.kind) return true;
    if (finding.kind != *entry.kind) return false;
    if (!entry.lines.empty() && std::ranges::find(entry.lines, finding.line) == entry.lines.end()) {
        return false;
    }
    // An entry of a rule excuses no violation of another one.
    if (finding.kind == FindingKind::Violation && !entry.rule.empty() &&
        std::ranges::find(finding.rules, entry.rule) == finding.rules.end()) {
        return false;
    }
    if (entry.fields.empty()) return true;
    return !finding.differences.empty() &&
           std::ranges::all_of(finding.differences, [&](const interpreter::Difference& one) {
               return std::ranges::find(entry.fields, one.field) != entry.fields.end();
           });
}

std::string told(const Deviation& entry) {
    return entry.link.empty() ? entry.reason : fmt::format("{} ({})", entry.reason, entry.link);
}

// "missing, line 13, field psn".
std::string excused_by(const Deviation& entry) {
    if (!entry.kind) return "every finding";
    std::string text(name_of(*entry.kind));
    if (!entry.lines.empty()) text += fmt::format(", line {}", fmt::join(entry.lines, " or "));
    if (!entry.fields.empty()) text += fmt::format(", field {}", fmt::join(entry.fields, " or "));
    return text;
}

std::string_view subject_of(const Deviation& entry) {
    return entry.rule.empty() ? entry.case_id : entry.rule;
}

} // namespace

bool VersionRange::contains(std::string_view version) const {
    if (!last.empty() && !at_most(version, last)) return false;
    return first.empty() || numbers_of(first) <= numbers_of(version);
}

Environment Profile::applied(Environment environment) const {
    for (const std::string& word : capabilities)
        dut::add_capability(environment.dut, word);
    for (const std::string& word : lacks)
        dut::remove_capability(environment.dut, word);
    add_missing(environment.dut.traits, traits);
    environment.counters = counters;
    environment.ack_timer_floor = std::max(environment.ack_timer_floor, ack_timer_floor);
    return environment;
}

KnownDeviations::KnownDeviations(const Profile& profile, const ProfileScope& scope) {
    std::size_t other_kernels = 0;
    std::vector<std::uint32_t> broad;
    for (const Deviation& entry : profile.deviations) {
        if (holds(entry, scope)) {
            if (!entry.kind) broad.push_back(entry.line);
            entries_.push_back({.of = entry, .passes = {}});
        } else if (!entry.until.empty() && scope.today > entry.until) {
            notes_.push_back(
                fmt::format("the known deviation of {} expired on {} and no longer counts",
                            subject_of(entry), entry.until));
        } else if (entry.firmware && !entry.firmware->contains(scope.firmware)) {
            notes_.push_back(fmt::format("the known deviation of {} does not apply to firmware {}",
                                         subject_of(entry),
                                         scope.firmware.empty() ? "unknown" : scope.firmware));
        } else {
            ++other_kernels;
        }
    }
    if (other_kernels > 0) {
        notes_.push_back(
            scope.kernel ? fmt::format("{} entries of the profile are for other kernels than {}",
                                       other_kernels, *scope.kernel)
                         : fmt::format("{} entries of the profile do not count: they are for "
                                       "some kernels, and the agent reports none",
                                       other_kernels));
    }
    if (!broad.empty()) {
        notes_.push_back(fmt::format("the profile's entries on lines {} excuse every failure of "
                                     "their runs; 'kind', with 'line' or 'field', says which one",
                                     fmt::join(broad, ", ")));
    }
}

void KnownDeviations::will_play(std::string_view id, std::span<const std::string> rules) {
    CaseResult to_come;
    to_come.id = id;
    to_come.rules.assign(rules.begin(), rules.end());
    for (Entry& entry : entries_) {
        if (entry.of.sometimes && covers(entry.of, to_come)) {
            entry.passes.try_emplace(without_round(id), 0);
        }
    }
}

// Every finding must be excused: one that is not may be another defect.
void KnownDeviations::excuse(CaseResult& result, std::span<Entry* const> entries) {
    std::vector<const Entry*> used;
    for (const Finding& finding : result.findings) {
        const auto one = std::ranges::find_if(
            entries, [&](const Entry* entry) { return excuses(entry->of, finding); });
        if (one == entries.end()) {
            const Deviation& known = entries.front()->of;
            result.findings.push_back(
                {.kind = FindingKind::KnownDeviation,
                 .detail = fmt::format("{}; but line {} of the profile excuses only: {}",
                                       told(known), known.line, excused_by(known))});
            return;
        }
        if (std::ranges::find(used, *one) == used.end()) used.push_back(*one);
    }
    if (used.empty()) used.push_back(entries.front());
    result.verdict = Verdict::Xfail;
    std::vector<Finding> findings;
    for (const Entry* entry : used) {
        findings.push_back({.kind = FindingKind::KnownDeviation, .detail = told(entry->of)});
    }
    result.findings.insert(result.findings.begin(), findings.begin(), findings.end());
}

// Whether this was the last pass that the entry needed: all of its runs have passed so often.
bool KnownDeviations::row_passed(Entry& entry, const CaseResult& result) {
    const auto run = entry.passes.find(without_round(result.id));
    if (run == entry.passes.end() || entry.shown) return false;
    ++run->second;
    const bool all = std::ranges::all_of(
        entry.passes, [](const auto& one) { return one.second >= kPassesOfARow; });
    return all && run->second == kPassesOfARow;
}

void KnownDeviations::miss(CaseResult& result, std::span<Entry* const> entries) {
    for (Entry* entry : entries) {
        const bool row = entry->of.sometimes && row_passed(*entry, result);
        if (entry->of.sometimes && !row) continue;
        result.verdict = Verdict::Xpass;
        const std::string rounds = row ? fmt::format("; its {} runs passed {} times each",
                                                     entry->passes.size(), kPassesOfARow)
                                       : "";
        result.findings.assign(
            1, Finding{.kind = FindingKind::DeviationAbsent,
                       .detail = fmt::format("{} (line {} of the profile{})", told(entry->of),
                                             entry->of.line, rounds)});
        return;
    }
}

void KnownDeviations::judge(CaseResult& result) {
    const bool wrong = result.verdict == Verdict::Fail || result.verdict == Verdict::Warn;
    std::vector<Entry*> entries;
    for (Entry& entry : entries_) {
        if (covers(entry.of, result) || (wrong && breaks(entry.of, result))) {
            entries.push_back(&entry);
        }
    }
    if (entries.empty()) return;
    if (wrong) {
        excuse(result, entries);
    } else if (result.verdict == Verdict::Pass) {
        return miss(result, entries);
    }
    for (Entry* entry : entries) {
        if (result.verdict == Verdict::Skip) {
            entry->passes.erase(without_round(result.id));
        } else if (entry->passes.contains(without_round(result.id))) {
            entry->shown = true;
        }
    }
}

} // namespace veriroce::plan
