#include "conformance/script/expression.hpp"

#include "conformance/script/evaluate.hpp"
#include "conformance/script/words.hpp"

namespace veriroce::script {
namespace {

SourceSpan joined(const SourceSpan& first, const SourceSpan& last) {
    return {first.line, first.column, last.column + last.length - first.column};
}

// Lines have at most 100 columns, which bounds the depth of the recursion.
class ExprParser {
  public:
    ExprParser(Cursor& cursor, const ExprContext& context) : cursor_(cursor), context_(context) {}

    Expr sum() {
        Expr left = product();
        while (here("+") || here("-")) {
            // Take the operator first: the evaluation order of arguments is not fixed.
            const bool plus = cursor_.next().is("+");
            Expr right = product();
            left = binary(plus ? Expr::Kind::Add : Expr::Kind::Subtract, std::move(left),
                          std::move(right));
        }
        return left;
    }

  private:
    Expr product() {
        Expr left = factor();
        while (here("*") || here("/")) {
            const bool times = cursor_.next().is("*");
            Expr right = factor();
            left = binary(times ? Expr::Kind::Multiply : Expr::Kind::Divide, std::move(left),
                          std::move(right));
        }
        return left;
    }

    Expr factor() {
        if (!cursor_.peek().is("-")) return power();
        const SourceSpan sign = cursor_.next().span;
        Expr operand = factor();
        Expr result{.kind = Expr::Kind::Negate, .span = joined(sign, operand.span)};
        result.operands.push_back(std::move(operand));
        return result;
    }

    Expr power() {
        Expr left = atom();
        if (!here("^")) return left;
        cursor_.next();
        Expr right = factor();
        return binary(Expr::Kind::Power, std::move(left), std::move(right));
    }

    Expr atom() {
        const Token& token = cursor_.peek();
        if (token.kind == Token::Kind::Number) return number();
        if (token.kind == Token::Kind::Name) return name();
        if (token.is("(")) return parenthesis();
        cursor_.fail_here(context_.time ? "expected a time, for example 10ms"
                                        : "expected a number or a name");
        return {};
    }

    Expr number() {
        const Token& token = cursor_.next();
        if (!token.whole) cursor_.fail(token.span, "expected a whole number");
        return {.kind = Expr::Kind::Number,
                .number = token.number,
                .unit = token.unit,
                .span = token.span};
    }

    Expr parenthesis() {
        const SourceSpan open = cursor_.next().span;
        ++depth_;
        Expr inner = sum();
        --depth_;
        const SourceSpan close = cursor_.peek().span;
        cursor_.expect(")", "to close the parenthesis");
        inner.span = joined(open, close);
        return inner;
    }

    Expr name() {
        const Token& token = cursor_.next();
        if (cursor_.joined("(")) return call(token);
        Expr result{.kind = Expr::Kind::Name, .name = token.text, .span = token.span};
        if (const Name* known = context_.scope->find(token.text)) {
            return known_name(token, *known, std::move(result));
        }
        if (const auto field = readable_field(token.text)) {
            if (!context_.packet_fields) {
                cursor_.fail(token.span,
                             "'" + token.text + "' is a field; only a '<' line knows its value");
            }
            result.kind = Expr::Kind::Field;
            result.field = *field;
            return result;
        }
        const bool qpn = token.text == "dut" || token.text == "tester" || token.text == "unused";
        if (qpn && context_.use == NameUse::Qpns) return result;
        unknown(token);
        return result;
    }

    Expr known_name(const Token& token, const Name& known, Expr result) {
        switch (known.kind) {
        case NameKind::Number:
            if (known.constant) {
                result.kind = Expr::Kind::Number;
                result.number = known.constant->value;
                result.unit = known.constant->unit;
            }
            return result;
        case NameKind::Counter: return result;
        case NameKind::Text:
            cursor_.fail(token.span, "'" + token.text + "' is a word; write {" + token.text + "}");
            return result;
        case NameKind::Region:
        case NameKind::Window:
            if (context_.use == NameUse::Addresses || context_.use == NameUse::Keys) return result;
            break;
        case NameKind::Qp:
            if (context_.use == NameUse::Qpns) return result;
            break;
        case NameKind::Cq: // its real depth, which only the run knows
            if (context_.use == NameUse::Plain && !context_.time) return result;
            break;
        case NameKind::Address:
        case NameKind::Srq:
        case NameKind::Packet: break;
        }
        cursor_.fail(token.span, "'" + token.text + "' is " + std::string(text_of(known.kind)) +
                                     ", which is not allowed here");
        return result;
    }

