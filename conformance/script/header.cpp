#include "conformance/script/header.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "conformance/rules/rules.hpp"
#include "conformance/script/expression.hpp"
#include "conformance/script/word_list.hpp"

namespace veriroce::script {
namespace {

using namespace std::string_view_literals;

constexpr std::array kRoleWords{"responder"sv, "requester"sv, "both"sv};
constexpr std::array kLevelWords{"MUST"sv, "SHOULD"sv, "INFO"sv};

// Lower-case words that a `for` may list: {name} inserts them in place of a field or a value.
bool is_value_word(std::string_view text) {
    const bool enumerator = !text.empty() && text.front() >= 'A' && text.front() <= 'Z';
    return enumerator || field_by_name(text) || wire::icrc_kind_by_name(text) ||
           contains(wire::kNamesOf<PatternKind>, text) || contains(access_words(), text);
}

std::vector<std::string_view> value_words() {
    auto words = field_names();
    for (const Words list : {Words(wire::kNamesOf<PatternKind>), access_words(), opcode_classes()})
        words.insert(words.end(), list.begin(), list.end());
    for (const std::string_view opcode : opcode_names(wire::Service::Rc))
        words.push_back(opcode);
    return words;
}

bool mentions_mtu(const Expr& expr) {
    if (expr.kind == Expr::Kind::Name && expr.name == "mtu") return true;
    return std::ranges::any_of(expr.operands, mentions_mtu);
}

class HeaderParser {
  public:
    HeaderParser(std::string_view path, std::span<const Line> lines, Report& report)
        : lines_(lines), report_(report) {
        header_.head.path = std::string(path);
        name_case(path);
        scope_.put("mtu", {.kind = NameKind::Number});
    }

    Header parse() {
        std::size_t at = 0;
        while (at < lines_.size() && lines_[at].tokens.empty())
            ++at; // comments and blank lines at the top
        for (; at < lines_.size() && !lines_[at].blank(); ++at) {
            if (lines_[at].tokens.empty()) continue;
            if (!at_header_word(lines_[at])) break;
            line(lines_[at]);
        }
        header_.lines = at;
        check_complete();
        return std::move(header_);
    }

  private:
    void name_case(std::string_view path) {
        std::string_view name = path.substr(path.find_last_of('/') + 1); // npos + 1 is 0
        if (name.ends_with(".roce")) name.remove_suffix(5);
        header_.head.name = std::string(name);
        const std::size_t slash = path.find_last_of('/');
        if (slash == std::string_view::npos) return;
        const std::string_view folder = path.substr(0, slash);
        header_.head.group = std::string(folder.substr(folder.find_last_of('/') + 1));
    }

    // A dialogue line ends the header.
    bool at_header_word(const Line& line) {
        if (!looks_like_dialogue(line)) return true;
        report_.add(line.tokens.front().span, "expected a blank line between header and dialogue");
        return false;
    }
    static bool looks_like_dialogue(const Line& line) {
        const Token& first = line.tokens.front();
        if (is_address_line(line)) return false;
        if (first.is("tester")) return !is_tester_qp_line(line);
        return first.is(">") || first.is("<") || contains(statement_words(), first.text) ||
               (line.tokens.size() > 1 && (line.tokens[1].is(">") || line.tokens[1].is("<")));
    }
    // `tester address NAME` or `dut address NAME`.
    static bool is_address_line(const Line& line) {
        return line.tokens.size() > 1 && line.tokens[1].is("address") &&
               (line.tokens[0].is("tester") || line.tokens[0].is("dut"));
    }

    void line(const Line& source) {
        Cursor cursor(source, source.tokens, report_);
        if (cursor.failed()) seen_.insert(source.tokens.front().text); // present, although wrong
        const Word word = cursor.word("a header word");
        if (cursor.failed()) return;
        const bool is_address = is_address_line(source);
        const std::string key = is_address ? word.text + " address" : word.text;
        const bool repeats = is_address || key == "let" || key == "for" || key == "qp" ||
                             key == "tester" || key == "needs";
        if (!repeats && !seen_.insert(key).second) {
            return cursor.fail(word.span, "duplicate '" + key + "' line");
        }
        one(cursor, word, key);
        cursor.expect_end();
        const bool names = is_address || key == "let" || key == "for";
        if (names && cursor.failed()) header_.names_known = false;
    }

    void one(Cursor& cursor, const Word& word, const std::string& key) {
        Case& head = header_.head;
        if (key == "rule") return rule(cursor);
        if (key == "title") return title(cursor);
        if (key == "role") return role(cursor);
        if (key == "level") return level(cursor);
        if (key == "needs") return needs(cursor);
        if (key == "unless") return word_list(cursor, head.unless, traits(), "trait");
        if (key == "tags") return word_list(cursor, head.tags, case_tags(), "tag");
        if (key == "let") return let(cursor);
        if (key == "for") return for_values(cursor);
        if (key == "tester address") return address(cursor, head.tester_addresses);
        if (key == "dut address") return address(cursor, head.dut_addresses);
        if (key == "qp" || key == "tester") return skip(cursor); // parsed once per run
        cursor.fail(word.span, "unknown header line '" + word.text + "'" +
                                   suggestion(word.text, header_words()));
    }

