#include "reports/merge.hpp"

#include <algorithm>
#include <cassert>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "reports/case_rows.hpp"
#include "reports/saved_run.hpp"

namespace veriroce::reports {
namespace {

using interpreter::CaseResult;
using interpreter::OtherPlay;
using interpreter::Verdict;

constexpr std::size_t kDifferingTold = 20; // runs whose repetitions differ, by name in a note

// --- what the parts say of themselves ----------------------------------------------------------

// "the parts have different seeds: a says 1; b, c say 2"; empty if they agree.
template <typename TextOf>
std::string conflict(const std::vector<Part>& parts, std::string_view what, TextOf text_of) {
    std::vector<std::pair<std::string, std::vector<std::string>>> said;
    for (const Part& part : parts) {
        const std::string text = text_of(part.results);
        const auto known = std::ranges::find(said, text, &decltype(said)::value_type::first);
        if (known == said.end()) {
            said.push_back({text, {part.name}});
        } else {
            known->second.push_back(part.name);
        }
    }
    if (said.size() < 2) return {};
    std::vector<std::string> rows;
    for (const auto& [text, names] : said) {
        rows.push_back(fmt::format("{} {} {}", fmt::join(names, ", "),
                                   names.size() == 1 ? "says" : "say",
                                   text.empty() ? "nothing" : text));
    }
    return fmt::format("the merged runs have different {}: {}", what, fmt::join(rows, "; "));
}

std::vector<std::string> conflicts_of(const std::vector<Part>& parts) {
    std::vector<std::string> all;
    const auto add = [&](std::string_view what, auto text_of) {
        if (std::string text = conflict(parts, what, text_of); !text.empty())
            all.push_back(std::move(text));
    };
    add("devices", [](const plan::RunResults& one) { return one.run.dut; });
    add("capabilities", [](const plan::RunResults& one) {
        return fmt::format("{}", fmt::join(one.run.device.capabilities, " "));
    });
    add("device hosts", [](const plan::RunResults& one) { return one.run.dut_host; });
    add("links", [](const plan::RunResults& one) { return one.run.link; });
    add("profiles", [](const plan::RunResults& one) { return one.run.profile; });
    add("seeds", [](const plan::RunResults& one) { return std::to_string(one.run.seed); });
    return all;
}

void add_missing(std::vector<std::string>& all, const std::vector<std::string>& more) {
    for (const std::string& one : more) {
        if (std::ranges::find(all, one) == all.end()) all.push_back(one);
    }
}

void add_times(plan::Timing& all, const plan::Timing& more) {
    if (all.started.empty() || (!more.started.empty() && more.started < all.started))
        all.started = more.started;
    all.wall += more.wall;
    all.round_trip_p99 = std::max(all.round_trip_p99, more.round_trip_p99);
    all.sleep_p99 = std::max(all.sleep_p99, more.sleep_p99);
    all.settle = std::max(all.settle, more.settle);
    for (const plan::CaseTiming& one : more.cases) {
        const auto known = std::ranges::find(all.cases, one.id, &plan::CaseTiming::id);
        if (known == all.cases.end()) {
            all.cases.push_back(one);
        } else {
            known->wall += one.wall;
        }
    }
}

// --- the repetitions of one run ----------------------------------------------------------------

bool same_outcome(const CaseResult& one, const CaseResult& other) {
    return one.verdict == other.verdict && one.reason() == other.reason();
}

// In how many of its own plays a repetition showed what decided the kept one.
std::uint32_t seen_in(const CaseResult& one, const CaseResult& kept) {
    if (!same_outcome(one, kept)) return 0;
    return one.other_plays.empty() ? 1 : one.seen_in;
}

void add_counts(CaseResult& kept, const CaseResult& other) {
    for (const auto& [name, samples] : other.measures) {
        auto& all = kept.measures[name];
        all.insert(all.end(), samples.begin(), samples.end());
    }
    for (const interpreter::FaultCount& fault : other.faults) {
        const auto known =
            std::ranges::find(kept.faults, fault.rule, &interpreter::FaultCount::rule);
        if (known == kept.faults.end()) {
            kept.faults.push_back(fault);
        } else {
            known->fired += fault.fired;
        }
    }
    kept.tolerated_retransmissions += other.tolerated_retransmissions;
}

struct Repetition {
    std::size_t part = 0;
    CaseResult result;
};

// The gravest of them, with the others as its other plays.
Repetition joined(std::vector<Repetition> all) {
    if (all.size() == 1) return std::move(all.front());
    const auto gravest = std::ranges::max_element(
        all, {}, [](const Repetition& one) { return gravity(one.result.verdict); });
    std::rotate(all.begin(), gravest, std::next(gravest)); // the others keep their order
    Repetition& kept = all.front();
    std::uint32_t seen = 0;
    for (const Repetition& one : all)
        seen += seen_in(one.result, kept.result);
    kept.result.seen_in = kept.result.verdict == Verdict::Pass ? 0 : seen;
    for (Repetition& one : std::span(all).subspan(1)) {
        kept.result.other_plays.push_back({.verdict = one.result.verdict,
                                           .findings = std::move(one.result.findings),
                                           .packets = {},
                                           .capture = {}});
        std::ranges::move(one.result.other_plays, std::back_inserter(kept.result.other_plays));
        add_counts(kept.result, one.result);
    }
    return std::move(kept);
}

// "3 runs were played more than once"; which of them came to different verdicts.
std::vector<std::string> repetition_notes(const std::vector<CaseResult>& cases, std::size_t several,
                                          const std::vector<std::string>& differing) {
    std::vector<std::string> notes;
    if (several == 0) return notes;
    notes.push_back(fmt::format("{} of {} runs {} in several of the merged runs; each has the "
                                "gravest of its verdicts",
                                several, cases.size(), several == 1 ? "is" : "are"));
    if (differing.empty()) return notes;
    const std::size_t told = std::min(differing.size(), kDifferingTold);
    notes.push_back(fmt::format(
        "{} of them had different verdicts: {}{}", differing.size(),
        fmt::join(differing.begin(), differing.begin() + static_cast<std::ptrdiff_t>(told), ", "),
        told < differing.size() ? ", ..." : ""));
    return notes;
}

// The groups in the order in which the parts, one after another, have them.
std::map<std::string, std::size_t, std::less<>> group_places(const std::vector<Part>& parts) {
    std::map<std::string, std::size_t, std::less<>> places;
    for (const Part& part : parts) {
        for (const CaseResult& one : part.results.cases)
            places.try_emplace(std::string(group_of(one.id)), places.size());
    }
    return places;
}

void merge_cases(Merged& merged, std::vector<Part>& parts) {
    const auto places = group_places(parts);
    // One of each part in turn: so shards were made.
    std::map<std::string, std::size_t> place_of;
    std::vector<std::vector<Repetition>> runs;
    std::size_t longest = 0;
    for (const Part& part : parts)
        longest = std::max(longest, part.results.cases.size());
    for (std::size_t i = 0; i < longest; ++i) {
        for (std::size_t part = 0; part < parts.size(); ++part) {
            if (i >= parts[part].results.cases.size()) continue;
            CaseResult& result = parts[part].results.cases[i];
            const auto [place, added] = place_of.try_emplace(result.id, runs.size());
            if (added) runs.emplace_back();
            runs[place->second].push_back({part, std::move(result)});
        }
    }
    // A part can have other groups than another, such as a data sheet: they stay together.
    std::ranges::stable_sort(runs, {}, [&](const std::vector<Repetition>& run) {
        return places.find(group_of(run.front().result.id))->second;
    });
    std::size_t several = 0;
    std::vector<std::string> differing;
    for (std::vector<Repetition>& run : runs) {
        if (run.size() > 1) ++several;
        const Verdict first = run.front().result.verdict;
        if (std::ranges::any_of(
                run, [&](const Repetition& one) { return one.result.verdict != first; })) {
            differing.push_back(run.front().result.id);
        }
        Repetition one = joined(std::move(run));
        merged.results.cases.push_back(std::move(one.result));
        merged.from.push_back(one.part);
    }
    add_missing(merged.results.run.notes,
                repetition_notes(merged.results.cases, several, differing));
}

} // namespace

Merged merge(std::vector<Part> parts) {
    assert(!parts.empty());
    Merged merged;
    merged.conflicts = conflicts_of(parts);
    merged.results.run = parts.front().results.run;
    testbed::RunInfo& run = merged.results.run;
    std::vector<std::string> names;
    std::vector<std::string> notes;
    std::set<std::string> devices{run.dut};
    for (const Part& part : parts) {
        const testbed::RunInfo& one = part.results.run;
        names.push_back(part.name);
        run.complete = run.complete && one.complete;
        if (devices.insert(one.dut).second) run.dut += " | " + one.dut;
        add_missing(notes, one.notes);
        add_times(merged.results.timing, part.results.timing);
        merged.results.sheet.merge(part.results.sheet);
    }
    run.notes = {fmt::format("merged from {} runs: {}", parts.size(), fmt::join(names, ", "))};
    add_missing(run.notes, merged.conflicts);
    merge_cases(merged, parts);
    add_missing(run.notes, notes);
    return merged;
}

} // namespace veriroce::reports
