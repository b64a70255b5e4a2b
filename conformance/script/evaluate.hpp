// What an expression is worth at the moment when its line is executed.
//
// Errors: which operand could not be worked out, and why. Arithmetic that leaves 64 bits is an
// error, never a wrapped number.
// Source: README.md of this folder, "Expressions".
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "conformance/script/ast.hpp"

namespace veriroce::script {

// What only the run knows. The caller resolves a name in the light of the field it is written for:
// `a` is a region's address in va=, its key in rkey=; `dut` is a QPN in destqp=.
struct Lookup {
    std::function<std::optional<std::int64_t>(std::string_view)> name;
    // A field of the packet at hand (psn relative, rkey as it is); empty outside of `<` lines.
    std::function<std::optional<std::int64_t>(const FieldName&)> field;
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
// A sentence: "nothing is called 'lst' here".
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
