#include "conformance/script/packet_line.hpp"

#include <algorithm>
#include <vector>

#include "conformance/script/expression.hpp"
#include "conformance/script/field_value.hpp"
#include "conformance/script/mad_fields.hpp"
#include "conformance/script/options.hpp"
#include "conformance/script/words.hpp"

namespace veriroce::script {
namespace {

using wire::Field;

// `kind` may be null. Only a management datagram has fields of its own.
FieldName parse_field_name(Cursor& cursor, const Word& name, std::string_view also,
                           const PacketKind* kind) {
    if (const auto field = field_by_name(name.text)) return *field;
    auto candidates = field_names();
    if (const auto* message = kind == nullptr ? nullptr : std::get_if<Management>(kind)) {
        if (const auto field = mad_field(message->attribute, name.text)) return *field;
        const auto names = mad_field_names(message->attribute);
        candidates.insert(candidates.end(), names.begin(), names.end());
    }
    if (!also.empty()) candidates.push_back(also);
    cursor.fail(name.span, "unknown field '" + name.text + "'" + suggestion(name.text, candidates));
    return Field::Psn;
}

std::uint16_t bits_of(Field field) {
    const wire::FieldInfo& info = wire::field_info(field);
    return std::max(info.primary.bits, info.secondary ? info.secondary->bits : std::uint16_t{0});
}

} // namespace

FlipBit parse_flip(Cursor& cursor, const Scope& scope, std::string_view word,
                   const PacketKind* kind) {
    FlipBit flip{Field::Psn, {}};
    if (cursor.accept("@")) {
        Expr byte = parse_number(cursor, scope);
        check_between(cursor, byte, 0, 65'535, "a byte of the packet");
        flip.where = std::move(byte);
    } else {
        const Word name = cursor.word("a field or @BYTE");
        const FieldName field =
            cursor.failed() ? Field::Psn : parse_field_name(cursor, name, {}, kind);
        if (std::holds_alternative<SpecialField>(field)) {
            const auto plain = wire::field_by_name(name.text); // `udp.checksum` is both
            if (!plain) cursor.fail(name.span, "'" + name.text + "' has no bits to flip");
            flip.where = plain.value_or(Field::Psn);
        } else if (const auto* of_header = std::get_if<Field>(&field)) {
            flip.where = *of_header;
        } else {
            flip.where = std::get<MadField>(field);
        }
        if (cursor.failed()) return flip;
    }
    cursor.expect(":", "and the bit: " + std::string(word) + "=psn:0");
    flip.bit = parse_number(cursor, scope);
    const auto* field = std::get_if<Field>(&flip.where);
    const auto* of_mad = std::get_if<MadField>(&flip.where);
    const std::int64_t bits = field != nullptr    ? bits_of(*field)
                              : of_mad != nullptr ? of_mad->bits
                                                  : 8;
    check_between(cursor, flip.bit, 0, bits - 1, "the bit");
    const bool sum = field != nullptr && (*field == Field::IpChecksum || *field == Field::Icrc ||
                                          *field == Field::UdpChecksum);
    if (sum && word == "invert") {
        cursor.fail_here("'invert' makes all checksums right; 'flip' damages one");
    }
    return flip;
}

namespace {

// `after rnr(timer)`: the timer code of the RNR NAK that came last; no other field is kept.
bool only_timer(const Expr& expr) {
    const bool allowed =
        expr.kind != Expr::Kind::Field || expr.field == FieldName(SpecialField::Timer);
    return allowed && std::ranges::all_of(expr.operands, only_timer);
}

class SendLine {
  public:
    SendLine(Cursor& cursor, Scope& scope, wire::Service service)
        : cursor_(cursor), scope_(scope), service_(service) {}

    SendPacket parse(QpRef qp) {
        SendPacket packet;
        packet.qp = std::move(qp);
        packet.kind = parse_kind(cursor_, service_);
        while (!cursor_.at_end()) {
            const Word name = cursor_.word("a field");
            if (cursor_.failed()) break;
            if (cursor_.peek().is("=") || !clause(packet, name)) field(packet, name);
        }
        return packet;
    }

  private:
    bool clause(SendPacket& packet, const Word& name) {
        if (name.text == "as") {
            packet.as = cursor_.word("a name for the packet");
            scope_.define(cursor_, *packet.as, {.kind = NameKind::Packet});
            return true;
        }
        if (name.text == "after") {
            packet.after = parse_time(cursor_, scope_, true);
            if (!only_timer(*packet.after)) {
                cursor_.fail(packet.after->span,
                             "the only field that 'after' can name here is 'timer': rnr(timer)");
            }
            return true;
        }
        return false;
    }

    void field(SendPacket& packet, const Word& name) {
        const bool many = name.text == "flip" || name.text == "invert";
        if (!many && std::ranges::find(seen_, name.text) != seen_.end()) {
            return cursor_.fail(name.span, "'" + name.text + "' is written twice");
        }
        seen_.push_back(name.text);
        if (damage(packet, name)) return;
        FieldWrite write = parse_field_write(cursor_, scope_, name, &packet.kind);
        if (cursor_.failed()) return;
        const std::string wrong = misplaced(write.field, packet.kind, service_);
        if (!wrong.empty()) return cursor_.fail(name.span, wrong);
        packet.fields.push_back(std::move(write));
    }

    bool damage(SendPacket& packet, const Word& name) {
        const auto number = [&](std::optional<Expr>& target) {
            if (!take_equals(cursor_, name)) return;
            target = parse_number(cursor_, scope_);
            check_between(cursor_, *target, 0, 65'535, name.text);
        };
        if (name.text == "truncate") return number(packet.damage.truncate), true;
        if (name.text == "cut") return number(packet.damage.cut), true;
        if (name.text == "trailer") return number(packet.damage.trailer), true;
        if (name.text == "untagged") return packet.damage.untagged = true;
        if (name.text == "flip" || name.text == "invert") {
            auto& bits = name.text == "flip" ? packet.damage.flips : packet.damage.inverts;
            if (take_equals(cursor_, name))
                bits.push_back(parse_flip(cursor_, scope_, name.text, &packet.kind));
            return true;
        }
        if (name.text != "encap") return false;
        if (take_equals(cursor_, name)) cursor_.expect("rocev1", "as encap=rocev1");
        packet.rocev1 = true;
        return true;
    }

    Cursor& cursor_;
    Scope& scope_;
    wire::Service service_;
    std::vector<std::string> seen_;
};

class ExpectLine {
  public:
    ExpectLine(Cursor& cursor, Scope& scope, wire::Service service)
        : cursor_(cursor), scope_(scope), service_(service) {}

    ExpectPacket parse(QpRef qp) {
        static constexpr std::array<std::string_view, 5> clauses{"within", "after", "measure", "as",
                                                                 "exact"};
        ExpectPacket packet;
        packet.qp = std::move(qp);
        packet.kind = kind();
        packet.matches = parse_matches(cursor_, scope_, packet.kind, service_, clauses);
        using enum Option::Form;
        parse_options(
            cursor_, "<",
            {
                {"within", Clause, false, [&] { packet.within = parse_time(cursor_, scope_); }},
                {"after", Clause, false, [&] { packet.after = time_range(); }},
                {"measure", Clause, false, [&] { packet.measure = measure(); }},
                {"as", Clause, false, [&] { packet.as = new_name(); }},
                {"exact", Flag, false, [&] { packet.exact = true; }},
            });
        return packet;
    }

  private:
    PacketKind kind() {
        if (!cursor_.accept("=")) return parse_kind(cursor_, service_);
        const Word name = scope_.use(cursor_, NameKind::Packet);
        return SameAs{name.text};
    }

    Word new_name() {
        Word name = cursor_.word("a name for the packet");
        scope_.define(cursor_, name, {.kind = NameKind::Packet});
        return name;
    }

    ValueRange time_range() {
        const auto parsed = parse_range(cursor_, {.scope = &scope_, .time = true});
        if (const auto* range = std::get_if<ValueRange>(&parsed)) return *range;
        cursor_.fail(std::get<Expr>(parsed).span,
                     "expected a range of times: after 1ms.. or after 1ms..4ms");
        return {};
    }

    Measure measure() {
        Measure result;
        result.name = cursor_.word("a name for the measurement").text;
        if (!cursor_.accept_joined("[")) return result;
        result.index = parse_number(cursor_, scope_);
        cursor_.expect("]", "after the index");
        return result;
    }

    Cursor& cursor_;
    Scope& scope_;
    wire::Service service_;
};

SendFragment parse_fragment(Cursor& cursor, const Scope& scope) {
    SendFragment fragment;
    cursor.expect("of", "and the packet's name: FRAGMENT of NAME at=N len=N");
    fragment.of = scope.use(cursor, NameKind::Packet);
    using enum Option::Form;
    parse_options(cursor, "FRAGMENT",
                  {{"at", Equals, true, [&] { fragment.at = parse_number(cursor, scope); }},
                   {"len", Equals, true, [&] { fragment.length = parse_number(cursor, scope); }}});
    return fragment;
}

SendPfc parse_pfc(Cursor& cursor, const Scope& scope) {
    SendPfc pfc;
    const auto bounded = [&](Expr& target, std::int64_t high, std::string_view what) {
        target = parse_number(cursor, scope);
        check_between(cursor, target, 0, high, what);
    };
    using enum Option::Form;
    parse_options(cursor, "PFC",
                  {{"class", Equals, true, [&] { bounded(pfc.priority, 7, "a class"); }},
                   {"quanta", Equals, true, [&] { bounded(pfc.quanta, 65'535, "quanta"); }}});
    return pfc;
}

std::optional<Comparison> take_comparison(Cursor& cursor, const Word& name) {
    static constexpr std::array<std::pair<std::string_view, Comparison>, 4> comparisons{
        {{"=", Comparison::Equal},
         {"!=", Comparison::NotEqual},
         {"<=", Comparison::AtMost},
         {">=", Comparison::AtLeast}}};
    for (const auto& [symbol, comparison] : comparisons) {
        const bool value = cursor.peek(1).kind != Token::Kind::End;
        if (!cursor.peek().is(symbol) || !value) continue;
        const Token& token = cursor.next();
        if (token.blank_before || cursor.peek().blank_before) {
            cursor.fail(token.span, "no spaces are allowed around '" + token.text + "'");
        }
        return comparison;
    }
    cursor.fail(name.span, "'" + name.text + "' needs a value: " + name.text + "=...");
    return std::nullopt;
}

// A sum of bits has no order, nor has what is no number.
void check_comparison(Cursor& cursor, const Word& name, const FieldMatch& match) {
    const bool sum = match.field == FieldName(SpecialField::Icrc) ||
                     match.field == FieldName(SpecialField::UdpChecksum);
    const bool number =
        std::holds_alternative<Expr>(match.value) || std::holds_alternative<Absolute>(match.value);
    const bool range = std::holds_alternative<ValueRange>(match.value);
    if (match.comparison != Comparison::Equal && range && !sum) {
        cursor.fail(name.span, "a range can only be compared with '='");
    }
    const bool equality =
        match.comparison == Comparison::Equal || match.comparison == Comparison::NotEqual;
    if ((sum && range) || (!equality && (sum || !number))) {
        cursor.fail(name.span, "'" + name.text + "' has no order: compare one value with = or !=");
    }
}

} // namespace

QpRef take_qp(Cursor& cursor, const Scope& scope) {
    QpRef qp;
    qp.span = cursor.peek().span;
    if (cursor.peek().kind != Token::Kind::Name) return qp;
    if (!scope.has(cursor.peek().text, NameKind::Qp)) return qp;
    qp.name = cursor.next().text;
    if (cursor.accept_joined("[")) {
        qp.index = parse_number(cursor, scope);
        cursor.expect("]", "after the QP's number");
    }
    return qp;
}

QpRef take_qp_of_packet(Cursor& cursor, const Scope& scope) {
    QpRef qp = take_qp(cursor, scope);
    const bool arrow = cursor.peek().is(">") || cursor.peek().is("<");
    const Token& kind = arrow ? cursor.peek(1) : cursor.peek();
    if (qp.name.empty() && kind.text.starts_with("CM_")) qp.name = kGsiName;
    return qp;
}

wire::Service service_of(const Scope& scope, const QpRef& qp, wire::Service own) {
    const Name* name = scope.find(qp.name);
    return name != nullptr && name->service ? *name->service : own;
}

FieldWrite parse_field_write(Cursor& cursor, const Scope& scope, const Word& name,
                             const PacketKind* kind) {
    FieldWrite write{parse_field_name(cursor, name, "truncate", kind), Expr{}, name.span};
    if (cursor.failed()) return write;
    if (is_flag(write.field) && !cursor.peek().is("=")) {
        write.value = Expr{.number = 1, .span = name.span};
        return write;
    }
    if (!take_equals(cursor, name)) return write;
    write.value = parse_field_value(cursor, scope, write.field, false);
    write.span = cursor.since(name.span);
    return write;
}

std::vector<FieldMatch> parse_matches(Cursor& cursor, const Scope& scope, const PacketKind& kind,
                                      wire::Service service,
                                      std::span<const std::string_view> stop_words) {
    std::vector<FieldMatch> matches;
    while (!cursor.at_end() && !contains(stop_words, cursor.peek().text)) {
        const Word name = cursor.word("a field");
        if (cursor.failed()) break;
        FieldMatch match{.field = parse_field_name(cursor, name, "within", &kind), .value = Expr{}};
        if (cursor.failed()) break;
        if (is_flag(match.field) && (cursor.at_end() || cursor.peek().kind == Token::Kind::Name)) {
            match.value = Expr{.number = 1, .span = name.span};
        } else {
            const auto comparison = take_comparison(cursor, name);
            if (!comparison) break;
            match.comparison = *comparison;
            match.value = parse_field_value(cursor, scope, match.field, true);
        }
        match.span = cursor.since(name.span);
        check_comparison(cursor, name, match);
        if (cursor.failed()) break;
        if (!std::holds_alternative<SameAs>(kind)) {
            const std::string wrong = misplaced(match.field, kind, service);
            if (!wrong.empty()) cursor.fail(name.span, wrong);
        }
        matches.push_back(std::move(match));
    }
    return matches;
}

PacketNode parse_packet(Cursor& cursor, Scope& scope, QpRef qp, wire::Service service) {
    const bool send = cursor.next().is(">");
    if (!send) return ExpectLine(cursor, scope, service).parse(std::move(qp));
    if (cursor.accept("RAW")) {
        const Token& bytes = cursor.next();
        if (bytes.kind != Token::Kind::Hex) cursor.fail(bytes.span, "expected bytes: hex\"...\"");
        cursor.expect_end();
        return SendRaw{{bytes.bytes, bytes.span}};
    }
    if (cursor.accept("FRAGMENT")) return parse_fragment(cursor, scope);
    if (cursor.accept("PFC")) return parse_pfc(cursor, scope);
    return SendLine(cursor, scope, service).parse(std::move(qp));
}

} // namespace veriroce::script
