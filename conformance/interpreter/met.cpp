#include "conformance/interpreter/met.hpp"

#include <utility>

namespace veriroce::interpreter {
namespace {

std::unexpected<Unmet> ended(Verdict verdict, FindingKind kind, Span span, std::string detail) {
    return std::unexpected(
        Unmet{verdict, Finding{.kind = kind, .line = span.line, .detail = std::move(detail)}});
}

} // namespace

std::unexpected<Unmet> failed(Finding finding) {
    return std::unexpected(Unmet{Verdict::Fail, std::move(finding)});
}

std::unexpected<Unmet> dialogue_ends() {
    return std::unexpected(Unmet{.verdict = Verdict::Pass, .finding = {}});
}

std::unexpected<Unmet> unplayable(Span span, std::string detail) {
    return ended(Verdict::Error, FindingKind::Unplayable, span, std::move(detail));
}

std::unexpected<Unmet> noisy(Span span, std::string detail) {
    return ended(Verdict::Error, FindingKind::Noisy, span, std::move(detail));
}

std::unexpected<Unmet> unsupported(Span span, std::string detail) {
    return ended(Verdict::Skip, FindingKind::Unsupported, span, std::move(detail));
}

Finding mismatch(Span span, std::vector<Difference> differences, std::string actual) {
    return {.kind = FindingKind::Mismatch,
            .line = span.line,
            .differences = std::move(differences),
            .actual = std::move(actual)};
}

Finding missing(Span span, std::string subject, wire::Duration waited) {
    return {.kind = FindingKind::Missing,
            .line = span.line,
            .subject = std::move(subject),
            .actual = "nothing",
            .time = waited};
}

Finding unexpected(Span span, std::string subject, std::string actual) {
    return {.kind = FindingKind::Unexpected,
            .line = span.line,
            .subject = std::move(subject),
            .actual = std::move(actual)};
}

void become_error(Met<>& outcome, Finding reason) {
    if (outcome) {
        outcome = std::unexpected(Unmet{Verdict::Error, std::move(reason)});
        return;
    }
    Unmet& unmet = outcome.error();
    unmet.before.insert(unmet.before.begin(), std::move(unmet.finding));
    unmet.verdict = Verdict::Error;
    unmet.finding = std::move(reason);
}

} // namespace veriroce::interpreter
