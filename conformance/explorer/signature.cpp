#include "conformance/explorer/signature.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace veriroce::explorer {
namespace {

using interpreter::CaseResult;
using interpreter::Difference;
using interpreter::Finding;
using interpreter::FindingKind;
using interpreter::Verdict;
using interpreter::Violation;

constexpr std::size_t kTellingWords = 4; // of a sentence: what follows are values

// The first words that hold no figure.
std::string words_of(const std::string& text) {
    std::istringstream stream(text);
    std::string result;
    std::size_t words = 0;
    for (std::string word; words < kTellingWords && stream >> word; ++words) {
        const bool figure = std::ranges::any_of(word, [](char c) { return c >= '0' && c <= '9'; });
        result += figure ? " #" : " " + word;
    }
    return result;
}

// "b < RDMA_READ_RESPONSE_LAST psn=4" is RDMA_READ_RESPONSE.
std::string kind_of(const std::string& packet) {
    std::istringstream stream(packet);
    std::string word;
    while (stream >> word && (word.empty() || word.front() < 'A' || word.front() > 'Z')) {
    }
    constexpr std::array<std::string_view, 5> places{"_FIRST", "_MIDDLE", "_LAST", "_ONLY",
                                                     "_WITH_IMM"};
    for (const std::string_view place : places) {
        const std::size_t at = word.find(place);
        if (at != std::string::npos) word.erase(at);
    }
    return word;
}

std::string kind_of_packet(const CaseResult& result, std::size_t packet) {
    return packet < result.packets.size() ? kind_of(result.packets[packet].script) : "";
}

std::string_view word_of(rules::FindingClass of_class) {
    switch (of_class) {
    case rules::FindingClass::Contradiction: return "contradiction";
    case rules::FindingClass::Absence: return "absence";
    case rules::FindingClass::Surplus: return "surplus";
    }
    return "";
}

std::string signature_of(const CaseResult& result, const Violation& violation) {
    return fmt::format(
        "{} {}{} {}", word_of(violation.of_class), violation.rule, words_of(violation.measured),
        violation.packets.empty() ? "" : kind_of_packet(result, violation.packets.front()));
}

std::string signature_of(const CaseResult& result, const Finding& finding) {
    std::vector<std::string> fields;
    for (const Difference& one : finding.differences)
        fields.push_back(one.field);
    return fmt::format("{} {} {}{} {}", name_of(finding.kind), finding.subject,
                       fmt::join(fields, ","), words_of(finding.expected),
                       finding.packet ? kind_of_packet(result, *finding.packet) : "");
}

} // namespace

std::vector<std::string> signatures_of(const CaseResult& result) {
    return new_signatures_of(result, {});
}

std::vector<std::string> new_signatures_of(const CaseResult& result,
                                           std::span<const plan::KnownFailure> known) {
    if (result.verdict != Verdict::Fail && result.verdict != Verdict::Warn) return {};
    std::vector<std::string> signatures;
    const auto add = [&](std::string one) {
        if (std::ranges::find(signatures, one) == signatures.end())
            signatures.push_back(std::move(one));
    };
    const bool warns = result.verdict == Verdict::Warn;
    for (const Violation& one : result.violations) {
        const bool must = one.level == rules::Level::Must;
        if (one.certain && one.level != rules::Level::Info && (must || warns) &&
            !is_known(known, one))
            add(signature_of(result, one));
    }
    for (const Finding& one : result.findings) {
        if (one.kind != FindingKind::Violation && !is_known(known, one))
            add(signature_of(result, one));
    }
    return signatures;
}

} // namespace veriroce::explorer
