#include "conformance/interpreter/finding.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace veriroce::interpreter {

using rules::FindingClass;

namespace {

std::string joined(std::span<const Difference> differences) {
    std::string text;
    for (const Difference& one : differences) {
        if (!text.empty()) text += "; ";
        text += text_of(one);
    }
    return text;
}

std::string unexpected(const Finding& finding) {
    if (finding.subject.empty()) return {};
    if (finding.line == 0) {
        return fmt::format("unexpected {}: no line expects it", finding.subject);
    }
    return fmt::format("unexpected {}: line {} allows none{}", finding.subject, finding.line,
                       finding.time ? " for " + short_time(*finding.time) : "");
}

std::string violation(const Finding& finding) {
    std::string text = fmt::format("the packets violate {}", fmt::join(finding.rules, " "));
    for (const Difference& one : finding.differences)
        text += fmt::format(": {}; {}", one.actual, one.expected);
    return text;
}

// Fields of a packet that do not depend on which packets came before it, and that a switch cannot
// change without a wrong ICRC. Of all others a lost packet can be the reason: the device then
// answers another packet, says less, asks again, or is asked for other data.
constexpr std::array<std::string_view, 3> kUnaffected{"tver", "resv7", "pkey"};
// A wrong address alone proves as much. With another field that differs, the packet may be the copy
// of a datagram to another peer.
constexpr std::array<std::string_view, 2> kOfPeer{"ip.src", "ip.dst"};

bool unaffected(const Difference& difference) {
    return std::ranges::find(kUnaffected, difference.field) != kUnaffected.end();
}

bool of_peer(const Difference& difference) {
    return std::ranges::find(kOfPeer, difference.field) != kOfPeer.end();
}

bool is_damaged(const Difference& difference) {
    return difference.field == "icrc";
}

// The differing fields as a sentence, without time and detail.
std::string head(const Finding& finding) {
    switch (finding.kind) {
    case FindingKind::Missing:
        if (!finding.differences.empty() || finding.subject.empty()) break;
        return fmt::format("expected {}, got nothing", finding.subject);
    case FindingKind::Unexpected:
        if (finding.differences.empty()) return unexpected(finding);
        break;
    case FindingKind::Refused:
        if (finding.subject.empty()) break;
        return fmt::format("the DUT refused {}", finding.subject);
    case FindingKind::Violation: return violation(finding);
    case FindingKind::Unanswering:
        return "after this case, the DUT does not answer a SEND on a new QP";
    case FindingKind::KnownDeviation: return "known deviation";
    case FindingKind::DeviationAbsent: return "the known deviation did not show";
    case FindingKind::Mismatch:
    case FindingKind::Late:
    case FindingKind::Discouraged:
    case FindingKind::Unsupported:
    case FindingKind::Unplayable:
    case FindingKind::NotRepeatable:
    case FindingKind::Noisy:
    case FindingKind::Environment:
    case FindingKind::Interrupted:
    case FindingKind::Internal: break;
    }
    return joined(finding.differences);
}

// The words that connect a finding with the next one.
std::string_view link(FindingKind before) {
    switch (before) {
    case FindingKind::KnownDeviation: return "; here: ";
    case FindingKind::NotRepeatable: return "; there: ";
    case FindingKind::Unanswering:
    case FindingKind::Environment: return "; before that: ";
    case FindingKind::Missing:
    case FindingKind::Unexpected:
    case FindingKind::Mismatch:
    case FindingKind::Late:
    case FindingKind::Refused:
    case FindingKind::Violation:
    case FindingKind::Discouraged:
    case FindingKind::DeviationAbsent:
    case FindingKind::Unsupported:
    case FindingKind::Unplayable:
    case FindingKind::Noisy:
    case FindingKind::Interrupted:
    case FindingKind::Internal: return "; and ";
    }
    return "; and ";
}

} // namespace

