// What a profile's known deviations say beyond their own cases: whether a failure of a script that
// nobody wrote is one that is known.
//
// A deviation names a case and a line, and another script has neither. What is left is what was
// wrong: the rules of the case, and what the line is about ("NAK code=REMOTE_ACCESS").
// Errors: none. Source: conformance/profiles/README.md.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "conformance/interpreter/case_result.hpp"
#include "conformance/plan/profile.hpp"

namespace veriroce::plan {

// Whether the entry counts for this device on this day.
bool holds(const Deviation& entry, const ProfileScope& scope);

struct KnownFailure {
    interpreter::FindingKind kind = interpreter::FindingKind::Missing;
    std::vector<std::string> rules;    // of the entry, or of its case
    std::vector<std::string> subjects; // of its lines; any if empty
    std::vector<std::string> fields;   // all that differ are among these; any if empty
};

// Of the entries that hold for this device on this day, those that say a kind.
std::vector<KnownFailure> known_failures(const Profile& profile, const ProfileScope& scope);

// Whether one of them excuses it. A violation: its rule is named. Another finding: kind, subject
// and fields agree.
bool is_known(std::span<const KnownFailure> known, const interpreter::Violation& violation);
bool is_known(std::span<const KnownFailure> known, const interpreter::Finding& finding);

// What a line is about, without its QP and values: "< NAK code=REMOTE_ACCESS" of
// "b < NAK psn=1 code=REMOTE_ACCESS"; "dut done recv" of "dut done b recv id=1".
std::string subject_of_line(std::string_view line);

} // namespace veriroce::plan
