#include "conformance/script/body.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "conformance/script/binding.hpp"
#include "conformance/script/expression.hpp"
#include "conformance/script/fault_line.hpp"
#include "conformance/script/packet_line.hpp"
#include "conformance/script/sequence.hpp"
#include "conformance/script/side_line.hpp"
#include "conformance/script/words.hpp"

namespace veriroce::script {
namespace {

// How the lines of a block ended.
enum class Ending : std::uint8_t { End, Or, File };

class RunParser {
  public:
    RunParser(const Header& header, std::span<const Line> lines, Report& report)
        : header_(header), lines_(lines), report_(report) {}

    Run parse(std::span<const BoundName> names, std::int64_t mtu) {
        scope_.put(kGsiName, {.kind = NameKind::Qp, .service = wire::Service::Ud});
        scope_.put("mtu", {.kind = NameKind::Number, .constant = Constant{mtu, Unit::None}});
        for (const auto* addresses :
             {&header_.head.tester_addresses, &header_.head.dut_addresses}) {
            for (const Word& address : *addresses)
                scope_.put(address.text, {.kind = NameKind::Address});
        }
        bind(names);
        run_.title = titled(names);
        run_.qps.push_back({});
        run_.tester_qps.push_back({});
        for (std::size_t i = 0; i < header_.lines; ++i)
            qp_line(lines_[i]);
        attributes_of_for(names);
        at_ = header_.lines;
        run_.body.reserve(lines_.size() - at_);
        if (parse_block(run_.body, 0, ends_) != Ending::File) stray_end();
        check_body();
        if (report_.empty()) check_sequence(run_, report_);
        return std::move(run_);
    }

  private:
    // --- the `qp` lines of the header ---
    void bind(std::span<const BoundName> names) {
        for (const BoundName& name : names) {
            if (name.is_for) add_binding(name);
            if (name.attribute && (name.name == "mtu" || readable_field(name.name))) continue;
            if (const auto* number = std::get_if<Constant>(&name.value)) {
                scope_.put(name.name, {.kind = NameKind::Number, .constant = *number});
            } else {
                scope_.put(name.name,
                           {.kind = NameKind::Text, .text = std::get<std::string>(name.value)});
            }
        }
        if (!run_.suffix.empty()) run_.suffix += "]";
    }

    void add_binding(const BoundName& name) {
        run_.suffix += run_.suffix.empty() ? "[" : ",";
        run_.suffix += name.name + "=" + text_in(name);
        Binding binding{name.name, {}};
        if (const auto* number = std::get_if<Constant>(&name.value)) {
            binding.value = number->value;
        } else {
            binding.value = std::get<std::string>(name.value);
        }
        run_.bindings.push_back(std::move(binding));
    }

    static std::string text_in(const BoundName& name) {
        const auto* number = std::get_if<Constant>(&name.value);
        return number != nullptr ? text_of(*number) : std::get<std::string>(name.value);
    }

    std::string titled(std::span<const BoundName> names) const {
        std::string title = header_.head.title;
        for (const BoundName& name : names) {
            const std::string braces = "{" + name.name + "}";
            for (std::size_t at = title.find(braces); at != std::string::npos;
                 at = title.find(braces, at)) {
                title.replace(at, braces.size(), text_in(name));
            }
        }
        return title;
    }

    void attributes_of_for(std::span<const BoundName> names) {
        for (const BoundName& name : names) {
            if (!name.attribute) continue;
            const std::vector<Token> tokens = attribute_tokens(name);
            Cursor cursor(lines_[name.span.line - 1], tokens, report_);
            take_attributes(cursor, run_.qps.front(), false);
        }
    }

    void qp_line(const Line& line) {
        const bool tester = is_tester_qp_line(line);
        if (!tester && !is_qp_line(line)) return;
        std::vector<Token> replaced;
        Cursor cursor(line, with_words(line, scope_, replaced), report_);
        cursor.next();
        if (tester) cursor.next();
        auto& setups = tester ? run_.tester_qps : run_.qps;
        QpSetup& setup = named_setup(cursor, setups, tester);
        setup.span = line.span();
        take_attributes(cursor, setup, tester);
    }

    void take_attributes(Cursor& cursor, QpSetup& setup, bool tester) {
        for (Attribute& attribute : parse_attributes(cursor, scope_, AttributeLine::Qp)) {
            check_attribute(cursor, setup, attribute, tester);
            setup.attributes.push_back(std::move(attribute));
        }
        note_type(setup);
    }

