#include "conformance/script/fault_line.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>

#include "conformance/script/expression.hpp"
#include "conformance/script/options.hpp"
#include "conformance/script/packet_line.hpp"
#include "conformance/script/words.hpp"
#include "transport/fault/injector.hpp"

namespace veriroce::script {
namespace {

constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMostBits = 9'200 * 8; // of a jumbo frame

constexpr std::array<std::string_view, 12> kActionNames{"drop", "duplicate", "delay",   "reorder",
                                                        "hold", "corrupt",   "rewrite", "truncate",
                                                        "mark", "replay",    "forge",   "pause"};
static_assert(kActionNames.size() == std::variant_size_v<fault::Action::variant>);
constexpr std::array<std::string_view, 4> kClassNames{"requests", "responses", "acks", "data"};
constexpr std::array<std::string_view, 21> kSelectorNames{
    "from",    "qp",     "conn", "service", "host",   "opcode",  "psn",
    "message", "packet", "pass", "nth",     "p",      "between", "every",
    "fires",   "first",  "rate", "class",   "paused", "pfc",     "quanta"};

constexpr std::array<std::string_view, 7> kInLineNames{"conn",   "service", "host",  "class",
                                                       "paused", "pfc",     "quanta"};

bool in_class(const wire::OpcodeInfo& info, std::string_view name) {
    if (info.reserved()) return false;
    if (name == "requests") return info.request();
    if (name == "responses") return info.response();
    if (name == "data") return info.carries_payload();
    return info.operation == wire::Operation::Acknowledge ||
           info.operation == wire::Operation::AtomicAcknowledge;
}

// The line from this place on, without its comment.
std::string text_from(const Cursor& cursor, const SourceSpan& begin) {
    std::string_view text = cursor.line().text;
    text.remove_suffix(cursor.line().comment.size());
    while (text.ends_with(' '))
        text.remove_suffix(1);
    // Before its comment the line has only one-byte characters: the lexer accepts no others.
    return std::string(text.substr(std::min<std::size_t>(begin.column - 1, text.size())));
}

class FaultLineParser {
  public:
    FaultLineParser(Cursor& cursor, const Scope& scope, FaultPlace place)
        : cursor_(cursor), scope_(scope), place_(place) {}

    fault::Rule parse() {
        fault::Rule rule;
        rule.line = cursor_.line().number;
        const SourceSpan begin = cursor_.peek().span;
        rule.action = action();
        cursor_.expect("when", "and a selector");
        rule.selector = selector();
        rule.also = cursor_.accept("also");
        cursor_.expect_end();
        rule.text = text_from(cursor_, begin);
        if (const auto right = fault::check_pfc(rule); !right) cursor_.fail(begin, right.error());
        return rule;
    }