    void rule(Cursor& cursor) {
        do {
            const Word id = cursor.raw_word("a rule's id, for example RSP-02");
            if (cursor.failed()) return;
            if (!rules::catalogue().contains(id.text)) {
                return cursor.fail(id.span, rules::unknown_rule(id.text));
            }
            header_.head.rules.push_back(id);
        } while (!cursor.at_end());
    }

    void title(Cursor& cursor) {
        const Token token = cursor.next();
        if (token.kind != Token::Kind::String || token.text.empty()) {
            return cursor.fail(token.span, "expected text in quotes");
        }
        header_.head.title = token.text;
        title_span_ = token.span;
    }

    void role(Cursor& cursor) {
        const Word word = word_of(cursor, kRoleWords, "role");
        if (const auto role = rules::role_named(word.text)) header_.head.role = *role;
    }

    void level(Cursor& cursor) {
        const Word word = word_of(cursor, kLevelWords, "level");
        if (const auto level = rules::level_named(word.text)) header_.head.level = *level;
        level_written_ = true;
    }

    void needs(Cursor& cursor) {
        std::vector<Need> found;
        do {
            const Word word = word_of(cursor, capabilities(), "capability");
            Need need{.word = word.text, .at_least = {}, .span = word.span};
            if (cursor.accept(">="))
                need.at_least = parse_constant(cursor, scope_, 0, 65'535, word.text);
            if (need.at_least.has_value() != contains(amounts(), need.word)) {
                cursor.fail(word.span, need.at_least ? "'" + word.text + "' is not an amount"
                                                     : "expected an amount: " + word.text + ">=1");
            }
            found.push_back(std::move(need));
        } while (!cursor.failed() && !cursor.at_end() && !cursor.peek().is("for"));
        if (cursor.accept("for")) needs_of_value(cursor, found);
        std::ranges::move(found, std::back_inserter(header_.head.needs));
    }

    // `needs atomics for op=FETCH_ADD`: the `for` line may come later.
    static void needs_of_value(Cursor& cursor, std::vector<Need>& needs) {
        const Word name = cursor.word("the name of a 'for' line");
        cursor.expect("=", "and one of its values: needs atomics for op=FETCH_ADD");
        const Token value = cursor.next();
        Binding binding{.name = name.text, .value = value.text};
        if (value.kind == Token::Kind::Number) {
            binding.value = value.number;
        } else if (value.kind != Token::Kind::Name) {
            return cursor.fail(value.span, "expected one of the values of " + name.text);
        }
        for (Need& one : needs) {
            one.of_value = binding;
            one.span = name.span;
        }
    }

    static void word_list(Cursor& cursor, std::vector<Word>& target, Words words,
                          std::string_view what) {
        do {
            target.push_back(word_of(cursor, words, what));
        } while (!cursor.at_end());
    }

    void let(Cursor& cursor) {
        Let let{cursor.word("a name"), {}};
        if (cursor.failed()) return;
        count_name(cursor);
        cursor.expect("=", "and a value: let lost = 3");
        let.value = parse_expr(cursor, {.scope = &scope_, .blanks = true});
        mtu_used_ = mtu_used_ || mentions_mtu(let.value);
        scope_.define(cursor, let.name, {.kind = NameKind::Number});
        if (!cursor.failed()) header_.head.lets.push_back(std::move(let));
    }

    void for_values(Cursor& cursor) {
        For parsed{.name = cursor.word("a name"), .values = {}};
        if (cursor.failed()) return;
        count_name(cursor);
        if (parsed.name.text.starts_with("qp.")) attribute_name(cursor, parsed);
        cursor.expect("in", "and values: for n in 0 1 2");
        do {
            for_value(cursor, parsed);
        } while (!cursor.at_end());
        if (cursor.failed()) return;
        const auto words = std::ranges::count_if(
            parsed.values, [](const auto& v) { return std::holds_alternative<Word>(v); });
        const bool some = words != 0;
        if (some && static_cast<std::size_t>(words) != parsed.values.size()) {
            return cursor.fail(parsed.name.span, "expected numbers or words, got both");
        }
        if (some && parsed.attribute && parsed.name.text == "mtu") {
            return cursor.fail(parsed.name.span, "mtu is a number");
        }
        define_for(cursor, parsed, some);
        header_.head.fors.push_back(std::move(parsed));
    }

    // qp.FIELD: FIELD becomes a name of the case, unless the name already exists.
    void define_for(Cursor& cursor, const For& parsed, bool words) {
        const std::string& name = parsed.name.text;
        if (parsed.attribute && (name == "mtu" || readable_field(name))) return;
        if (parsed.attribute && (name == "timeout")) return; // the function keeps its name
        scope_.define(cursor, parsed.name, {.kind = words ? NameKind::Text : NameKind::Number});
    }

    void attribute_name(Cursor& cursor, For& parsed) {
        parsed.attribute = true;
        parsed.name.text.erase(0, 3);
        const auto names = attribute_names(false);
        if (contains(names, parsed.name.text)) {
            if (parsed.name.text == "mtu" && mtu_used_) {
                cursor.fail(parsed.name.span, "this line must come before the first use of mtu");
            }
            return;
        }
        cursor.fail(parsed.name.span, "a QP has no attribute '" + parsed.name.text + "'" +
                                          suggestion(parsed.name.text, names));
    }

    void for_value(Cursor& cursor, For& parsed) {
        const Token token = cursor.peek();
        const bool name = token.kind == Token::Kind::Name && scope_.find(token.text) == nullptr &&
                          token.text != "rnr" && token.text != "timeout";
        if (!name) {
            auto value = parse_value_of_for(cursor, scope_);
            if (auto* range = std::get_if<ValueRange>(&value)) {
                if (!range->low || !range->high) {
                    cursor.fail(range->span, "expected a range with two ends: 1..4");
                }
                mtu_used_ = mtu_used_ || (range->low && mentions_mtu(*range->low)) ||
                            (range->high && mentions_mtu(*range->high));
                parsed.values.emplace_back(std::move(*range));
            } else {
                mtu_used_ = mtu_used_ || mentions_mtu(std::get<Expr>(value));
                parsed.values.emplace_back(std::get<Expr>(std::move(value)));
            }
            return;
        }
        cursor.next();
        if (contains(opcode_classes(), token.text)) {
            for (const std::string_view opcode : opcodes_of_class(token.text))
                parsed.values.emplace_back(Word{std::string(opcode), token.span});
            return;
        }
        if (!is_value_word(token.text)) {
            return cursor.fail(token.span, "unknown value '" + token.text + "'" +
                                               suggestion(token.text, value_words()));
        }
        parsed.values.emplace_back(Word{token.text, token.span});
    }

    // A value is a time or a number; its first literal shows which.
    static std::variant<Expr, ValueRange> parse_value_of_for(Cursor& cursor, const Scope& scope) {
        const Token& token = cursor.peek();
        const bool time = token.unit == Unit::Time || token.is("rnr") || token.is("timeout");
        return parse_range(cursor, {.scope = &scope, .time = time});
    }

    void address(Cursor& cursor, std::vector<Word>& addresses) {
        cursor.next();
        const Word name = cursor.word("a name for the address");
        scope_.define(cursor, name, {.kind = NameKind::Address});
        addresses.push_back(name);
    }

    static void skip(Cursor& cursor) {
        while (!cursor.at_end())
            cursor.next();
    }

    void count_name(Cursor& cursor) {
        if (++names_ > kMaxNames)
            cursor.fail_here("a case has at most " + std::to_string(kMaxNames) + " names");
    }

    void check_complete() {
        const SourceSpan top{1, 1, 1};
        for (const std::string_view key : {"rule"sv, "title"sv, "role"sv}) {
            if (!seen_.contains(std::string(key))) {
                report_.add(top, "the header has no '" + std::string(key) + "' line");
            }
        }
        const Case& head = header_.head;
        if (!level_written_ && !head.rules.empty()) {
            header_.head.level = rules::catalogue().at(head.rules.front().text).level;
        }
        check_title();
        for (const Need& need : head.needs) {
            if (!need.of_value || is_for(need.of_value->name)) continue;
            report_.add(need.span, "no 'for' line defines '" + need.of_value->name + "'");
        }
    }

    void check_title() {
        const std::string& title = header_.head.title;
        for (std::size_t open = title.find('{'); open != std::string::npos;
             open = title.find('{', open + 1)) {
            const std::size_t close = title.find('}', open);
            const std::string name = title.substr(
                open + 1, close == std::string::npos ? std::string::npos : close - open - 1);
            const bool known = scope_.has(name, NameKind::Number) ||
                               scope_.has(name, NameKind::Text) || is_for(name);
            if (close == std::string::npos || !known) {
                report_.add(title_span_, "the title uses {" + name +
                                             "}, but no 'let' or 'for' line "
                                             "defines it");
            }
        }
    }
    [[nodiscard]] bool is_for(std::string_view name) const {
        return std::ranges::any_of(header_.head.fors,
                                   [&](const For& f) { return f.name.text == name; });
    }

    std::span<const Line> lines_;
    Report& report_;
    Header header_;
    Scope scope_;
    std::set<std::string> seen_;
    SourceSpan title_span_{1, 1, 1};
    std::size_t names_ = 0;
    bool level_written_ = false;
    bool mtu_used_ = false;
};

} // namespace

Header parse_header(std::string_view path, std::span<const Line> lines, Report& report) {
    return HeaderParser(path, lines, report).parse();
}

bool is_qp_line(const Line& line) {
    return !line.tokens.empty() && line.tokens.front().is("qp");
}

bool is_tester_qp_line(const Line& line) {
    return line.tokens.size() > 1 && line.tokens[0].is("tester") && line.tokens[1].is("qp");
}

} // namespace veriroce::script