    void unknown(const Token& token) {
        std::vector<std::string_view> names = context_.scope->all();
        if (context_.packet_fields) {
            for (const std::string_view field : field_names())
                names.push_back(field);
        }
        if (context_.use == NameUse::Qpns) names.insert(names.end(), {"dut", "tester", "unused"});
        cursor_.fail(token.span,
                     "unknown name '" + token.text + "'" + suggestion(token.text, names));
    }

    Expr call(const Token& token) {
        static constexpr std::array<std::string_view, 2> functions{"rnr", "timeout"};
        if (!contains(functions, token.text)) {
            cursor_.fail(token.span,
                         "unknown function '" + token.text + "'; expected rnr(code) or timeout(n)");
            return {};
        }
        Expr operand = parenthesis();
        Expr result{.kind = token.text == "rnr" ? Expr::Kind::Rnr : Expr::Kind::Timeout,
                    .span = joined(token.span, operand.span)};
        result.operands.push_back(std::move(operand));
        return result;
    }

    static Expr binary(Expr::Kind kind, Expr left, Expr right) {
        Expr result{.kind = kind, .span = joined(left.span, right.span)};
        result.operands.push_back(std::move(left));
        result.operands.push_back(std::move(right));
        return result;
    }

    // The next operator, if it belongs to this expression: outside of parentheses a blank ends it.
    [[nodiscard]] bool here(std::string_view symbol) const {
        if (!cursor_.peek().is(symbol)) return false;
        return depth_ > 0 || context_.blanks || !cursor_.peek().blank_before;
    }

    Cursor& cursor_;
    const ExprContext& context_;
    int depth_ = 0;
};

// Sizes and plain numbers combine; zero fits every dimension.
enum class Dimension : std::uint8_t { Any, Number, Time };

class UnitCheck {
  public:
    explicit UnitCheck(Cursor& cursor) : cursor_(cursor) {}

    Dimension of(const Expr& expr) {
        switch (expr.kind) {
        case Expr::Kind::Number:
            if (expr.unit == Unit::Time) return Dimension::Time;
            if (expr.unit == Unit::Size) return Dimension::Number;
            return expr.number == 0 ? Dimension::Any : Dimension::Number;
        case Expr::Kind::Name: return Dimension::Any;
        case Expr::Kind::Field: return Dimension::Number;
        case Expr::Kind::Rnr:
        case Expr::Kind::Timeout: plain(expr.operands[0]); return Dimension::Time;
        case Expr::Kind::Negate: return of(expr.operands[0]);
        case Expr::Kind::Add:
        case Expr::Kind::Subtract: return same(expr);
        case Expr::Kind::Multiply: return product(expr);
        case Expr::Kind::Divide: return quotient(expr);
        case Expr::Kind::Power:
            plain(expr.operands[0]);
            plain(expr.operands[1]);
            return Dimension::Number;
        }
        return Dimension::Any;
    }

  private:
    void plain(const Expr& expr) {
        if (of(expr) == Dimension::Time) cursor_.fail(expr.span, "expected a number, got a time");
    }
    Dimension same(const Expr& expr) {
        const Dimension left = of(expr.operands[0]);
        const Dimension right = of(expr.operands[1]);
        if (left == Dimension::Any) return right;
        if (right == Dimension::Any || left == right) return left;
        cursor_.fail(expr.span, "cannot add or subtract a time and a number; give both a unit");
        return left;
    }
    Dimension product(const Expr& expr) {
        const Dimension left = of(expr.operands[0]);
        const Dimension right = of(expr.operands[1]);
        if (left == Dimension::Time && right == Dimension::Time) {
            cursor_.fail(expr.span, "cannot multiply two times");
        }
        if (left == Dimension::Time || right == Dimension::Time) return Dimension::Time;
        return left == Dimension::Any ? right : left;
    }
    Dimension quotient(const Expr& expr) {
        const Dimension left = of(expr.operands[0]);
        const Dimension right = of(expr.operands[1]);
        if (right != Dimension::Time) return left;
        if (left == Dimension::Number) cursor_.fail(expr.span, "cannot divide a number by a time");
        return Dimension::Number;
    }

