// Parses expressions, ranges, times and pieces of regions, and checks their units: a time has one,
// and does not mix with plain numbers and sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "conformance/script/names.hpp"

namespace veriroce::script {

// Which names mean something beside numbers and counters.
enum class NameUse : std::uint8_t {
    Plain,
    Addresses, // regions: where they begin
    Keys,      // regions and windows: their keys
    Qpns,      // QPs, dut, tester, unused
};

struct ExprContext {
    const Scope* scope = nullptr;
    NameUse use = NameUse::Plain;
    bool packet_fields = false; // in a `<` line: a field's name is its value
    bool time = false;          // a time is wanted, else a number
    bool blanks = false;        // goes to the end of the line (`let`)
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

// Time if the expression is one, Size if it is written in KiB or MiB.
Unit unit_of(const Expr& expr);

// The value of an expression without names that only the run knows.
std::optional<std::int64_t> constant_of(const Expr& expr);
// Fails the line unless a constant lies in low..high; other expressions are left to the run.
void check_between(Cursor& cursor, const Expr& expr, std::int64_t low, std::int64_t high,
                   std::string_view what);
// The same, and the expression has to be constant.
std::int64_t parse_constant(Cursor& cursor, const Scope& scope, std::int64_t low, std::int64_t high,
                            std::string_view what);

} // namespace veriroce::script