rules::FindingClass class_of(const Finding& finding) {
    if (finding.known_class) return *finding.known_class;
    switch (finding.kind) {
    // The exchange after the case was repeated often enough already.
    case FindingKind::Unanswering: return FindingClass::Contradiction;
    case FindingKind::Unexpected:
    case FindingKind::Discouraged: return FindingClass::Surplus;
    case FindingKind::Missing:
    case FindingKind::Mismatch: {
        const std::vector<Difference>& all = finding.differences;
        const bool wrong = std::ranges::any_of(all, unaffected) ||
                           (!all.empty() && std::ranges::all_of(all, of_peer));
        const bool proven = finding.packet && wrong && std::ranges::none_of(all, is_damaged);
        return proven ? FindingClass::Contradiction : FindingClass::Absence;
    }
    case FindingKind::Late:
    case FindingKind::Refused:
    case FindingKind::Violation:
    case FindingKind::KnownDeviation:
    case FindingKind::DeviationAbsent:
    case FindingKind::Unsupported:
    case FindingKind::NotRepeatable:
    case FindingKind::Unplayable:
    case FindingKind::Noisy:
    case FindingKind::Environment:
    case FindingKind::Interrupted:
    case FindingKind::Internal: return FindingClass::Absence;
    }
    return FindingClass::Absence;
}

std::string signature_of(const Finding& finding) {
    std::vector<std::string> fields;
    for (const Difference& one : finding.differences) {
        // A device that goes wrong does so at one packet, a wire at any.
        fields.push_back(one.field == "psn" ? text_of(one) : one.field);
    }
    std::ranges::sort(fields);
    return fmt::format("{} line {} {} [{}] {}", name_of(finding.kind), finding.line,
                       finding.subject, fmt::join(fields, " "), fmt::join(finding.rules, " "));
}

std::string_view name_of(FindingKind kind) {
    switch (kind) {
    case FindingKind::Missing: return "missing";
    case FindingKind::Unexpected: return "unexpected";
    case FindingKind::Mismatch: return "mismatch";
    case FindingKind::Late: return "late";
    case FindingKind::Refused: return "refused";
    case FindingKind::Violation: return "violation";
    case FindingKind::Discouraged: return "discouraged";
    case FindingKind::Unanswering: return "unanswering";
    case FindingKind::KnownDeviation: return "known-deviation";
    case FindingKind::DeviationAbsent: return "deviation-absent";
    case FindingKind::Unsupported: return "unsupported";
    case FindingKind::NotRepeatable: return "not-repeatable";
    case FindingKind::Unplayable: return "unplayable";
    case FindingKind::Noisy: return "noisy";
    case FindingKind::Environment: return "environment";
    case FindingKind::Interrupted: return "interrupted";
    case FindingKind::Internal: return "internal";
    }
    return "internal";
}

std::string text_of(const Difference& difference) {
    const std::string values =
        fmt::format("expected {}, got {}", difference.expected, difference.actual);
    return difference.field == "packet" ? values : fmt::format("{}: {}", difference.field, values);
}

std::string sentence(const Finding& finding) {
    std::string text = head(finding);
    if (finding.kind == FindingKind::Missing && finding.time) {
        text += fmt::format(" (waited {})", short_time(*finding.time));
    }
    if (finding.detail.empty()) return text;
    if (text.empty()) return finding.detail;
    return fmt::format("{}: {}", text, finding.detail);
}

std::string summary(std::span<const Finding> findings) {
    const bool lines_met = std::ranges::all_of(
        findings, [](const Finding& one) { return one.kind == FindingKind::Violation; });
    std::string text = findings.empty() || !lines_met ? "" : "every line passed, but ";
    for (std::size_t i = 0; i < findings.size(); ++i) {
        if (i > 0) {
            text += link(findings[i - 1].kind);
            if (findings[i].line != 0 && findings[i].line != findings[i - 1].line) {
                text += fmt::format("line {}: ", findings[i].line);
            }
        }
        text += sentence(findings[i]);
    }
    return text;
}

} // namespace veriroce::interpreter
