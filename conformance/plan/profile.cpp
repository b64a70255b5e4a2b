#include "conformance/plan/profile.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

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

bool names_case(const Deviation& entry, std::string_view id) {
    if (entry.case_id.empty()) return false;
    return id == entry.case_id || id.substr(0, id.find('[')) == entry.case_id;
}

bool cites(const Deviation& entry, const CaseResult& result) {
    return !entry.rule.empty() && std::ranges::find(result.rules, entry.rule) != result.rules.end();
}

bool breaks(const Deviation& entry, const CaseResult& result) {
    return std::ranges::any_of(result.violations, [&](const Violation& one) {
        return one.certain && !entry.rule.empty() && one.rule == entry.rule;
    });
}

std::string told(const Deviation& entry) {
    return entry.link.empty() ? entry.reason : fmt::format("{} ({})", entry.reason, entry.link);
}

} // namespace

bool FirmwareRange::contains(std::string_view version) const {
    if (!last.empty() && !at_most(version, last)) return false;
    return first.empty() || numbers_of(first) <= numbers_of(version);
}

Environment Profile::applied(Environment environment) const {
    add_missing(environment.dut.capabilities, capabilities);
    std::erase_if(environment.dut.capabilities, [&](const std::string& word) {
        return std::ranges::find(lacks, word) != lacks.end();
    });
    add_missing(environment.dut.traits, traits);
    environment.counters = counters;
    return environment;
}

KnownDeviations::KnownDeviations(const Profile& profile, std::string_view firmware,
                                 std::string_view today) {
    for (const Deviation& entry : profile.deviations) {
        const std::string& of = entry.rule.empty() ? entry.case_id : entry.rule;
        if (!entry.until.empty() && today > entry.until) {
            notes_.push_back(fmt::format("the known deviation of {} ended on {} and counts no more",
                                         of, entry.until));
        } else if (entry.firmware && !entry.firmware->contains(firmware)) {
            notes_.push_back(fmt::format("the known deviation of {} is not of firmware {}", of,
                                         firmware.empty() ? "unknown" : firmware));
        } else {
            deviations_.push_back(entry);
        }
    }
}

void KnownDeviations::judge(CaseResult& result) const {
    const bool wrong = result.verdict == Verdict::Fail || result.verdict == Verdict::Warn;
    if (!wrong && result.verdict != Verdict::Pass) return;
    const auto entry = std::ranges::find_if(deviations_, [&](const Deviation& one) {
        return names_case(one, result.id) || cites(one, result) || (wrong && breaks(one, result));
    });
    if (entry == deviations_.end()) return;
    if (wrong) {
        result.verdict = Verdict::Xfail;
        result.findings.insert(result.findings.begin(), Finding{.kind = FindingKind::KnownDeviation,
                                                                .detail = told(*entry)});
    } else if (!entry->sometimes) {
        result.verdict = Verdict::Xpass;
        result.findings.assign(1, Finding{.kind = FindingKind::DeviationAbsent,
                                          .detail = fmt::format("{} (line {} of the profile)",
                                                                told(*entry), entry->line)});
    }
}

} // namespace veriroce::plan
