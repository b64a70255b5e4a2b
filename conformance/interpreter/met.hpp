// The outcome of a line of the script: a value, or the finding that ends the case.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "conformance/interpreter/case_result.hpp"
#include "conformance/script/ast.hpp"

namespace veriroce::interpreter {

using Span = script::SourceSpan;

// Why a line was not met. Fail becomes WARN or INFO at the end if the case has that level.
struct Unmet {
    Verdict verdict = Verdict::Fail;
    Finding finding;
    std::vector<Finding> before = {}; // findings from before the ERROR
    bool at_any_level = false;        // a FAIL, whatever the level of the case
};
template <typename T = void>
using Met = std::expected<T, Unmet>;

std::unexpected<Unmet> failed(Finding finding);
// No later line can be met, and no rule is broken: the dialogue ends here.
std::unexpected<Unmet> dialogue_ends();
// The tester cannot carry out the line: an ERROR.
std::unexpected<Unmet> unplayable(Span span, std::string detail);
// Times are too uncertain to judge: an ERROR.
std::unexpected<Unmet> noisy(Span span, std::string detail);
// The DUT or the link cannot do what the case needs: a SKIP.
std::unexpected<Unmet> unsupported(Span span, std::string detail);

// The expected thing came with other values. `actual` is the whole of it in script notation.
Finding mismatch(Span span, std::vector<Difference> differences, std::string actual = {});
// `subject` did not come while the line waited.
Finding missing(Span span, std::string subject, wire::Duration waited);
// `subject` came, but no line allows it.
Finding unexpected(Span span, std::string subject, std::string actual);

// Makes the outcome an ERROR because of `reason`: it says nothing about the DUT. Earlier findings
// stay in the message.
void become_error(Met<>& outcome, Finding reason);

} // namespace veriroce::interpreter
