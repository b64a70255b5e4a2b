// Parses expressions, ranges, times and pieces of regions, and checks their units: a time needs a
// unit and does not combine with plain numbers and sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "conformance/script/names.hpp"

namespace veriroce::script {

// Which names an expression may use besides numbers and counters.
enum class NameUse : std::uint8_t {
    Plain,
    Addresses, // regions: their start addresses
    Keys,      // regions and windows: their keys
    Qpns,      // QPs, dut, tester, unused
};

struct ExprContext {
    const Scope* scope = nullptr;
    NameUse use = NameUse::Plain;
    bool packet_fields = false; // in a `<` line: a field's name stands for its value
    bool time = false;          // expects a time, else a number
    bool blanks = false;        // extends to the end of the line (`let`)
};

Expr parse_expr(Cursor& cursor, const ExprContext& context);
// A value, or a..b, a.., ..b.
std::variant<Expr, ValueRange> parse_range(Cursor& cursor, const ExprContext& context);
Expr parse_time(Cursor& cursor, const Scope& scope, bool packet_fields = false);
Expr parse_number(Cursor& cursor, const Scope& scope);
// R, R[off +len], R[off], R[+len]
RegionSlice parse_slice(Cursor& cursor, const Scope& scope);
// N, A..B
IdRange parse_ids(Cursor& cursor, const Scope& scope);

// Time if the expression is a time, Size if it is written in KiB or MiB.
Unit unit_of(const Expr& expr);

// The value of an expression without names that only the run knows.
std::optional<std::int64_t> constant_of(const Expr& expr);
// Fails the line if a constant is outside low..high; the run checks other expressions.
void check_between(Cursor& cursor, const Expr& expr, std::int64_t low, std::int64_t high,
                   std::string_view what);
// Parses a constant and checks its range; fails the line if the expression is not constant.
std::int64_t parse_constant(Cursor& cursor, const Scope& scope, std::int64_t low, std::int64_t high,
                            std::string_view what);

} // namespace veriroce::script