  private:
    // --- actions: everything before `when` ---
    fault::Action action() {
        const Word word = cursor_.word("a fault action");
        if (cursor_.failed()) return fault::Drop{};
        if (word.text == "drop") return fault::Drop{};
        if (word.text == "duplicate") return duplicate();
        if (word.text == "delay") return fault::Delay{time()};
        if (word.text == "reorder") return fault::Reorder{named("by", 1, 65'535)};
        if (word.text == "hold") return hold();
        if (word.text == "corrupt") return corrupt();
        if (word.text == "rewrite") return rewrite();
        if (word.text == "truncate") return truncate();
        if (word.text == "mark") {
            cursor_.expect("ce", "as in 'mark ce'");
            return fault::MarkCe{};
        }
        if (word.text == "replay") return fault::Replay{named("age", 1, fault::kMaxReplayAge)};
        if (word.text == "forge") return forge();
        if (word.text == "pause") return pause();
        cursor_.fail(word.span, "unknown fault action '" + word.text + "'" +
                                    suggestion(word.text, kActionNames));
        return fault::Drop{};
    }

    fault::Action duplicate() {
        fault::Duplicate duplicate;
        while (!cursor_.at_end() && !cursor_.peek().is("when")) {
            const Word name = cursor_.word("n= or after=");
            if (!take_equals(cursor_, name)) break;
            if (name.text == "n") {
                duplicate.copies = number(1, 1'000, "n");
            } else if (name.text == "after") {
                duplicate.after = time();
            } else {
                cursor_.fail(name.span, "'duplicate' takes n= and after=, not '" + name.text + "'");
            }
        }
        return duplicate;
    }

    fault::Action hold() {
        cursor_.expect("until", "and the packet that releases it");
        fault::Hold hold;
        hold.until = selector();
        if (cursor_.accept("for")) {
            cursor_.expect("=", "and a time: for=100ms");
            hold.longest = time();
        }
        return hold;
    }

    fault::Action corrupt() {
        fault::Action action = corrupted_place();
        auto* corrupt = std::get_if<fault::Corrupt>(&action);
        if (corrupt == nullptr || !cursor_.accept("icrc")) return action;
        cursor_.expect("=", "as in icrc=good");
        cursor_.expect("good", "as in icrc=good");
        corrupt->good_icrc = true;
        return action;
    }

    fault::Action corrupted_place() {
        const Word name = cursor_.word("bit=, byte= or field=");
        if (!take_equals(cursor_, name)) return fault::Drop{};
        if (name.text == "bit") {
            return fault::Corrupt{fault::CorruptBit{number(0, kMostBits - 1, "bit")}};
        }
        if (name.text == "byte") {
            return fault::Corrupt{fault::CorruptByte{number(0, kMostBits / 8 - 1, "byte")}};
        }
        if (name.text != "field") {
            cursor_.fail(name.span,
                         "'corrupt' takes bit=, byte= or field=, not '" + name.text + "'");
            return fault::Drop{};
        }
        const Word field_name = cursor_.word("a field");
        const auto field = wire::field_by_name(field_name.text);
        if (!field && !cursor_.failed()) {
            cursor_.fail(field_name.span, "unknown field '" + field_name.text + "'" +
                                              suggestion(field_name.text, field_names()));
        }
        return fault::Corrupt{fault::CorruptField{field.value_or(wire::Field::Psn)}};
    }

    fault::Action rewrite() {
        fault::Rewrite rewrite;
        while (!cursor_.at_end() && !cursor_.peek().is("when")) {
            if (cursor_.peek().is("invert")) {
                inverted(rewrite.inverted);
            } else {
                written(rewrite.fields, nullptr, rewrite.absolute_psn);
            }
        }
        if (rewrite.fields.empty() && rewrite.inverted.empty()) {
            cursor_.fail_here("'rewrite' needs a field: rewrite psn=3");
        }
        return rewrite;
    }

    // invert=FIELD:BIT with a bit that is known before the run.
    void inverted(std::vector<wire::Flip>& bits) {
        const Word name = cursor_.word("invert");
        if (!take_equals(cursor_, name)) return;
        const FlipBit flip = parse_flip(cursor_, scope_, name.text);
        if (cursor_.failed()) return;
        wire::Flip one{.where = wire::Field::Psn,
                       .bit = static_cast<std::uint8_t>(known(flip.bit, 0))};
        if (const auto* field = std::get_if<wire::Field>(&flip.where)) {
            one.where = *field;
        } else {
            one.where = static_cast<std::size_t>(known(std::get<Expr>(flip.where), 0));
        }
        bits.push_back(one);
    }

    // FIELD=VALUE with a number that is known before the run.
    void written(std::vector<wire::PacketSpec::Written>& fields, const PacketKind* kind,
                 bool& absolute_psn) {
        const Word name = cursor_.word("a field");
        if (cursor_.failed()) return;
        const FieldWrite write = parse_field_write(cursor_, scope_, name);
        if (cursor_.failed()) return;
        const std::string wrong =
            kind == nullptr ? "" : misplaced(write.field, *kind, wire::Service::Rc);
        if (!wrong.empty()) return cursor_.fail(name.span, wrong);
        const auto* field = std::get_if<wire::Field>(&write.field);
        const Expr* expr = std::get_if<Expr>(&write.value);
        const auto* absolute = std::get_if<Absolute>(&write.value);
        if (absolute != nullptr) expr = &absolute->value;
        const auto value = expr == nullptr ? std::nullopt : constant_of(*expr);
        if (field == nullptr || !value) {
            return cursor_.fail(
                name.span,
                "a fault can only write header fields, with numbers known before the run");
        }
        fields.push_back({*field, static_cast<std::uint64_t>(*value)});
        if (*field == wire::Field::Psn) absolute_psn = absolute != nullptr;
    }

    fault::Action truncate() {
        if (!cursor_.accept_joined("=")) cursor_.fail_here("expected truncate=N");
        return fault::Truncate{number(0, 65'535, "truncate")};
    }

    fault::Action forge() {
        fault::Forge forge;
        const PacketKind kind = parse_kind(cursor_, wire::Service::Rc);
        if (const auto* opcode = std::get_if<Opcode>(&kind)) {
            forge.packet.opcode = opcode->code;
        } else if (const auto* ack = std::get_if<Acknowledgement>(&kind)) {
            forge.packet.opcode = wire::opcode_by_name("ACKNOWLEDGE").value_or(0);
            forge.packet.fields.push_back({wire::Field::Syndrome, syndrome_of(*ack)});
        } else {
            cursor_.fail_here("'forge' makes one packet, not a whole message");
        }
        while (!cursor_.at_end() && !cursor_.peek().is("when")) {
            if (cursor_.accept("to")) {
                cursor_.expect("=", "and sender or receiver");
                const bool sender = cursor_.accept("sender");
                if (!sender) cursor_.expect("receiver", "or 'sender'");
                forge.to = sender ? fault::ForgeTo::Sender : fault::ForgeTo::Receiver;
                continue;
            }
            written(forge.packet.fields, &kind, forge.absolute_psn);
        }
        return forge;
    }

    static std::uint64_t syndrome_of(Acknowledgement ack) {
        switch (ack) {
        case Acknowledgement::Ack: return wire::Syndrome::ack(wire::kNoCredits).value;
        case Acknowledgement::Nak: return wire::Syndrome::nak(wire::NakCode::PsnSequence).value;
        case Acknowledgement::RnrNak: return wire::Syndrome::rnr(0).value;
        }
        return 0;
    }

    fault::Action pause() {
        const std::uint32_t priority = named("class", 0, 7);
        const std::uint32_t quanta = named("quanta", 0, 65'535);
        return fault::Pause{static_cast<std::uint8_t>(priority),
                            static_cast<std::uint16_t>(quanta)};
    }

    // --- selectors ---
    fault::Selector selector() {
        fault::Selector selector;
        std::vector<std::string> seen;
        bool some = false;
        while (!cursor_.at_end() && !cursor_.peek().is("also") && !cursor_.peek().is("for") &&
               !cursor_.peek().is("when")) {
            const Word name = cursor_.word("a selector");
            if (cursor_.failed()) return selector;
            if (std::ranges::find(seen, name.text) != seen.end()) {
                cursor_.fail(name.span, "'" + name.text + "' is written twice");
            }
            seen.push_back(name.text);
            one_selector(selector, name);
            some = true;
        }
        if (!some) cursor_.fail_here("expected a selector, for example from=dut");
        return selector;
    }

    void one_selector(fault::Selector& selector, const Word& name) {
        if (!contains(kSelectorNames, name.text)) {
            return cursor_.fail(name.span, "unknown selector '" + name.text + "'" +
                                               suggestion(name.text, kSelectorNames));
        }
        if (name.text == "between") {
            selector.between = range(true, 0);
            return;
        }
        if (!take_equals(cursor_, name)) return;
        if (name.text == "from") selector.from = sender();
        if (name.text == "qp") selector.qp = qp();
        if (contains(kInLineNames, name.text)) in_line(selector, name);
        if (name.text == "opcode") selector.opcodes = opcodes();
        if (name.text == "psn") selector.psn = range(false, -kAny);
        if (name.text == "message") selector.message = range(false, 1);
        if (name.text == "packet") selector.packet = range(false, 1);
        if (name.text == "pass") selector.pass = range(false, 1);
        if (name.text == "nth") selector.nth = range(false, 1);
        if (name.text == "every") selector.every = number(1, 1'000'000'000, "every");
        if (name.text == "p") selector.probability = probability();
        if (name.text == "fires") selector.fires = number(0, 1'000'000'000, "fires");
        if (name.text == "first") selector.first = number(1, 1'000'000'000, "first");
        if (name.text == "rate") selector.per_second = number(1, 1'000'000'000, "rate");
    }

    // Selectors for traffic whose QPs have no names.
    void in_line(fault::Selector& selector, const Word& name) {
        if (place_ == FaultPlace::Case) {
            const bool has_qp =
                name.text == "conn" || name.text == "service" || name.text == "host";
            return cursor_.fail(name.span, "'" + name.text +
                                               "' is for the plans of veriroce inject" +
                                               (has_qp ? "; use qp=" : ""));
        }
        if (name.text == "conn") {
            selector.connection = range(false, 1);
            return;
        }
        if (name.text == "service") {
            selector.service_id = static_cast<std::uint64_t>(
                parse_constant(cursor_, scope_, 0, kAny, "a service ID"));
            return;
        }
        if (name.text != "host") {
            const bool quanta = name.text == "quanta";
            (quanta                  ? selector.quanta
             : name.text == "class"  ? selector.traffic_class
             : name.text == "paused" ? selector.paused
                                     : selector.pfc) = small_range(name.text, quanta ? 65'535 : 7);
            return;
        }
        const Token token = cursor_.next();
        selector.host = wire::IpAddress::parse(token.text);
        if (token.kind == Token::Kind::String && selector.host) return;
        cursor_.fail(token.span, "expected an IP address in quotes: host=\"10.0.0.1\"");
    }

    fault::End sender() {
        static constexpr std::array<std::string_view, 4> names{"dut", "tester", "a", "b"};
        const Word word = cursor_.word("dut or tester");
        if (word.text == "dut") return fault::kDutEnd;
        if (word.text == "tester") return fault::kTesterEnd;
        if (place_ == FaultPlace::Plan && word.text == "a") return fault::End::A;
        if (place_ == FaultPlace::Plan && word.text == "b") return fault::End::B;
        const auto candidates = std::span(names).first(place_ == FaultPlace::Plan ? 4 : 2);
        cursor_.fail(word.span,
                     "unknown side '" + word.text + "'" + suggestion(word.text, candidates));
        return fault::End::A;
    }

    std::variant<std::string, std::uint32_t> qp() {
        if (place_ == FaultPlace::Plan) {
            return static_cast<std::uint32_t>(number(0, wire::kMask24, "a QPN"));
        }
        return scope_.use(cursor_, NameKind::Qp).text;
    }

    fault::OpcodeSet opcodes() {
        fault::OpcodeSet set;
        const Word word = cursor_.word("an opcode or a class");
        if (cursor_.failed()) return set;
        const bool whole_class = contains(kClassNames, word.text);
        for (const wire::OpcodeInfo& info : wire::opcode_table()) {
            const bool known = !info.reserved() && info.name == word.text;
            if (whole_class ? in_class(info, word.text) : known) set.set(info.code);
        }
        if (set.any()) return set;
        auto names = opcode_names(wire::Service::Rc);
        names.insert(names.end(), kClassNames.begin(), kClassNames.end());
        cursor_.fail(word.span,
                     "unknown opcode '" + word.text + "'" + suggestion(word.text, names));
        return set;
    }

    // 0.01, or a ratio of known numbers: loss/1000.
    double probability() {
        const Token first = cursor_.peek();
        if (first.kind == Token::Kind::Number && !first.whole && first.unit == Unit::None) {
            cursor_.next();
            return between_0_and_1(first.span, first.real);
        }
        const Expr expr = parse_number(cursor_, scope_);
        const bool ratio = expr.kind == Expr::Kind::Divide;
        const bool plain = ratio ? std::ranges::all_of(expr.operands, is_plain) : is_plain(expr);
        if (!plain) return between_0_and_1(expr.span, -1);
        if (!ratio) return between_0_and_1(expr.span, static_cast<double>(known(expr, 0)));
        const auto above = static_cast<double>(known(expr.operands[0], 0));
        return between_0_and_1(expr.span, above / static_cast<double>(known(expr.operands[1], 1)));
    }
    static bool is_plain(const Expr& expr) {
        return expr.operands.empty() && expr.unit == Unit::None;
    }
    double between_0_and_1(const SourceSpan& span, double chance) {
        const bool fits = chance >= 0 && chance <= 1;
        if (!fits)
            cursor_.fail(span, "a probability must be 0 to 1, for example p=0.01 or p=loss/1000");
        return fits ? chance : 0;
    }

    fault::Range small_range(std::string_view what, std::int64_t highest) {
        const SourceSpan begin = cursor_.peek().span;
        const fault::Range parsed = range(false, 0);
        const bool open = parsed.high == kAny;
        if (parsed.low > highest || (!open && parsed.high > highest)) {
            cursor_.fail(begin, std::string(what) + "= is 0 to " + std::to_string(highest));
        }
        return parsed;
    }

    fault::Range range(bool times, std::int64_t lowest) {
        const auto parsed = parse_range(cursor_, {.scope = &scope_, .time = times});
        fault::Range result{.low = lowest};
        if (const auto* one = std::get_if<Expr>(&parsed)) {
            result.low = result.high = known(*one, lowest);
            return result;
        }
        const auto& written = std::get<ValueRange>(parsed);
        if (written.low) result.low = known(*written.low, lowest);
        if (written.high) result.high = known(*written.high, lowest);
        return result;
    }

    std::int64_t known(const Expr& expr, std::int64_t lowest) {
        const auto value = constant_of(expr);
        if (!value) cursor_.fail(expr.span, "the numbers of a fault must be known before the run");
        if (value && *value < lowest) {
            cursor_.fail(expr.span, "this value starts at " + std::to_string(lowest) + ", got " +
                                        std::to_string(*value));
        }
        return value.value_or(lowest);
    }

    std::uint32_t number(std::int64_t low, std::int64_t high, std::string_view what) {
        return static_cast<std::uint32_t>(parse_constant(cursor_, scope_, low, high, what));
    }
    std::uint32_t named(std::string_view name, std::int64_t low, std::int64_t high) {
        cursor_.expect(name, "as in " + std::string(name) + "=" + std::to_string(low));
        cursor_.expect("=", "and a number");
        return number(low, high, name);
    }
    wire::Duration time() {
        const Expr expr = parse_time(cursor_, scope_);
        return wire::Duration(known(expr, 0));
    }

    Cursor& cursor_;
    const Scope& scope_;
    FaultPlace place_;
};

} // namespace

fault::Expectation parse_expectation(Cursor& cursor, const Scope& scope) {
    static constexpr std::array<std::string_view, 3> kinds{"recovery", "no", "retransmissions"};
    fault::Expectation expectation{.what = fault::NoError{}, .line = cursor.line().number};
    const SourceSpan begin = cursor.peek().span;
    cursor.expect("expect", "and what is expected");
    const Word kind = cursor.word("recovery, no error or retransmissions");
    if (kind.text == "recovery") {
        cursor.expect("within", "as in 'recovery within 5ms'");
        const Expr time = parse_time(cursor, scope);
        expectation.what = fault::RecoveryWithin{wire::Duration(constant_of(time).value_or(0))};
    } else if (kind.text == "no") {
        cursor.expect("error", "as in 'no error'");
    } else if (kind.text == "retransmissions") {
        cursor.expect("<=", "as in 'retransmissions <= 10'");
        expectation.what = fault::RetransmissionsAtMost{static_cast<std::uint64_t>(
            parse_constant(cursor, scope, 0, 1'000'000'000, "retransmissions"))};
    } else {
        cursor.fail(kind.span,
                    "unknown expectation '" + kind.text + "'" + suggestion(kind.text, kinds));
    }
    cursor.expect_end();
    expectation.text = text_from(cursor, begin);
    return expectation;
}

fault::Rule parse_fault(Cursor& cursor, const Scope& scope, FaultPlace place) {
    return FaultLineParser(cursor, scope, place).parse();
}

std::span<const std::string_view> fault_action_names() {
    return kActionNames;
}

} // namespace veriroce::script
