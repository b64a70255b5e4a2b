#include "conformance/script/field_value.hpp"

#include <algorithm>
#include <limits>

#include "conformance/script/expression.hpp"
#include "conformance/script/words.hpp"

namespace veriroce::script {
namespace {

using wire::Field;

constexpr std::int64_t kLargestMessage = std::int64_t{1} << 31;
constexpr std::int64_t kLargestCode = 31;

bool names_something(const Expr& expr) {
    if (expr.kind == Expr::Kind::Name || expr.kind == Expr::Kind::Field) return true;
    return std::ranges::any_of(expr.operands, names_something);
}

// Fields whose values are usually names; a plain number there is probably a mistake.
std::optional<NameUse> named_field(const FieldName& field) {
    const auto* wire_field = std::get_if<Field>(&field);
    if (wire_field == nullptr) return std::nullopt;
    if (*wire_field == Field::Va) return NameUse::Addresses;
    if (*wire_field == Field::Rkey || *wire_field == Field::Ikey) return NameUse::Keys;
    if (*wire_field == Field::DestQp || *wire_field == Field::SourceQp) return NameUse::Qpns;
    return std::nullopt;
}

void check_fits(Cursor& cursor, const FieldName& field, const Expr& expr) {
    const std::string_view name = name_of(field);
    if (const auto* special = std::get_if<SpecialField>(&field)) {
        switch (*special) {
        case SpecialField::Length: return check_between(cursor, expr, 0, kLargestMessage, name);
        case SpecialField::Credits:
        case SpecialField::Timer:
        case SpecialField::Code: return check_between(cursor, expr, 0, kLargestCode, name);
        case SpecialField::Icrc: return check_between(cursor, expr, 0, 0xFFFF'FFFF, name);
        case SpecialField::UdpChecksum: return check_between(cursor, expr, 0, 0xFFFF, name);
        case SpecialField::Data:
        case SpecialField::PadBytes:
        case SpecialField::IpOptions: return;
        }
    }
    if (const auto* mad = std::get_if<MadField>(&field)) {
        if (mad->bits <= 62)
            check_between(cursor, expr, 0, (std::int64_t{1} << mad->bits) - 1, name);
        return;
    }
    const auto wire_field = std::get<Field>(field);
    const std::uint16_t bits = wire::field_info(wire_field).primary.bits;
    // A PSN is relative to the first one; it may be negative and may wrap.
    if (wire_field == Field::Psn || bits > 62) return;
    check_between(cursor, expr, 0, (std::int64_t{1} << bits) - 1, name);
}

Value number_value(Cursor& cursor, const Scope& scope, const FieldName& field, bool match) {
    const auto use = named_field(field);
    const ExprContext context{
        .scope = &scope, .use = use.value_or(NameUse::Plain), .packet_fields = match};
    const bool absolute = cursor.peek().is("abs") && cursor.peek(1).is(":");
    if (absolute) {
        const Token& token = cursor.next();
        cursor.next();
        if (!use && field != FieldName{Field::Psn}) {
            cursor.fail(token.span,
                        std::string(name_of(field)) + " is a plain number and takes no abs:");
        }
        Expr value = parse_expr(cursor, {.scope = &scope, .packet_fields = match});
        check_fits(cursor, field, value);
        return Absolute{std::move(value)};
    }
    if (match) {
        auto parsed = parse_range(cursor, context);
        if (auto* range = std::get_if<ValueRange>(&parsed)) return std::move(*range);
        check_fits(cursor, field, std::get<Expr>(parsed));
        return std::get<Expr>(std::move(parsed));
    }
    Expr value = parse_expr(cursor, context);
    if (use && !cursor.failed() && !names_something(value)) {
        cursor.fail(value.span, "expected a name, or abs:N for a number");
    }
    check_fits(cursor, field, value);
    return value;
}

template <typename Kind>
std::optional<Value> kind_value(Cursor& cursor, std::span<const Kind> kinds,
                                std::string_view what) {
    if (cursor.peek().kind != Token::Kind::Name) return std::nullopt;
    const std::string& text = cursor.peek().text;
    for (const Kind kind : kinds) {
        if (wire::name_of(kind) != text) continue;
        cursor.next();
        return Value{kind};
    }
    std::vector<std::string_view> names;
    for (const Kind kind : kinds)
        names.push_back(wire::name_of(kind));
    // A lower-case name may stand for a number; an upper-case word is an enumerator.
    const auto near = wire::nearest_word(text, names);
    if (near && text.size() > 1) {
        cursor.fail_here("unknown " + std::string(what) + " '" + text + "'; did you mean '" +
                         std::string(*near) + "'?");
    }
    return std::nullopt;
}

Value code_value(Cursor& cursor, const Scope& scope, const FieldName& field, bool match) {
    static constexpr std::array codes{wire::NakCode::PsnSequence, wire::NakCode::InvalidRequest,
                                      wire::NakCode::RemoteAccess, wire::NakCode::RemoteOperational,
                                      wire::NakCode::InvalidRdRequest};
    if (cursor.peek().kind == Token::Kind::Name && scope.find(cursor.peek().text) == nullptr) {
        if (auto value = kind_value<wire::NakCode>(cursor, codes, "NAK code")) return *value;
    }
    return number_value(cursor, scope, field, match);
}

Value icrc_value(Cursor& cursor, const Scope& scope, const FieldName& field, bool match) {
    static constexpr std::array kinds{wire::IcrcKind::Good, wire::IcrcKind::Bad,
                                      wire::IcrcKind::Swapped, wire::IcrcKind::Zero,
                                      wire::IcrcKind::Unmasked};
    if (cursor.peek().kind == Token::Kind::Name && scope.find(cursor.peek().text) == nullptr) {
        if (auto value = kind_value<wire::IcrcKind>(cursor, kinds, "ICRC kind")) return *value;
    }
    return number_value(cursor, scope, field, match);
}

Value udp_checksum_value(Cursor& cursor, const Scope& scope, const FieldName& field, bool match) {
    if (cursor.accept("good")) return wire::UdpChecksumKind::Good;
    if (cursor.accept("bad")) return wire::UdpChecksumKind::Bad;
    Value value = number_value(cursor, scope, field, match);
    const auto* number = std::get_if<Expr>(&value);
    if (number != nullptr && constant_of(*number) == 0) return wire::UdpChecksumKind::Zero;
    return value;
}

Value bytes_value(Cursor& cursor) {
    const Token& token = cursor.next();
    if (token.kind != Token::Kind::Hex) cursor.fail(token.span, "expected bytes: hex\"...\"");
    return HexBytes{token.bytes, token.span};
}

Value special_value(Cursor& cursor, const Scope& scope, SpecialField field, bool match) {
    switch (field) {
    case SpecialField::Code: return code_value(cursor, scope, field, match);
    case SpecialField::Icrc: return icrc_value(cursor, scope, field, match);
    case SpecialField::UdpChecksum: return udp_checksum_value(cursor, scope, field, match);
    case SpecialField::Data:
        if (cursor.peek().kind == Token::Kind::Hex) return bytes_value(cursor);
        return parse_slice(cursor, scope);
    case SpecialField::PadBytes: return bytes_value(cursor);
    case SpecialField::IpOptions: {
        const SourceSpan span = cursor.peek().span;
        Value value = bytes_value(cursor);
        const auto& bytes = std::get<HexBytes>(value).bytes;
        if (bytes.size() % 4 != 0 || bytes.size() > 40) {
            cursor.fail(span, "IP options must be a multiple of 4 bytes long, at most 40");
        }
        return value;
    }
    case SpecialField::Length:
    case SpecialField::Credits:
    case SpecialField::Timer: break;
    }
    return number_value(cursor, scope, field, match);
}

// A number; bytes, if there are more than 64 bits; of a GID an address as well.
Value mad_value(Cursor& cursor, const Scope& scope, const MadField& field, bool match) {
    constexpr std::uint16_t gid_bits = 128;
    if (field.bits <= 64) return number_value(cursor, scope, field, match);
    if (field.bits == gid_bits && cursor.peek().kind != Token::Kind::Hex)
        return parse_address(cursor, scope);
    const SourceSpan span = cursor.peek().span;
    Value value = bytes_value(cursor);
    const auto* hex = std::get_if<HexBytes>(&value);
    if (hex != nullptr && hex->bytes.size() * 8 > field.bits) {
        cursor.fail(span,
                    std::string(field.name) + " has " + std::to_string(field.bits / 8) + " bytes");
    }
    return value;
}

} // namespace

bool is_flag(const FieldName& field) {
    static constexpr std::array flags{Field::AckReq, Field::SolicitedEvent, Field::MigReq,
                                      Field::Fecn, Field::Becn};
    const auto* wire_field = std::get_if<Field>(&field);
    return wire_field != nullptr && std::ranges::find(flags, *wire_field) != flags.end();
}

Address parse_address(Cursor& cursor, const Scope& scope) {
    const Word word = cursor.word("an address: tester, dut, a 'tester address' or a 'dut address'");
    Address address{word.text, 0, word.span};
    if (cursor.failed()) return address;
    if (word.text != "tester" && word.text != "dut" && !scope.has(word.text, NameKind::Address)) {
        auto names = scope.of_kind(NameKind::Address);
        names.insert(names.end(), {"tester", "dut"});
        cursor.fail(word.span,
                    "unknown address '" + word.text + "'" + suggestion(word.text, names));
    }
    if (cursor.joined("+") || cursor.joined("-")) {
        const bool minus = cursor.next().is("-");
        const std::int64_t offset =
            parse_constant(cursor, scope, 0, 0xFFFF, "the offset of an address");
        address.offset = minus ? -offset : offset;
    }
    return address;
}

Key parse_key(Cursor& cursor, const Scope& scope) {
    Value value = number_value(cursor, scope, Field::Rkey, false);
    if (auto* absolute = std::get_if<Absolute>(&value)) return std::move(*absolute);
    return std::get<Expr>(std::move(value));
}

Value parse_field_value(Cursor& cursor, const Scope& scope, const FieldName& field, bool match) {
    if (const auto* special = std::get_if<SpecialField>(&field)) {
        return special_value(cursor, scope, *special, match);
    }
    if (const auto* mad = std::get_if<MadField>(&field))
        return mad_value(cursor, scope, *mad, match);
    const auto wire_field = std::get<Field>(field);
    if (wire::field_info(wire_field).kind == wire::FieldKind::Number) {
        return number_value(cursor, scope, field, match);
    }
    return parse_address(cursor, scope);
}

} // namespace veriroce::script
