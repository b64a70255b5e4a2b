// What a line of the script comes to: a value, or the finding that ends the case.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "conformance/interpreter/case_result.hpp"
#include "conformance/script/ast.hpp"

namespace veriroce::interpreter {

using Span = script::SourceSpan;

// Why a line was not met. Fail becomes WARN or INFO at the end, as the level of the case says.
struct Unmet {
    Verdict verdict = Verdict::Fail;
    Finding finding;
    std::vector<Finding> before = {}; // what was found before this became an ERROR
    bool at_any_level = false;        // a FAIL, whatever the level of the case
};
template <typename T = void>
using Met = std::expected<T, Unmet>;

std::unexpected<Unmet> failed(Finding finding);
// The tester cannot carry out the line: an ERROR.
std::unexpected<Unmet> unplayable(Span span, std::string detail);
// Times are too uncertain to judge: an ERROR.
std::unexpected<Unmet> noisy(Span span, std::string detail);
// The DUT or the link cannot do what the case needs: a SKIP.
std::unexpected<Unmet> unsupported(Span span, std::string detail);

// It came, with other values. `actual` is all of it in script notation.
Finding mismatch(Span span, std::vector<Difference> differences, std::string actual = {});
// The line waited so long for `subject`.
Finding missing(Span span, std::string subject, wire::Duration waited);
// `subject` came, which no line allows.
Finding unexpected(Span span, std::string subject, std::string actual);

// The outcome is an ERROR, for `reason`: it says nothing about the DUT. What was found before stays
// in the message.
void become_error(Met<>& outcome, Finding reason);

} // namespace veriroce::interpreter
