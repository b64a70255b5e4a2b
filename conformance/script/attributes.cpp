#include <algorithm>
#include <array>

#include "conformance/script/expression.hpp"
#include "conformance/script/field_value.hpp"
#include "conformance/script/options.hpp"
#include "conformance/script/side_line.hpp"
#include "conformance/script/word_list.hpp"

namespace veriroce::script {
namespace {

constexpr std::array<std::int64_t, 5> kMtus{256, 512, 1024, 2048, 4096};

Expr bounded(Cursor& cursor, const Scope& scope, std::int64_t high, std::string_view what) {
    Expr value = parse_number(cursor, scope);
    check_between(cursor, value, 0, high, what);
    return value;
}

Expr parse_mtu(Cursor& cursor, const Scope& scope) {
    Expr value = parse_number(cursor, scope);
    const auto number = constant_of(value);
    if (number && std::ranges::find(kMtus, *number) == kMtus.end()) {
        cursor.fail(value.span,
                    "mtu must be 256, 512, 1024, 2048 or 4096, got " + std::to_string(*number));
    }
    return value;
}

Expr parse_ip(Cursor& cursor, const Scope& scope) {
    Expr value = parse_number(cursor, scope);
    const auto number = constant_of(value);
    if (number && *number != 4 && *number != 6) {
        cursor.fail(value.span, "ip must be 4 or 6, got " + std::to_string(*number));
    }
    return value;
}

struct Vlan {
    Expr id;
    std::optional<Expr> priority;
};

// ID.PRIORITY is one token, a number with a fraction.
Vlan parse_vlan(Cursor& cursor, const Scope& scope, const AttributeRow& row) {
    const std::size_t dot = cursor.peek().text.find('.');
    if (cursor.peek().kind != Token::Kind::Number || dot == std::string::npos) {
        return {.id = bounded(cursor, scope, row.largest, row.name), .priority = {}};
    }
    const Token& token = cursor.next();
    const std::string_view digits = std::string_view(token.text).substr(dot + 1);
    if (digits.size() != 1 || digits.front() > '7') {
        cursor.fail(token.span, "the VLAN priority must be 0 to 7: vlan=77.3");
    }
    const Expr id{.number = token.number, .span = token.span};
    check_between(cursor, id, 0, row.largest, row.name);
    return {.id = id, .priority = Expr{.number = digits.front() - '0', .span = token.span}};
}

using AttributeValue = decltype(Attribute::value);

AttributeValue parse_value(Cursor& cursor, const Scope& scope, const AttributeRow& row) {
    switch (row.kind) {
    case AttributeKind::Number: return bounded(cursor, scope, row.largest, row.name);
    case AttributeKind::Bit: return bounded(cursor, scope, 1, row.name);
    case AttributeKind::Vlan: return parse_vlan(cursor, scope, row).id;
    case AttributeKind::Mtu: return parse_mtu(cursor, scope);
    case AttributeKind::Ip: return parse_ip(cursor, scope);
    case AttributeKind::Psn: return bounded(cursor, scope, wire::kMask24, row.name);
    case AttributeKind::Type: return enum_of<wire::QpType>(cursor, "QP type");
    case AttributeKind::State: return enum_of<wire::QpState>(cursor, "QP state");
    case AttributeKind::Access: return access_of(cursor);
    case AttributeKind::Mig: return enum_of<wire::MigState>(cursor, "migration state");
    case AttributeKind::Address: {
        const Address address = parse_address(cursor, scope);
        return Word{address.name, address.span};
    }
    // Lines of the body create these; body.cpp checks that at its end.
    case AttributeKind::Cq: return cursor.word("a completion queue");
    case AttributeKind::Srq: return cursor.word("a shared receive queue");
    }
    return Expr{};
}

// What a QP has from RESET to RTS. The PSNs have options of their own.
bool is_of_connection(const AttributeRow& row) {
    constexpr std::array<std::string_view, 4> others{"psn", "state", "path_mig_state",
                                                     "en_sqd_async_notify"};
    return std::ranges::find(others, row.name) == others.end();
}

} // namespace

std::vector<Attribute> parse_attributes(Cursor& cursor, const Scope& scope, AttributeLine line,
                                        std::initializer_list<Option> others) {
    std::vector<Attribute> parsed;
    std::vector<Option> options(others);
    for (const AttributeRow& row : attributes()) {
        if (line != AttributeLine::Qp && !row.modify) continue;
        if (line == AttributeLine::Reconnect && !is_of_connection(row)) continue;
        options.push_back({row.name, Option::Form::Equals, false, [&] {
                               const SourceSpan span = cursor.peek().span;
                               const auto take = [&](std::string_view name, AttributeValue value) {
                                   parsed.push_back({.name = std::string(name),
                                                     .value = std::move(value),
                                                     .span = cursor.since(span)});
                               };
                               if (row.kind != AttributeKind::Vlan) {
                                   take(row.name, parse_value(cursor, scope, row));
                                   return;
                               }
                               const Vlan vlan = parse_vlan(cursor, scope, row);
                               take(row.name, vlan.id);
                               if (vlan.priority) take("vlan.pcp", *vlan.priority);
                           }});
    }
    constexpr std::array<std::string_view, 3> names{"qp", "modify", "dut reconnect"};
    parse_option_list(cursor, names[static_cast<std::size_t>(line)], options);
    return parsed;
}

} // namespace veriroce::script
