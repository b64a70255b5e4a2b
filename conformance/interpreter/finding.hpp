// Why a case did not pass, as data: a line that was not met, a rule that the packets violate, or
// what kept the tester from judging. `sentence` and `summary` are the only places that make prose
// of it; nothing reads that prose back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/rules/finding_class.hpp"
#include "dissector/wire/duration_text.hpp"

namespace veriroce::interpreter {

// One value that differs, both sides in script notation.
struct Difference {
    std::string field;    // as scripts name it: "psn"; "packet" for the kind of packet
    std::string expected; // "2", "1..3", "not 4"
    std::string actual;   // "1"; "absent" where the packet has no such field

    friend bool operator==(const Difference&, const Difference&) = default;
};

enum class FindingKind : std::uint8_t {
    // FAIL, WARN and INFO.
    Missing,     // what the line waits for did not come
    Unexpected,  // something came that no line allows
    Mismatch,    // it came, with other values
    Late,        // it came outside of the time that the line gives it
    Refused,     // the DUT refused a verb
    Violation,   // the packets violate a rule, whatever the lines say
    Discouraged, // lawful but unwise: `detail` is the script's `warn`
    Unanswering, // after the case the DUT does not answer an exchange on a fresh QP
    // XFAIL and XPASS.
    KnownDeviation,  // the profile knows that the DUT deviates: `detail` is its reason
    DeviationAbsent, // the profile says so, but the case passed
    // SKIP.
    Unsupported, // the DUT or the link cannot do what the case needs
    // ERROR: it says nothing about the DUT.
    NotRepeatable, // not in enough plays of the case: the wire may have lost packets
    Unplayable,    // the tester cannot carry out a line, or a fault rule never fired
    Noisy,         // times are too uncertain, or our own packet left too late, to judge
    Environment,   // the link, the agent or the capture failed
    Interrupted,   // a signal ended the case
    Internal,      // a mistake in veriroce
};
inline constexpr std::size_t kFindingKinds = 17;
std::string_view name_of(FindingKind kind); // "missing", "known-deviation"

struct Finding {
    FindingKind kind = FindingKind::Internal;
    std::uint32_t line = 0; // of the script; 0 where no line is to blame
    // Every value that differs, not only the first. Of a Violation one: the rule's id, what it
    // allows, and what was measured.
    std::vector<Difference> differences;
    std::optional<std::size_t> packet; // that came, by its place in CaseResult::packets
    std::vector<std::string> rules;    // that it breaks; empty: those of the case
    std::string subject;               // what is missing, unexpected or refused: "NAK", "event"
    std::string expected;              // the line, as the script writes it
    std::string actual;                // the packet or completion that came, in script notation
    std::optional<wire::Duration> time = {}; // how long the line waited, or allows nothing
    std::string detail;                      // what no field can say; "" where they say it all
    // Set where the one who found it knows; `class_of` decides the others.
    std::optional<rules::FindingClass> known_class = {};

    friend bool operator==(const Finding&, const Finding&) = default;
};

// Whether a packet that was lost, late, repeated or overtaken could explain the finding. The one
// place that decides it from the finding's kind and fields.
rules::FindingClass class_of(const Finding& finding);
// Equal for findings that are the same in two plays of a case: the kind, the line, what is missing
// or unexpected, the fields that differ, and the rules, but neither times nor values, other than
// those of a PSN.
std::string signature_of(const Finding& finding);

// "msn: expected 2, got 1 (waited 1 s)". One line, without a full stop.
std::string sentence(const Finding& finding);
// All findings of a case in one line, the gravest first; empty if there is none.
std::string summary(std::span<const Finding> findings);

// The one rendering of a difference: "msn: expected 2, got 1"; "expected RNR_NAK, got NAK".
std::string text_of(const Difference& difference);
using wire::short_time; // "1 s", "10 ms", "1.5 us"

} // namespace veriroce::interpreter
