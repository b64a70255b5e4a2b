// The value of an expression at the moment when its line is executed.
//
// Errors: which operand could not be evaluated, and why. A result that does not fit in 64 bits is
// an error, never a wrapped number. Source: README.md of this folder, "Expressions".
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "conformance/script/ast.hpp"

namespace veriroce::script {

// Values that only the run knows. The caller resolves a name according to the field it is written
// for: `a` is a region's address in va=, its key in rkey=; `dut` is a QPN in destqp=.
struct Lookup {
    std::function<std::optional<std::int64_t>(std::string_view)> name;
    // A field of the packet being matched (psn relative, rkey unchanged); empty outside of `<`
    // lines.
    std::function<std::optional<std::int64_t>(const FieldName&)> field;
    // timeout(n) of a smaller code is that of this one (TMO-05).
    std::uint8_t least_timeout = 0;
};

enum class EvalErrorKind : std::uint8_t {
    UnknownName,
    FieldNotInPacket,
    DivisionByZero,
    Overflow,
    BadCode, // rnr(32), timeout(0)
};

struct EvalError {
    EvalErrorKind kind = EvalErrorKind::UnknownName;
    std::string name; // of UnknownName and FieldNotInPacket
    SourceSpan span;
};
// A sentence: "unknown name 'lst'".
std::string text_of(const EvalError& error);

std::expected<std::int64_t, EvalError> evaluate(const Expr& expr, const Lookup& lookup);

struct Bounds {
    std::optional<std::int64_t> low;
    std::optional<std::int64_t> high;

    [[nodiscard]] bool has(std::int64_t value) const {
        return (!low || *low <= value) && (!high || value <= *high);
    }
};
std::expected<Bounds, EvalError> evaluate(const ValueRange& range, const Lookup& lookup);

} // namespace veriroce::script