    Cursor& cursor_;
};

void check_units(Cursor& cursor, const Expr& expr, bool time) {
    if (cursor.failed()) return;
    const Dimension found = UnitCheck(cursor).of(expr);
    if (time && found == Dimension::Number) {
        cursor.fail(expr.span, "a time needs a unit: ns, us, ms or s");
    }
    if (!time && found == Dimension::Time) {
        cursor.fail(expr.span, "expected a number, got a time");
    }
}

// rnr(40), 1/0 and results beyond 64 bits are wrong in every run.
void check_value(Cursor& cursor, const Expr& expr) {
    if (cursor.failed()) return;
    const auto value = evaluate(expr, {});
    if (!value && value.error().kind != EvalErrorKind::UnknownName &&
        value.error().kind != EvalErrorKind::FieldNotInPacket) {
        cursor.fail(value.error().span, text_of(value.error()));
    }
}

} // namespace

Expr parse_expr(Cursor& cursor, const ExprContext& context) {
    Expr expr = ExprParser(cursor, context).sum();
    // A `let` may be a time or a number.
    if (context.blanks) {
        if (!cursor.failed()) UnitCheck(cursor).of(expr);
    } else {
        check_units(cursor, expr, context.time);
    }
    check_value(cursor, expr);
    return expr;
}

std::variant<Expr, ValueRange> parse_range(Cursor& cursor, const ExprContext& context) {
    ValueRange range;
    range.span = cursor.peek().span;
    if (!cursor.accept("..")) {
        Expr low = parse_expr(cursor, context);
        if (!cursor.accept_joined("..")) return low;
        range.span.length = low.span.length + 2;
        range.low = std::move(low);
        if (cursor.at_end() || cursor.peek().blank_before) return range;
    }
    range.high = parse_expr(cursor, context);
    range.span = joined(range.span, range.high->span);
    if (cursor.failed() || !range.low) return range;
    const auto low = constant_of(*range.low);
    const auto high = constant_of(*range.high);
    if (low && high && *low > *high) cursor.fail(range.span, "the range is empty");
    return range;
}

Expr parse_time(Cursor& cursor, const Scope& scope, bool packet_fields) {
    Expr time = parse_expr(cursor, {.scope = &scope, .packet_fields = packet_fields, .time = true});
    if (const auto value = constant_of(time); value && *value < 0) {
        cursor.fail(time.span, "a time cannot be negative");
    }
    return time;
}

Expr parse_number(Cursor& cursor, const Scope& scope) {
    return parse_expr(cursor, {.scope = &scope});
}

RegionSlice parse_slice(Cursor& cursor, const Scope& scope) {
    RegionSlice slice;
    const Word region = scope.use(cursor, NameKind::Region);
    slice.region = region.text;
    slice.span = region.span;
    // `expect a [0 +64]` has a blank, `local=a[0 +64]` has none.
    if (!cursor.accept("[")) return slice;
    if (!cursor.peek().is("+")) slice.offset = parse_number(cursor, scope);
    if (cursor.accept("+")) slice.length = parse_number(cursor, scope);
    const SourceSpan close = cursor.peek().span;
    cursor.expect("]", "after the piece of a region: [offset +length]");
    slice.span = joined(slice.span, close);
    return slice;
}

IdRange parse_ids(Cursor& cursor, const Scope& scope) {
    const auto parsed = parse_range(cursor, {.scope = &scope});
    if (const auto* one = std::get_if<Expr>(&parsed)) return {*one, *one};
    const auto& range = std::get<ValueRange>(parsed);
    if (!range.low || !range.high) {
        cursor.fail(range.span, "expected a range of ids with two ends: id=1..8");
        return {};
    }
    return {*range.low, *range.high};
}

Unit unit_of(const Expr& expr) {
    if (expr.kind == Expr::Kind::Number) return expr.unit;
    if (expr.kind == Expr::Kind::Rnr || expr.kind == Expr::Kind::Timeout) return Unit::Time;
    if (expr.operands.empty() || expr.kind == Expr::Kind::Power) return Unit::None;
    const Unit first = unit_of(expr.operands.front());
    const Unit last = unit_of(expr.operands.back());
    const bool ratio = expr.kind == Expr::Kind::Divide && first == last;
    if (ratio) return Unit::None;
    return first == Unit::None ? last : first;
}

std::optional<std::int64_t> constant_of(const Expr& expr) {
    const auto value = evaluate(expr, {});
    if (!value) return std::nullopt;
    return *value;
}

void check_between(Cursor& cursor, const Expr& expr, std::int64_t low, std::int64_t high,
                   std::string_view what) {
    const auto value = constant_of(expr);
    if (!value || (low <= *value && *value <= high)) return;
    cursor.fail(expr.span, std::string(what) + " must be " + std::to_string(low) + " to " +
                               std::to_string(high) + ", got " + std::to_string(*value));
}

std::int64_t parse_constant(Cursor& cursor, const Scope& scope, std::int64_t low, std::int64_t high,
                            std::string_view what) {
    const Expr expr = parse_number(cursor, scope);
    check_between(cursor, expr, low, high, what);
    const auto value = constant_of(expr);
    if (!value) cursor.fail(expr.span, std::string(what) + " must be known before the run");
    return value.value_or(low);
}

} // namespace veriroce::script
