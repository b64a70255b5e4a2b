#include "conformance/script/evaluate.hpp"

#include <limits>

#include "conformance/script/words.hpp"

namespace veriroce::script {
namespace {

using Evaluated = std::expected<std::int64_t, EvalError>;

Evaluated error(EvalErrorKind kind, const Expr& expr, std::string name = {}) {
    return std::unexpected(EvalError{kind, std::move(name), expr.span});
}

Evaluated power(const Expr& expr, std::int64_t base, std::int64_t exponent) {
    if (exponent < 0) return error(EvalErrorKind::BadCode, expr);
    // With exponents above 64 only powers of -1, 0 and 1 fit in 64 bits.
    if (exponent > 64 && base != 0 && base != 1 && base != -1) {
        return error(EvalErrorKind::Overflow, expr);
    }
    if (exponent > 64) exponent = 64 + exponent % 2;
    std::int64_t result = 1;
    for (std::int64_t i = 0; i < exponent; ++i) {
        if (__builtin_mul_overflow(result, base, &result)) {
            return error(EvalErrorKind::Overflow, expr);
        }
    }
    return result;
}

Evaluated time_of(const Expr& expr, std::int64_t code) {
    if (code < 0 || code > 31) return error(EvalErrorKind::BadCode, expr);
    const auto small = static_cast<std::uint8_t>(code);
    if (expr.kind == Expr::Kind::Rnr) return wire::rnr_time(small).count();
    const auto time = wire::ack_timeout(small);
    if (!time) return error(EvalErrorKind::BadCode, expr);
    return time->count();
}

Evaluated quotient(const Expr& expr, std::int64_t left, std::int64_t right) {
    if (right == 0) return error(EvalErrorKind::DivisionByZero, expr);
    if (right == -1 && left == std::numeric_limits<std::int64_t>::min()) {
        return error(EvalErrorKind::Overflow, expr);
    }
    return left / right;
}

Evaluated binary(const Expr& expr, std::int64_t left, std::int64_t right) {
    std::int64_t result = 0;
    bool overflow = false;
    switch (expr.kind) {
    case Expr::Kind::Add: overflow = __builtin_add_overflow(left, right, &result); break;
    case Expr::Kind::Subtract: overflow = __builtin_sub_overflow(left, right, &result); break;
    case Expr::Kind::Multiply: overflow = __builtin_mul_overflow(left, right, &result); break;
    case Expr::Kind::Divide: return quotient(expr, left, right);
    case Expr::Kind::Power: return power(expr, left, right);
    case Expr::Kind::Number:
    case Expr::Kind::Name:
    case Expr::Kind::Field:
    case Expr::Kind::Rnr:
    case Expr::Kind::Timeout:
    case Expr::Kind::Negate: break;
    }
    if (overflow) return error(EvalErrorKind::Overflow, expr);
    return result;
}

Evaluated leaf(const Expr& expr, const Lookup& lookup) {
    if (expr.kind == Expr::Kind::Number) return expr.number;
    if (expr.kind == Expr::Kind::Name) {
        const auto value = lookup.name ? lookup.name(expr.name) : std::nullopt;
        if (value) return *value;
        return error(EvalErrorKind::UnknownName, expr, expr.name);
    }
    const auto value = lookup.field ? lookup.field(expr.field) : std::nullopt;
    if (value) return *value;
    return error(EvalErrorKind::FieldNotInPacket, expr, std::string(name_of(expr.field)));
}

} // namespace

std::string text_of(const EvalError& error) {
    switch (error.kind) {
    case EvalErrorKind::UnknownName: return "unknown name '" + error.name + "'";
    case EvalErrorKind::FieldNotInPacket: return "the packet has no field '" + error.name + "'";
    case EvalErrorKind::DivisionByZero: return "division by zero";
    case EvalErrorKind::Overflow: return "the number does not fit in 64 bits";
    case EvalErrorKind::BadCode:
        return "out of range: rnr(code) takes 0 to 31, timeout(n) 1 to 31, and an exponent is not "
               "negative";
    }
    return "";
}

Evaluated evaluate(const Expr& expr, const Lookup& lookup) {
    if (expr.operands.empty()) return leaf(expr, lookup);
    const Evaluated first = evaluate(expr.operands[0], lookup);
    if (!first) return first;
    if (expr.kind == Expr::Kind::Rnr || expr.kind == Expr::Kind::Timeout) {
        const bool timeout = expr.kind == Expr::Kind::Timeout && *first > 0;
        const std::int64_t least = timeout ? lookup.least_timeout : 0;
        return time_of(expr, std::max(*first, least));
    }
    if (expr.kind == Expr::Kind::Negate) {
        if (*first == std::numeric_limits<std::int64_t>::min()) {
            return error(EvalErrorKind::Overflow, expr);
        }
        return -*first;
    }
    const Evaluated second = evaluate(expr.operands[1], lookup);
    if (!second) return second;
    return binary(expr, *first, *second);
}

std::expected<Bounds, EvalError> evaluate(const ValueRange& range, const Lookup& lookup) {
    Bounds bounds;
    if (range.low) {
        const Evaluated low = evaluate(*range.low, lookup);
        if (!low) return std::unexpected(low.error());
        bounds.low = *low;
    }
    if (range.high) {
        const Evaluated high = evaluate(*range.high, lookup);
        if (!high) return std::unexpected(high.error());
        bounds.high = *high;
    }
    return bounds;
}

} // namespace veriroce::script