    // `qp FIELD=…` sets up the default QP; `qp b …` and `qp q[64] …` create others.
    QpSetup& named_setup(Cursor& cursor, std::vector<QpSetup>& setups, bool tester) {
        const bool named = cursor.peek().kind == Token::Kind::Name && !cursor.peek(1).is("=");
        if (!named) {
            if (cursor.at_end()) cursor.fail_here("expected a QP's name or FIELD=...");
            return setups.front();
        }
        const Word name = tester ? scope_.use(cursor, NameKind::Qp) : cursor.word("a QP's name");
        if (name.text == kGsiName) {
            cursor.fail(name.span, "'gsi' is QP 1 of the host, which a case cannot set up");
        }
        if (!tester && !scope_.has(name.text, NameKind::Qp)) {
            scope_.define(cursor, name, {.kind = NameKind::Qp});
        }
        const auto known = std::ranges::find(setups, name.text, &QpSetup::name);
        if (known != setups.end()) return *known;
        QpSetup setup{.name = name.text};
        if (cursor.accept_joined("[")) {
            setup.count = static_cast<std::uint32_t>(
                parse_constant(cursor, scope_, 1, 4'096, "the number of QPs"));
            cursor.expect("]", "after the number of QPs");
        }
        qps_ += setup.count;
        if (!tester && qps_ > kMaxQps) {
            cursor.fail(name.span, "a case has at most " + std::to_string(kMaxQps) +
                                       " QPs, including the default one");
        }
        setups.push_back(std::move(setup));
        return setups.back();
    }

    void check_attribute(Cursor& cursor, const QpSetup& setup, const Attribute& attribute,
                         bool tester) {
        const bool common =
            attribute.name == "mtu" || attribute.name == "ip" || attribute.name == "vlan";
        if (common && (tester || !setup.name.empty())) {
            cursor.fail(attribute.span, attribute.name +
                                            " applies to all QPs of both sides; set it with "
                                            "'qp " +
                                            attribute.name + "=...'");
        }
        if (attribute.name == "cq" || attribute.name == "srq") {
            queues_.push_back({std::get<Word>(attribute.value), attribute.name == "srq"});
        }
    }

    void note_type(const QpSetup& setup) {
        const Attribute* type = setup.attribute("type");
        if (type == nullptr) return;
        const wire::Service service = wire::service_of(std::get<wire::QpType>(type->value));
        if (setup.name.empty()) {
            service_ = service;
        } else {
            scope_.put(setup.name, {.kind = NameKind::Qp, .service = service});
        }
    }

    // --- dialogue ---
    // Reads statements until the block ends; `closing` is the line that ended it.
    Ending parse_block(Block& block, std::size_t depth, std::size_t& closing) {
        while (at_ < lines_.size() && !report_.full()) {
            const Line& line = lines_[at_++];
            if (line.tokens.empty()) continue;
            closing = at_ - 1;
            if (line.tokens.front().is("end")) return Ending::End;
            if (line.tokens.front().is("or")) return Ending::Or;
            statement(block, line, depth);
        }
        return Ending::File;
    }

    // Reports `end` or `or` outside of a block once, and goes on reading.
    void stray_end() {
        while (true) {
            const Token& word = lines_[ends_].tokens.front();
            report_.add(word.span, "'" + word.text + "' without an open " +
                                       (word.text == "or" ? "'any'" : "block"));
            if (parse_block(run_.body, 0, ends_) == Ending::File) return;
        }
    }

    void statement(Block& block, const Line& line, std::size_t depth) {
        std::vector<Token> replaced;
        Cursor cursor(line, with_words(line, scope_, replaced), report_);
        Statement result;
        result.span = line.span();
        const std::string& word = cursor.peek().text;
        if (opens_block(word)) {
            if (depth >= kMaxDepth) {
                cursor.fail_here("blocks can be nested up to " + std::to_string(kMaxDepth) +
                                 " levels");
            }
            result.node = block_statement(cursor, word, depth);
        } else {
            result.node = simple(cursor);
            cursor.expect_end();
            const auto* side = std::get_if<SideCommand>(&result.node);
            if (side != nullptr && std::holds_alternative<Connection>(side->command))
                run_.management = true;
        }
        if (in_unordered_ && !waits(result.node)) {
            cursor.fail(line.tokens.front().span,
                        "not allowed in 'unordered', which takes only '<' lines, 'done', "
                        "'state', 'event' and 'notified'");
        }
        if (!cursor.failed()) block.push_back(std::move(result));
    }

    // The QP of a line that looks at packets.
    QpRef noted(QpRef qp) {
        run_.management = run_.management || qp.name == kGsiName;
        return qp;
    }

    using Node = decltype(Statement::node);

    // Only lines that wait for something can be satisfied in any order.
    static bool waits(const Node& node) {
        if (std::holds_alternative<ExpectPacket>(node)) return true;
        const auto* side = std::get_if<SideCommand>(&node);
        if (side == nullptr || side->refused) return false;
        const Command& command = side->command;
        return std::holds_alternative<Done>(command) || std::holds_alternative<State>(command) ||
               std::holds_alternative<EventSeen>(command) ||
               std::holds_alternative<Notified>(command);
    }

    Node simple(Cursor& cursor) {
        const QpRef qp = noted(take_qp_of_packet(cursor, scope_));
        const Token& first = cursor.peek();
        if (first.is(">") || first.is("<")) {
            return std::visit([](auto node) { return Node{std::move(node)}; },
                              parse_packet(cursor, scope_, qp, service_of(scope_, qp, service_)));
        }
        if (!qp.name.empty()) {
            cursor.fail_here("expected '>' or '<' after the QP's name");
            return Quiet{};
        }
        cursor.next();
        for (const auto& [word, parse] : one_line_statements()) {
            if (first.is(word)) return (this->*parse)(cursor);
        }
        unknown(cursor, first);
        return Quiet{};
    }

    // By the first word, which was read.
    struct OneLine {
        std::string_view word;
        Node (RunParser::*parse)(Cursor&);
    };
    static std::span<const OneLine> one_line_statements() {
        static constexpr std::array<OneLine, 9> table{{{"dut", &RunParser::dut},
                                                       {"tester", &RunParser::tester},
                                                       {"fault", &RunParser::fault},
                                                       {"expect", &RunParser::expect},
                                                       {"no", &RunParser::no},
                                                       {"quiet", &RunParser::quiet},
                                                       {"dropped", &RunParser::dropped},
                                                       {"judged", &RunParser::judged},
                                                       {"wait", &RunParser::wait}}};
        return table;
    }

    Node dut(Cursor& cursor) {
        return parse_side(cursor, scope_, posted_ids_, Side::Dut, service_);
    }
    Node tester(Cursor& cursor) {
        return parse_side(cursor, scope_, posted_ids_, Side::Tester, service_);
    }
    Node fault(Cursor& cursor) { return FaultLine{parse_fault(cursor, scope_, FaultPlace::Case)}; }
    Node quiet(Cursor& cursor) {
        QpRef qp = noted(take_qp(cursor, scope_));
        return Quiet{std::move(qp), optional_time(cursor)};
    }
    Node judged(Cursor& cursor) {
        QpRef qp = noted(take_qp(cursor, scope_));
        return Judged{std::move(qp), optional_time(cursor)};
    }
    Node dropped(Cursor& cursor) { return Dropped{take_qp(cursor, scope_)}; }
    Node wait(Cursor& cursor) { return Wait{parse_time(cursor, scope_)}; }

    void unknown(Cursor& cursor, const Token& first) {
        if (first.kind == Token::Kind::Name && contains(header_words(), first.text)) {
            return cursor.fail(first.span, "'" + first.text +
                                               "' is a header line: it belongs above the first "
                                               "blank line");
        }
        if (cursor.peek().is(">") || cursor.peek().is("<")) {
            return cursor.fail(first.span,
                               "unknown QP '" + first.text + "'" +
                                   suggestion(first.text, scope_.of_kind(NameKind::Qp)));
        }
        cursor.fail(first.span, "unknown statement '" + first.text + "'" +
                                    suggestion(first.text, statement_words()));
    }

    std::optional<Expr> optional_time(Cursor& cursor) {
        if (cursor.at_end()) return std::nullopt;
        return parse_time(cursor, scope_);
    }

    Node expect(Cursor& cursor) {
        ExpectRegion expected{parse_slice(cursor, scope_), Untouched{}};
        if (cursor.accept("untouched")) return expected;
        cursor.expect("==", "or 'untouched'");
        const Token& token = cursor.peek();
        if (scope_.has(token.text, NameKind::Region)) {
            expected.holds = parse_slice(cursor, scope_);
            return expected;
        }
        if (token.kind == Token::Kind::Name && !contains(wire::kNamesOf<PatternKind>, token.text)) {
            auto known = scope_.of_kind(NameKind::Region);
            std::ranges::copy(wire::kNamesOf<PatternKind>, std::back_inserter(known));
            cursor.fail(token.span, "'" + token.text + "' is neither a region nor a pattern" +
                                        suggestion(token.text, known));
            return expected;
        }
        const Pattern pattern = parse_pattern(cursor);
        std::visit([&](const auto& p) { expected.holds = p; }, pattern);
        return expected;
    }

    Node no(Cursor& cursor) {
        static constexpr std::array<std::string_view, 1> stop{"for"};
        No none;
        none.qp = noted(take_qp_of_packet(cursor, scope_));
        const wire::Service service = service_of(scope_, none.qp, service_);
        none.kind = parse_kind(cursor, service);
        none.matches = parse_matches(cursor, scope_, none.kind, service, stop);
        if (cursor.accept("for")) none.time = parse_time(cursor, scope_);
        return none;
    }

    // --- blocks ---
    Node block_statement(Cursor& cursor, const std::string& word, std::size_t depth) {
        const bool inside = std::exchange(in_unordered_, false);
        Node block = word == "any"      ? any(cursor, depth)
                     : word == "repeat" ? repeat(cursor, depth)
                                        : unordered(cursor, depth);
        in_unordered_ = inside;
        return block;
    }

    Node unordered(Cursor& cursor, std::size_t depth) {
        cursor.next();
        cursor.expect_end();
        Unordered unordered;
        in_unordered_ = true;
        const Ending ending = parse_block(unordered.body, depth + 1, ends_);
        in_unordered_ = false;
        close(ending, cursor, "unordered");
        return unordered;
    }

    void close(Ending ending, Cursor& opening, std::string_view word) {
        const std::string name(word);
        if (ending == Ending::File) {
            if (report_.full()) return;
            return report_.add(opening.line().tokens.front().span, "'" + name + "' has no 'end'");
        }
        const Line& line = lines_[ends_];
        if (ending == Ending::Or) {
            return report_.add(line.tokens.front().span, "'or' without an open 'any'");
        }
        Cursor cursor(line, line.tokens, report_);
        cursor.next();
        cursor.expect_end();
    }

    Node any(Cursor& cursor, std::size_t depth) {
        cursor.next();
        cursor.expect_end();
        AnyBlock any;
        any.alternatives.push_back({{}, {}, cursor.line().span()});
        Ending ending = parse_block(any.alternatives.back().body, depth + 1, ends_);
        while (ending == Ending::Or) {
            const Line& line = lines_[ends_];
            Cursor words(line, line.tokens, report_);
            words.next();
            Alternative alternative{.span = line.span()};
            if (words.accept("warn")) {
                const Token text = words.next();
                if (text.kind != Token::Kind::String) {
                    words.fail(text.span, "expected the warning in quotes");
                }
                alternative.warn = text.text;
            }
            words.expect_end();
            any.alternatives.push_back(std::move(alternative));
            ending = parse_block(any.alternatives.back().body, depth + 1, ends_);
        }
        close(ending, cursor, "any");
        if (ending == Ending::End && any.alternatives.size() < 2) {
            report_.add(cursor.line().span(), "'any' needs an 'or'");
        }
        return any;
    }

    Node repeat(Cursor& cursor, std::size_t depth) {
        const SourceSpan word = cursor.next().span;
        Repeat repeat;
        const bool counted = cursor.peek(1).is("in");
        if (counted) {
            repeat.counter = cursor.word("a counter's name");
            cursor.next();
            auto range = parse_range(cursor, {.scope = &scope_});
            if (auto* ends = std::get_if<ValueRange>(&range);
                ends != nullptr && ends->low && ends->high) {
                repeat.times = std::move(*ends);
            } else {
                cursor.fail(word, "expected a range with two ends: repeat i in 1..8");
            }
            scope_.define(cursor, *repeat.counter, {.kind = NameKind::Counter});
        } else {
            Expr times = parse_number(cursor, scope_);
            check_between(cursor, times, 0, kMostTurns, "the repeat count");
            repeat.times = std::move(times);
        }
        cursor.expect_end();
        close(parse_block(repeat.body, depth + 1, ends_), cursor, "repeat");
        if (counted && !cursor.failed()) scope_.forget(repeat.counter->text);
        return repeat;
    }

    void check_body() {
        for (const auto& [word, srq] : queues_) {
            const NameKind kind = srq ? NameKind::Srq : NameKind::Cq;
            if ((!srq && word.text == "small") || scope_.has(word.text, kind)) continue;
            report_.add(word.span, "no '" + std::string(srq ? "dut srq " : "dut cq ") + word.text +
                                       "' line creates this queue" +
                                       suggestion(word.text, scope_.of_kind(kind)));
        }
        if (run_.body.empty() && report_.empty()) {
            report_.add({static_cast<std::uint32_t>(std::max<std::size_t>(1, header_.lines)), 1, 1},
                        "the case has no dialogue");
        }
    }

    struct NamedQueue {
        Word word;
        bool srq = false;
    };

    const Header& header_;
    std::span<const Line> lines_;
    Report& report_;
    Scope scope_;
    PostedIds posted_ids_;
    Run run_;
    wire::Service service_ = wire::Service::Rc;
    std::vector<NamedQueue> queues_;
    std::size_t at_ = 0;
    std::size_t ends_ = 0;
    bool in_unordered_ = false;
    std::uint32_t qps_ = 1; // the default one
};

} // namespace

Run parse_run(const Header& header, std::span<const Line> lines, std::span<const BoundName> names,
              std::int64_t mtu, Report& report) {
    return RunParser(header, lines, report).parse(names, mtu);
}

} // namespace veriroce::script
