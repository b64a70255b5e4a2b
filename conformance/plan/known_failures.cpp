#include "conformance/plan/known_failures.hpp"

#include <algorithm>
#include <sstream>

#include "conformance/plan/own_case.hpp"
#include "conformance/plan/run_name.hpp"
#include "conformance/script/script.hpp"

namespace veriroce::plan {
namespace {

using interpreter::Finding;
using interpreter::FindingKind;
using interpreter::Violation;

template <typename Range, typename Value>
bool contains(const Range& range, const Value& value) {
    return std::ranges::find(range, value) != std::ranges::end(range);
}

// Rules and lines of the entry's case, if it is one of the program's own.
void take_case(const Deviation& entry, KnownFailure& known) {
    const auto* file = own_case(parse_run_name(entry.case_id).of);
    if (!file) return;
    const auto script = script::compile(file->path, file->text);
    if (!script) return;
    for (const script::Word& rule : script->test_case.rules)
        known.rules.push_back(rule.text);
    for (const std::uint32_t line : entry.lines) {
        const auto text = script->test_case.line_text({.line = line, .column = 1, .length = 1});
        known.subjects.push_back(subject_of_line(text));
    }
}

// These say nothing of what the packets and the memory show.
bool is_of_lines_only(FindingKind kind) {
    return kind == FindingKind::Late || kind == FindingKind::Refused ||
           kind == FindingKind::Unanswering;
}

} // namespace

bool holds(const Deviation& entry, const ProfileScope& scope) {
    const bool expired = !entry.until.empty() && scope.today > entry.until;
    const bool firmware = !entry.firmware || entry.firmware->contains(scope.firmware);
    const bool kernel = !entry.kernel || (scope.kernel && entry.kernel->contains(*scope.kernel));
    return !expired && firmware && kernel;
}

std::vector<KnownFailure> known_failures(const Profile& profile, const ProfileScope& scope) {
    std::vector<KnownFailure> all;
    for (const Deviation& entry : profile.deviations) {
        if (!entry.kind || !holds(entry, scope)) continue;
        KnownFailure known{
            .kind = *entry.kind, .rules = {}, .subjects = {}, .fields = entry.fields};
        if (!entry.rule.empty()) known.rules.push_back(entry.rule);
        if (!entry.case_id.empty()) take_case(entry, known);
        all.push_back(std::move(known));
    }
    return all;
}

bool is_known(std::span<const KnownFailure> known, const Violation& violation) {
    return std::ranges::any_of(known, [&](const KnownFailure& one) {
        return !is_of_lines_only(one.kind) && contains(one.rules, violation.rule);
    });
}

bool is_known(std::span<const KnownFailure> known, const Finding& finding) {
    const std::string subject = subject_of_line(finding.expected);
    return std::ranges::any_of(known, [&](const KnownFailure& one) {
        const bool same_fields =
            one.fields.empty() ||
            (!finding.differences.empty() &&
             std::ranges::all_of(finding.differences, [&](const interpreter::Difference& of) {
                 return contains(one.fields, of.field);
             }));
        const bool same_rule = std::ranges::any_of(
            finding.rules, [&](const std::string& rule) { return contains(one.rules, rule); });
        return one.kind == finding.kind && same_fields &&
               (same_rule || contains(one.subjects, subject));
    });
}

std::string subject_of_line(std::string_view line) {
    std::istringstream words{std::string(line)};
    std::string subject;
    for (std::string word; words >> word;) {
        const bool value = word.find_first_of("=[0123456789") != std::string::npos;
        const bool telling = word.starts_with("code=") || word.starts_with("status=");
        if ((value && !telling) || (word.size() == 1 && word != "<" && word != ">")) continue;
        if (word == "id" || word == "within") break;
        subject += (subject.empty() ? "" : " ") + word;
    }
    return subject;
}

} // namespace veriroce::plan
